#include "cli/node_columns.h"

#include <fmt/format.h>

#include "cli/times.h"
#include "resource/field_path.h"

namespace holdfast::cli {
namespace {

using resource::Kind;

// Worth knowing, nothing to get up for: an agent with a tunnel to every proxy there is, or one that
// carries everything and does not count in the kernel.
bool is_note(std::string_view code) {
  return code == "HF2133" || code.starts_with("HF81");
}

// A proxy that has drained and waits to be stopped.
constexpr std::string_view kDrained = "HF2143";

template <typename Node>
std::string seen(const Node& node, WallTime now) {
  return node.has_last_heartbeat() ? age(to_wall(node.last_heartbeat()), now) : "";
}

// What the controllers know counts before what the node said of itself when it could.
template <typename Node>
std::string state_of(const Node& node, std::string_view own, WallTime now) {
  const v1::Announcement& announcement = node.announcement();
  if (announcement.has_offline_since()) return "offline";
  if (!node.has_last_heartbeat()) return "never heard";
  const WallTime heard = to_wall(node.last_heartbeat());
  if (announcement.has_ttl() && now - heard > to_duration(announcement.ttl())) return "late";
  if (!own.empty()) return std::string(own);
  if (node.code().empty()) return "online";
  return fmt::format("{} ({})", is_note(node.code()) ? "online" : "degraded", node.code());
}

template <typename Node>
std::string reason_of(const Node& node) {
  if (node.announcement().has_offline_since()) {
    return fmt::format("offline since {}",
                       to_rfc3339(to_wall(node.announcement().offline_since())));
  }
  return node.reason();
}

// Its own, and why it does not count in the kernel if that is another.
std::string agent_reason(const v1::Agent& agent) {
  const v1::AgentTracking& tracking = agent.tracking();
  const std::string reason = reason_of(agent);
  if (tracking.code().empty() || tracking.code() == agent.code()) return reason;
  return fmt::format("{}{}tracking: {} {}", reason, reason.empty() ? "" : "; ", tracking.code(),
                     tracking.reason());
}

// "web,db(unhealthy)"; with why, if there is room.
std::string services_of(const v1::Agent& agent, bool wide) {
  std::string out;
  for (const v1::ExposedService& service : agent.services()) {
    const bool why = wide && !service.reason().empty();
    const std::string health = service.healthy()
                                   ? ""
                                   : fmt::format("(unhealthy{}{})", why ? ": " : "",
                                                 why ? service.reason() : std::string());
    out += fmt::format("{}{}{}", out.empty() ? "" : ",", service.service(), health);
  }
  return out;
}

Row agent_row(const v1::Resource& resource, bool wide, WallTime now) {
  const v1::Agent& agent = resource.agent();
  size_t connected = 0;
  for (const v1::AgentTunnel& tunnel : agent.tunnels()) {
    connected += tunnel.state() == "connected" ? 1 : 0;
  }
  Row row = {resource.metadata().name(),
             node_state(resource, now),
             fmt::format("{}/{}", connected, agent.tunnels_wanted()),
             agent.zone(),
             agent.version(),
             seen(agent, now)};
  if (wide) {
    row.push_back(fmt::format("{}", fmt::join(agent.proxies(), ",")));
    row.push_back(resource::cell_text(resource, "metadata.labels"));
    row.push_back(agent_reason(agent));
  }
  row.push_back(services_of(agent, wide));
  return row;
}

Row proxy_row(const v1::Resource& resource, bool wide, WallTime now) {
  const v1::Proxy& proxy = resource.proxy();
  Row row = {resource.metadata().name(),
             node_state(resource, now),
             std::to_string(proxy.tunnels()),
             std::to_string(proxy.peers()),
             std::to_string(proxy.streams()),
             proxy.zone(),
             proxy.version(),
             seen(proxy, now)};
  if (wide) {
    row.insert(row.end(), {proxy.group(), std::to_string(proxy.generation()),
                           proxy.tunnel_address(), proxy.peer_address(), reason_of(proxy)});
  }
  row.push_back(proxy.public_address());
  return row;
}

}  // namespace

bool is_node_kind(Kind kind) {
  return kind == Kind::Agent || kind == Kind::Proxy;
}

Row node_headers(Kind kind, bool wide) {
  if (kind == Kind::Agent) {
    Row headers = {"NAME", "STATE", "TUNNELS", "ZONE", "VERSION", "SEEN"};
    if (wide) headers.insert(headers.end(), {"PROXIES", "LABELS", "REASON"});
    headers.emplace_back("SERVICES");
    return headers;
  }
  Row headers = {"NAME", "STATE", "TUNNELS", "PEERS", "CONNECTIONS", "ZONE", "VERSION", "SEEN"};
  if (wide) {
    headers.insert(headers.end(),
                   {"GROUP", "GENERATION", "TUNNEL ADDRESS", "PEER ADDRESS", "REASON"});
  }
  headers.emplace_back("PUBLIC ADDRESS");
  return headers;
}

Row node_row(const v1::Resource& node, bool wide, WallTime now) {
  return node.has_agent() ? agent_row(node, wide, now) : proxy_row(node, wide, now);
}

std::string node_state(const v1::Resource& node, WallTime now) {
  if (node.has_agent()) return state_of(node.agent(), "", now);
  const v1::Proxy& proxy = node.proxy();
  const std::string_view leaving = proxy.code() == kDrained ? "drained" : "draining";
  return state_of(proxy, proxy.draining() ? leaving : "", now);
}

}  // namespace holdfast::cli
