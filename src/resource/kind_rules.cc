#include "resource/kind_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "resource/endpoint_rules.h"
#include "resource/field_rules.h"
#include "resource/proto_time.h"
#include "resource/registry.h"
#include "resource/text_rules.h"

namespace holdfast::resource {
namespace {

constexpr uint32_t kMaxPort = 65535;
constexpr uint32_t kMaxZoneId = 254;
constexpr uint32_t kMaxAgentConnections = 1024;
constexpr uint32_t kMaxKeepaliveMisses = 100;
constexpr int64_t kMaxKeepaliveSeconds = 3'600;
constexpr int64_t kMinKeepaliveNanos = 100'000'000;
// Every node makes a TLS handshake each time.
constexpr Duration kMinReconnectInterval = std::chrono::seconds(10);
constexpr size_t kSha256Bytes = 32;
constexpr int kMaxTrustedPins = 16;
constexpr size_t kMaxCacheRows = 64;  // more kinds than we know: a newer node may have them
constexpr size_t kMaxCacheWordBytes = 16;
constexpr size_t kMaxCacheReasonBytes = 512;
constexpr int kMaxTunnels = 1'024;  // that an agent tells of

Status check_port(const std::string& at, const v1::ServicePort& port) {
  if (port.port() == 0 || port.port() > kMaxPort) {
    return wrong_field(at + ".port", fmt::format("{} is not a port; use 1 to 65535", port.port()));
  }
  if (port.protocol() == v1::PROTOCOL_UNSPECIFIED) {
    return wrong_field(at + ".protocol", "is not given; use tcp, udp, http or grpc");
  }
  return optional_name(at + ".name", port.name());
}

// Names are unique, and so are numbers, except that UDP has numbers of its own.
Status check_ports(const v1::Service& service) {
  std::set<std::string_view> names;
  std::set<std::pair<bool, uint32_t>> numbers;
  for (int i = 0; i < service.ports_size(); ++i) {
    const v1::ServicePort& port = service.ports(i);
    const std::string at = fmt::format("spec.ports[{}]", i);
    TRY_OK(check_port(at, port));
    if (!port.name().empty() && !names.insert(port.name()).second) {
      return wrong_field(at + ".name", fmt::format("{} is taken by an earlier port; choose another",
                                                   in_quotes(port.name())));
    }
    if (!numbers.emplace(port.protocol() == v1::PROTOCOL_UDP, port.port()).second) {
      return wrong_field(
          at + ".port", fmt::format("{} is taken by an earlier port; choose another", port.port()));
    }
  }
  return absl::OkStatus();
}

Status check_rule_kinds(const std::string& at, const v1::Rule& rule) {
  if (rule.kinds().empty()) {
    return wrong_field(at, "is empty; list kinds such as [service], or [\"*\"] for all");
  }
  for (int i = 0; i < rule.kinds_size(); ++i) {
    const std::string& kind = rule.kinds(i);
    if (kind == "*" || kind_named(kind)) continue;
    const auto found = find_kind(kind);
    return wrong_field(fmt::format("{}[{}]", at, i),
                       found.ok() ? fmt::format("{} is not the name of a kind; write \"{}\"",
                                                in_quotes(kind), info(*found).name)
                                  : std::string(found.status().message()));
  }
  return absl::OkStatus();
}

Status check_rule(const std::string& at, const v1::Rule& rule) {
  TRY_OK(check_rule_kinds(at + ".kinds", rule));
  if (rule.verbs().empty()) {
    return wrong_field(at + ".verbs", "is empty; list verbs such as [get, list, watch]");
  }
  for (int i = 0; i < rule.verbs_size(); ++i) {
    if (rule.verbs(i) == v1::VERB_UNSPECIFIED) {
      return wrong_field(fmt::format("{}.verbs[{}]", at, i),
                         "is not given; use get, list, watch, create, update, delete or connect");
    }
  }
  return check_labels(at + ".service_labels", rule.service_labels());
}

constexpr std::string_view kPinPrefix = "sha256:";

Status check_pin(const std::string& at, std::string_view pin) {
  const std::string_view digits = pin.substr(std::min(pin.size(), kPinPrefix.size()));
  const bool is_hex = digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (pin.starts_with(kPinPrefix) && digits.size() == 2 * kSha256Bytes && is_hex) {
    return absl::OkStatus();
  }
  return wrong_field(
      at, fmt::format("{} is not a pin; use \"sha256:\" and 64 of 0-9 and a-f", in_quotes(pin)));
}

Status check_announcement(const v1::Announcement& announcement) {
  if (announcement.trusted_pins_size() > kMaxTrustedPins) {
    return wrong_field("spec.announcement.trusted_pins",
                       fmt::format("{} are too many; use up to {}",
                                   announcement.trusted_pins_size(), kMaxTrustedPins));
  }
  for (int i = 0; i < announcement.trusted_pins_size(); ++i) {
    TRY_OK(check_pin(fmt::format("spec.announcement.trusted_pins[{}]", i),
                     announcement.trusted_pins(i)));
  }
  if (announcement.issuer_pin().empty()) return absl::OkStatus();
  return check_pin("spec.announcement.issuer_pin", announcement.issuer_pin());
}

Status check_length(const std::string& at, std::string_view text, size_t most) {
  if (text.size() <= most) return absl::OkStatus();
  return wrong_field(at, fmt::format("is {} bytes; use at most {}", text.size(), most));
}

// Rows of a node's cache: one per kind at most, with texts of a line.
Status check_caches(const google::protobuf::RepeatedPtrField<v1::CachedKind>& caches) {
  if (static_cast<size_t>(caches.size()) > kMaxCacheRows) {
    return wrong_field("spec.caches",
                       fmt::format("{} are too many; use up to {}", caches.size(), kMaxCacheRows));
  }
  std::set<std::string_view> seen;
  for (int i = 0; i < caches.size(); ++i) {
    const v1::CachedKind& row = caches[i];
    const std::string at = fmt::format("spec.caches[{}]", i);
    TRY_OK(require_name(at + ".kind", row.kind()));
    if (!seen.insert(row.kind()).second) {
      return wrong_field(at + ".kind",
                         fmt::format("{} is listed twice; keep one", in_quotes(row.kind())));
    }
    TRY_OK(check_length(at + ".source", row.source(), kMaxCacheWordBytes));
    TRY_OK(check_length(at + ".code", row.code(), kMaxCacheWordBytes));
    TRY_OK(check_length(at + ".reason", row.reason(), kMaxCacheReasonBytes));
  }
  return absl::OkStatus();
}

// What a node says of its own state.
template <typename Node>
Status check_state(const Node& node) {
  TRY_OK(check_length("spec.code", node.code(), kMaxCacheWordBytes));
  return check_length("spec.reason", node.reason(), kMaxCacheReasonBytes);
}

Status check_tunnels(const v1::Agent& agent) {
  if (agent.tunnels_size() > kMaxTunnels) {
    return wrong_field("spec.tunnels", fmt::format("{} are too many; use up to {}",
                                                   agent.tunnels_size(), kMaxTunnels));
  }
  for (int i = 0; i < agent.tunnels_size(); ++i) {
    const std::string at = fmt::format("spec.tunnels[{}]", i);
    TRY_OK(require_name(at + ".proxy", agent.tunnels(i).proxy()));
    TRY_OK(check_length(at + ".state", agent.tunnels(i).state(), kMaxCacheWordBytes));
  }
  return absl::OkStatus();
}

Status check_pem(const std::string& at, std::string_view pem) {
  if (pem.starts_with("-----BEGIN ")) return absl::OkStatus();
  return wrong_field(at, "is not PEM; it begins with \"-----BEGIN \"");
}

}  // namespace

Status validate_controller(const v1::Resource& resource) {
  TRY_OK(optional_address("spec.address", resource.controller().address()));
  TRY_OK(check_announcement(resource.controller().announcement()));
  return optional_name("spec.zone", resource.controller().zone());
}

Status validate_proxy(const v1::Resource& resource) {
  const v1::Proxy& proxy = resource.proxy();
  TRY_OK(optional_name("spec.zone", proxy.zone()));
  TRY_OK(optional_address("spec.public_address", proxy.public_address()));
  TRY_OK(optional_address("spec.tunnel_address", proxy.tunnel_address()));
  TRY_OK(optional_address("spec.peer_address", proxy.peer_address()));
  TRY_OK(check_announcement(proxy.announcement()));
  TRY_OK(check_caches(proxy.caches()));
  TRY_OK(check_state(proxy));
  return optional_name("spec.group", proxy.group());
}

Status validate_agent(const v1::Resource& resource) {
  const v1::Agent& agent = resource.agent();
  TRY_OK(optional_name("spec.zone", agent.zone()));
  TRY_OK(check_announcement(agent.announcement()));
  TRY_OK(check_caches(agent.caches()));
  TRY_OK(check_state(agent));
  TRY_OK(check_tunnels(agent));
  TRY_OK(check_length("spec.tracking.code", agent.tracking().code(), kMaxCacheWordBytes));
  TRY_OK(check_length("spec.tracking.reason", agent.tracking().reason(), kMaxCacheReasonBytes));
  std::set<std::string_view> seen;
  for (int i = 0; i < agent.services_size(); ++i) {
    const std::string at = fmt::format("spec.services[{}].service", i);
    const std::string& service = agent.services(i).service();
    TRY_OK(require_name(at, service));
    if (!seen.insert(service).second) {
      return wrong_field(at, fmt::format("{} is listed twice; keep one", in_quotes(service)));
    }
  }
  return unique_names("spec.proxies", agent.proxies());
}

Status validate_service(const v1::Resource& resource) {
  const v1::Service& service = resource.service();
  TRY_OK(check_ports(service));
  TRY_OK(check_labels("spec.agent_selector", service.agent_selector()));
  const std::map<std::string_view, uint64_t> capacity(service.zone_capacity().begin(),
                                                      service.zone_capacity().end());
  for (const auto& [zone, connections] : capacity) {
    TRY_OK(require_name("spec.zone_capacity", zone));
  }
  if (!service.virtual_ip().empty()) {
    TRY_OK(check_field("spec.virtual_ip", wrong_ip(service.virtual_ip())));
  }
  return check_endpoints(service);
}

Status validate_token(const v1::Resource& resource) {
  const v1::Token& token = resource.token();
  if (token.role() == v1::NODE_ROLE_UNSPECIFIED) {
    return wrong_field("spec.role", "is not given; use controller, proxy, agent or witness");
  }
  // The value is secret, so only its length is named.
  if (!token.hash().empty() && token.hash().size() != kSha256Bytes) {
    return wrong_field("spec.hash", fmt::format("is {} bytes long; a SHA-256 hash has {}",
                                                token.hash().size(), kSha256Bytes));
  }
  TRY_OK(optional_name("spec.zone", token.zone()));
  return optional_name("spec.node_name", token.node_name());
}

Status validate_role(const v1::Resource& resource) {
  for (int i = 0; i < resource.role().rules_size(); ++i) {
    TRY_OK(check_rule(fmt::format("spec.rules[{}]", i), resource.role().rules(i)));
  }
  return absl::OkStatus();
}

Status validate_user(const v1::Resource& resource) {
  return unique_names("spec.roles", resource.user().roles());
}

Status validate_networking_config(const v1::Resource& resource) {
  const v1::NetworkingConfig& config = resource.networking_config();
  if (config.agent_connection_count() > kMaxAgentConnections) {
    return wrong_field("spec.agent_connection_count",
                       fmt::format("{} is too many; use 1 to {}, or 0 for the default",
                                   config.agent_connection_count(), kMaxAgentConnections));
  }
  if (config.keepalive_misses() > kMaxKeepaliveMisses) {
    return wrong_field("spec.keepalive_misses",
                       fmt::format("{} is too many; use 1 to {}, or 0 for the default",
                                   config.keepalive_misses(), kMaxKeepaliveMisses));
  }
  const auto& interval = config.keepalive_interval();
  if (config.has_keepalive_interval() && interval.seconds() == 0 &&
      interval.nanos() < kMinKeepaliveNanos) {
    return wrong_field("spec.keepalive_interval", "is too short; use 100ms or more");
  }
  if (interval.seconds() >= kMaxKeepaliveSeconds &&
      (interval.seconds() > kMaxKeepaliveSeconds || interval.nanos() > 0)) {
    return wrong_field("spec.keepalive_interval", "is too long; use 1h or less");
  }
  const Duration reconnect = to_duration(config.reconnect_interval());
  if (reconnect != Duration::zero() && reconnect < kMinReconnectInterval) {
    return wrong_field("spec.reconnect_interval",
                       "is too short; use 10s or more, or none for never");
  }
  return absl::OkStatus();
}

Status validate_zone_map(const v1::Resource& resource) {
  const v1::ZoneMap& map = resource.zone_map();
  std::set<std::string_view> names;
  std::set<uint32_t> ids;
  for (int i = 0; i < map.zones_size(); ++i) {
    const v1::Zone& zone = map.zones(i);
    const std::string at = fmt::format("spec.zones[{}]", i);
    TRY_OK(require_name(at + ".name", zone.name()));
    if (zone.id() == 0 || zone.id() > kMaxZoneId) {
      return wrong_field(at + ".id", fmt::format("{} is not a zone id; use 1 to 254", zone.id()));
    }
    if (!names.insert(zone.name()).second) {
      return wrong_field(at + ".name", fmt::format("{} is taken by an earlier zone; choose another",
                                                   in_quotes(zone.name())));
    }
    if (!ids.insert(zone.id()).second) {
      return wrong_field(at + ".id",
                         fmt::format("{} is taken by an earlier zone; choose another", zone.id()));
    }
  }
  return absl::OkStatus();
}

Status validate_capacity_lease(const v1::Resource& resource) {
  const v1::CapacityLease& lease = resource.capacity_lease();
  TRY_OK(require_name("spec.service", lease.service()));
  TRY_OK(require_name("spec.zone", lease.zone()));
  return require_name("spec.holder", lease.holder());
}

Status validate_cert_authority(const v1::Resource& resource) {
  const v1::CertAuthority& authority = resource.cert_authority();
  for (int i = 0; i < authority.keys_size(); ++i) {
    const v1::CertAuthorityKey& key = authority.keys(i);
    const std::string at = fmt::format("spec.keys[{}]", i);
    TRY_OK(check_pem(at + ".certificate_pem", key.certificate_pem()));
    if (key.private_key_pem().empty()) continue;
    TRY_OK(check_pem(at + ".private_key_pem", key.private_key_pem()));
  }
  if (authority.phase() == v1::ROTATION_PHASE_UNSPECIFIED) {
    return wrong_field("spec.phase", "is not given; use none, prepare, dual, switch or retire");
  }
  return absl::OkStatus();
}

}  // namespace holdfast::resource
