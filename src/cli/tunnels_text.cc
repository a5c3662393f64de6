// What `get tunnels` prints; no waiting.
#include <fmt/format.h>

#include <algorithm>

#include "cli/times.h"
#include "cli/tunnels.h"

namespace holdfast::cli {
namespace {

std::string round_trip(const auto& row) {
  return row.has_round_trip() ? fine_text(to_duration(row.round_trip())) : "";
}

std::string since(const google::protobuf::Timestamp& time, WallTime now) {
  return time.seconds() > 0 ? age(to_wall(time), now) : "";
}

Row tunnel_headers(bool wide) {
  Row headers = {"AGENT", "ZONE", "PROXY", "STATE", "RTT", "CONNECTIONS", "SINCE"};
  if (wide) headers.emplace_back("LAST FRAME");
  return headers;
}

Row tunnel_row(const std::string& agent, const std::string& zone, const v1::AgentTunnel& tunnel,
               const TunnelsText& how) {
  Row row = {agent,
             zone,
             tunnel.proxy(),
             tunnel.state(),
             round_trip(tunnel),
             std::to_string(tunnel.streams()),
             since(tunnel.since(), how.now)};
  if (how.wide) row.push_back(since(tunnel.last_frame(), how.now));
  return row;
}

void add_agent(std::vector<Row>& rows, const v1::Resource& resource, const TunnelsText& how) {
  const v1::Agent& agent = resource.agent();
  const std::string& name = resource.metadata().name();
  const bool offline = agent.announcement().has_offline_since();
  if (offline || agent.tunnels().empty()) {
    const std::string code = agent.code().empty() ? "none" : fmt::format("none ({})", agent.code());
    rows.push_back({name, agent.zone(), "", offline ? "offline" : code, "", "",
                    offline ? since(agent.announcement().offline_since(), how.now) : ""});
    return;
  }
  for (const v1::AgentTunnel& tunnel : agent.tunnels()) {
    rows.push_back(tunnel_row(name, agent.zone(), tunnel, how));
  }
}

std::string held_text(const v1::GetTunnelsResponse& node, const TunnelsText& how) {
  const std::string proxy = node.node().substr(node.node().find('/') + 1);
  std::vector<Row> rows;
  for (const v1::HeldTunnel& tunnel : node.held()) {
    rows.push_back({tunnel.agent(), tunnel.zone(), proxy, tunnel.state(), round_trip(tunnel),
                    std::to_string(tunnel.streams()), since(tunnel.since(), how.now)});
    if (how.wide) rows.back().push_back(tunnel.address());
  }
  Row headers = tunnel_headers(false);
  if (how.wide) headers.emplace_back("ADDRESS");
  return render_table(headers, rows, how.wide ? LastColumn::Whole : how.last);
}

std::string peers_text(const v1::GetTunnelsResponse& node, const TunnelsText& how) {
  std::vector<Row> rows;
  for (const v1::PeerLink& peer : node.peers()) {
    rows.push_back({peer.proxy(), peer.zone(), peer.address(), peer.state(), round_trip(peer),
                    std::to_string(peer.streams()), std::to_string(peer.agents()),
                    since(peer.since(), how.now), peer.reason()});
  }
  return render_table(
      {"PEER", "ZONE", "ADDRESS", "STATE", "RTT", "CONNECTIONS", "AGENTS", "SINCE", "REASON"}, rows,
      how.wide ? LastColumn::Whole : how.last);
}

}  // namespace

std::string render_tunnels(const std::vector<v1::Resource>& agents, const TunnelsText& how) {
  std::vector<Row> rows;
  for (const v1::Resource& agent : agents) add_agent(rows, agent, how);
  if (how.wide) {
    for (Row& row : rows) row.resize(tunnel_headers(true).size());
  }
  return render_table(tunnel_headers(how.wide), rows, how.wide ? LastColumn::Whole : how.last);
}

std::string render_tunnels(const v1::GetTunnelsResponse& node, const TunnelsText& how) {
  if (node.node().starts_with("proxy/")) {
    return node.peers().empty() ? held_text(node, how)
                                : held_text(node, how) + "\n" + peers_text(node, how);
  }
  const std::string name = node.node().substr(node.node().find('/') + 1);
  std::vector<Row> rows;
  for (const v1::AgentTunnel& tunnel : node.tunnels()) {
    rows.push_back(tunnel_row(name, node.zone(), tunnel, how));
  }
  std::string out =
      render_table(tunnel_headers(how.wide), rows, how.wide ? LastColumn::Whole : how.last);
  out += fmt::format("{} of {} tunnels\n", node.tunnels_size(), node.wanted());
  return out;
}

}  // namespace holdfast::cli
