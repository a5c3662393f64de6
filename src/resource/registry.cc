#include "resource/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "resource/kind_rules.h"
#include "resource/text_rules.h"

namespace holdfast::resource {
namespace {

using std::string_view;

constexpr Column kZone{"ZONE", "spec.zone"};
constexpr Column kVersion{"VERSION", "spec.version"};
constexpr Column kStarted{"STARTED", "spec.started", true};
constexpr Column kHeartbeat{"LAST HEARTBEAT", "spec.last_heartbeat"};
constexpr Column kExpires{"EXPIRES", "metadata.expires", true};
// "online", or "offline since …".
constexpr Column kState{"STATE", "spec.announcement"};
constexpr Column kCertificate{"CERTIFICATE EXPIRES", "spec.announcement.certificate_expires", true};
constexpr Column kLabels{"LABELS", "metadata.labels", true};

constexpr string_view kControllerShort[] = {"ctl"};
constexpr Column kControllerColumns[] = {
    kState,       {"ADDRESS", "spec.address"},
    kZone,        kVersion,
    kHeartbeat,   kStarted,
    kCertificate, kExpires,
    kLabels,
};

constexpr string_view kProxyShort[] = {"px"};
constexpr Column kProxyColumns[] = {
    kState,
    kZone,
    {"PUBLIC ADDRESS", "spec.public_address"},
    kVersion,
    {"DRAINING", "spec.draining"},
    kHeartbeat,
    {"TUNNEL ADDRESS", "spec.tunnel_address", true},
    {"PEER ADDRESS", "spec.peer_address", true},
    {"GROUP", "spec.group", true},
    {"GENERATION", "spec.generation", true},
    kStarted,
    kCertificate,
    kExpires,
    kLabels,
};

constexpr string_view kAgentShort[] = {"ag"};
constexpr Column kAgentColumns[] = {
    kState,
    kZone,
    {"SERVICES", "spec.services.service"},
    {"PROXIES", "spec.proxies"},
    kVersion,
    kHeartbeat,
    {"LAST TUNNEL FRAME", "spec.last_tunnel_frame", true},
    kStarted,
    kCertificate,
    kExpires,
    kLabels,
};

constexpr string_view kServiceShort[] = {"svc"};
constexpr Column kServiceColumns[] = {
    {"PORTS", "spec.ports.port"},
    {"PROTOCOLS", "spec.ports.protocol"},
    {"AGENTS", "spec.agent_selector"},
    {"VIRTUAL IP", "spec.virtual_ip"},
    {"ZONE CAPACITY", "spec.zone_capacity", true},
    {"WHEN FULL", "spec.when_full", true},
    kLabels,
};

constexpr string_view kTokenShort[] = {"tok"};
constexpr string_view kTokenSecrets[] = {"hash"};
constexpr Column kTokenColumns[] = {
    {"ROLE", "spec.role"},           kZone,
    {"NODE NAME", "spec.node_name"}, {"USES LEFT", "spec.uses_left"},
    {"EXPIRES", "metadata.expires"}, kLabels,
};

constexpr Column kRoleColumns[] = {
    {"KINDS", "spec.rules.kinds"}, {"VERBS", "spec.rules.verbs"}, kLabels};

constexpr string_view kUserSecrets[] = {"password_hash"};
constexpr Column kUserColumns[] = {
    {"ROLES", "spec.roles"}, {"DISABLED", "spec.disabled"}, kExpires, kLabels};

constexpr string_view kNetworkingConfigShort[] = {"netconf"};
constexpr Column kNetworkingConfigColumns[] = {
    {"STRATEGY", "spec.tunnel_strategy"},
    {"CONNECTIONS", "spec.agent_connection_count"},
    {"KEEPALIVE", "spec.keepalive_interval"},
    {"MISSES", "spec.keepalive_misses"},
    {"DISCONNECT AFTER", "spec.disconnect_threshold", true},
    {"RECONNECT EVERY", "spec.reconnect_interval", true},
};

constexpr string_view kZoneMapShort[] = {"zm"};
constexpr Column kZoneMapColumns[] = {{"ZONES", "spec.zones.name"}, {"IDS", "spec.zones.id"}};

constexpr string_view kCapacityLeaseShort[] = {"lease", "leases"};
constexpr Column kCapacityLeaseColumns[] = {
    {"SERVICE", "spec.service"},   {"ZONE", "spec.zone"},
    {"HOLDER", "spec.holder"},     {"CONNECTIONS", "spec.connections"},
    {"EPOCH", "spec.epoch", true}, {"EXPIRES", "metadata.expires", true},
};

constexpr string_view kCertAuthorityShort[] = {"ca", "cas"};
constexpr string_view kCertAuthoritySecrets[] = {"keys.private_key_pem"};
constexpr Column kCertAuthorityColumns[] = {{"PHASE", "spec.phase"}, {"SIGNS", "spec.keys.signs"}};

constexpr std::array<KindInfo, kKindCount> kTable = {{
    {.name = "controller",
     .plural = "controllers",
     .short_names = kControllerShort,
     .is_presence = true,
     .columns = kControllerColumns,
     .validate_body = validate_controller},
    {.name = "proxy",
     .plural = "proxies",
     .short_names = kProxyShort,
     .is_presence = true,
     .columns = kProxyColumns,
     .validate_body = validate_proxy},
    {.name = "agent",
     .plural = "agents",
     .short_names = kAgentShort,
     .is_presence = true,
     .columns = kAgentColumns,
     .validate_body = validate_agent},
    {.name = "service",
     .plural = "services",
     .short_names = kServiceShort,
     .columns = kServiceColumns,
     .validate_body = validate_service},
    {.name = "token",
     .plural = "tokens",
     .short_names = kTokenShort,
     .secret_paths = kTokenSecrets,
     .columns = kTokenColumns,
     .validate_body = validate_token},
    {.name = "role", .plural = "roles", .columns = kRoleColumns, .validate_body = validate_role},
    {.name = "user",
     .plural = "users",
     .secret_paths = kUserSecrets,
     .columns = kUserColumns,
     .validate_body = validate_user},
    {.name = "networking_config",
     .plural = "networking_configs",
     .short_names = kNetworkingConfigShort,
     .singleton_name = "default",
     .columns = kNetworkingConfigColumns,
     .validate_body = validate_networking_config},
    {.name = "zone_map",
     .plural = "zone_maps",
     .short_names = kZoneMapShort,
     .singleton_name = "default",
     .columns = kZoneMapColumns,
     .validate_body = validate_zone_map},
    {.name = "capacity_lease",
     .plural = "capacity_leases",
     .short_names = kCapacityLeaseShort,
     .columns = kCapacityLeaseColumns,
     .validate_body = validate_capacity_lease},
    {.name = "cert_authority",
     .plural = "cert_authorities",
     .short_names = kCertAuthorityShort,
     .secret_paths = kCertAuthoritySecrets,
     .columns = kCertAuthorityColumns,
     .validate_body = validate_cert_authority},
}};

const google::protobuf::FieldDescriptor* body_field(Kind kind) {
  const auto* body = v1::Resource::descriptor()->FindOneofByName("body");
  return body->field(static_cast<int>(kind));
}

// Lower case, without what stands between words.
std::string folded(string_view spelling) {
  std::string out;
  for (const char c : spelling) {
    if (c == '-' || c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

bool is_spelled(const KindInfo& row, string_view folded_spelling) {
  const auto matches = [&](string_view name) { return folded(name) == folded_spelling; };
  return matches(row.name) || matches(row.plural) || std::ranges::any_of(row.short_names, matches);
}

}  // namespace

std::span<const KindInfo> all_kinds() {
  return kTable;
}

const KindInfo& info(Kind kind) {
  HF_CHECK(static_cast<size_t>(kind) < kTable.size(), "a Kind names a row of the table");
  return kTable[static_cast<size_t>(kind)];
}

Result<Kind> find_kind(string_view spelling) {
  constexpr size_t kLongestSpelling = 64;
  const std::string wanted = spelling.size() <= kLongestSpelling ? folded(spelling) : "";
  std::vector<string_view> candidates;
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (is_spelled(kTable[i], wanted)) return static_cast<Kind>(i);
    candidates.insert(candidates.end(), {kTable[i].name, kTable[i].plural});
  }
  const auto near = did_you_mean(spelling, candidates);
  return absl::InvalidArgumentError(
      near ? fmt::format("{} is not a kind; did you mean \"{}\"?", in_quotes(spelling), *near)
           : fmt::format("{} is not a kind; use service, agent, proxy, …", in_quotes(spelling)));
}

std::optional<Kind> kind_named(string_view name) {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].name == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

std::optional<Kind> kind_of(const v1::Resource& resource) {
  const int number = resource.body_case();
  if (number == v1::Resource::BODY_NOT_SET) return std::nullopt;
  const auto* field = v1::Resource::descriptor()->FindFieldByNumber(number);
  return static_cast<Kind>(field->index_in_oneof());
}

v1::Resource make_resource(Kind kind, string_view name) {
  v1::Resource resource;
  resource.set_kind(std::string(info(kind).name));
  resource.mutable_metadata()->set_name(std::string(name));
  mutable_body(kind, resource);
  return resource;
}

const google::protobuf::Message* body_of(const v1::Resource& resource) {
  const auto kind = kind_of(resource);
  if (!kind) return nullptr;
  return &resource.GetReflection()->GetMessage(resource, body_field(*kind));
}

google::protobuf::Message& mutable_body(Kind kind, v1::Resource& resource) {
  return *resource.GetReflection()->MutableMessage(&resource, body_field(kind));
}

std::string kind_prefix(Kind kind) {
  return fmt::format("/{}/", info(kind).name);
}

std::string store_key(Kind kind, string_view name) {
  return fmt::format("/{}/{}", info(kind).name, name);
}

std::optional<StoreKey> parse_store_key(string_view key) {
  if (!key.starts_with('/')) return std::nullopt;
  const size_t slash = key.find('/', 1);
  if (slash == string_view::npos) return std::nullopt;
  const auto kind = kind_named(key.substr(1, slash - 1));
  const string_view name = key.substr(slash + 1);
  if (!kind || wrong_name(name)) return std::nullopt;
  return StoreKey{*kind, std::string(name)};
}

}  // namespace holdfast::resource
