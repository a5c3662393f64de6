#include "tunnel/agent_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/reason.h"
#include "resource/proto_time.h"
#include "tunnel/frame.h"

namespace holdfast::tunnel {
namespace {

constexpr size_t kMaxReasonBytes = 200;
// Of a message, for what is around the list: the name, the version and the zone of a hello.
constexpr size_t kMaxExposedBytes = kMaxMessageBytes - 2'048;
constexpr uint32_t kDefaultTunnels = 2;

std::string cut(const std::string& text) {
  if (text.size() <= kMaxReasonBytes && !first_invalid_utf8(text)) return text;
  return quoted(text, kMaxReasonBytes);
}

std::string code_of(const std::string& text) {
  return is_reason_code(text) ? text : std::string();
}

}  // namespace

std::vector<ListedProxy> to_listing(const std::vector<KnownProxy>& proxies) {
  std::vector<ListedProxy> listing;
  for (const KnownProxy& known : proxies) {
    const v1::Proxy& proxy = known.proxy;
    if (proxy.tunnel_address().empty()) continue;
    const auto& ttl = proxy.has_announce_ttl() ? proxy.announce_ttl() : proxy.announcement().ttl();
    listing.push_back(
        {.info = {.name = known.name,
                  .zone = proxy.zone(),
                  .group = proxy.group(),
                  .generation = proxy.generation(),
                  .ttl = resource::to_duration(ttl),
                  .address = proxy.tunnel_address(),
                  .draining = proxy.draining() || proxy.announcement().has_offline_since()},
         .heartbeat = resource::to_wall_time(proxy.last_heartbeat()).time_since_epoch().count()});
  }
  return listing;
}

std::vector<ProxyInfo> to_mentions(const v1::Discovery& discovery) {
  std::vector<ProxyInfo> mentions;
  for (const v1::DiscoveredProxy& proxy : discovery.proxies()) {
    mentions.push_back({.name = proxy.name(),
                        .zone = proxy.zone(),
                        .group = proxy.group(),
                        .generation = proxy.generation(),
                        .ttl = resource::to_duration(proxy.ttl()),
                        .address = proxy.tunnel_address(),
                        .draining = proxy.draining()});
  }
  return mentions;
}

PoolSettings to_settings(const v1::NetworkingConfig& config) {
  PoolSettings settings;
  settings.connection_count = config.agent_connection_count();
  if (settings.connection_count == 0) settings.connection_count = kDefaultTunnels;
  if (config.tunnel_strategy() == v1::TUNNEL_STRATEGY_AGENT_MESH) settings.connection_count = 0;
  settings.disconnect_threshold = resource::to_duration(config.disconnect_threshold());
  const Duration keepalive = resource::to_duration(config.keepalive_interval());
  if (keepalive > Duration::zero()) settings.keepalive = keepalive;
  if (config.keepalive_misses() > 0) settings.keepalive_misses = config.keepalive_misses();
  return settings;
}

Refusal to_refusal(const v1::TunnelRefusal& refusal) {
  Refusal made{.code = code_of(refusal.code()), .reason = cut(refusal.reason()), .retry_after = {}};
  if (refusal.has_retry_after()) {
    made.retry_after = std::max(Duration::zero(), resource::to_duration(refusal.retry_after()));
  }
  return made;
}

MoveAdvice to_advice(const v1::Advice& advice) {
  MoveAdvice made{.code = code_of(advice.code()), .reason = cut(advice.reason()), .closes_in = {}};
  if (advice.has_closes_in()) {
    made.closes_in = std::max(Duration::zero(), resource::to_duration(advice.closes_in()));
  }
  return made;
}

bool is_reason_code(std::string_view code) {
  return code.size() == 6 && code.starts_with("HF") &&
         code.find_first_not_of("0123456789", 2) == std::string_view::npos;
}

Result<v1::Exposed> fitting(v1::Exposed exposed) {
  for (v1::ExposedService& service : *exposed.mutable_services()) {
    service.set_reason(cut(service.reason()));
  }
  if (exposed.ByteSizeLong() <= kMaxExposedBytes) return exposed;
  for (v1::ExposedService& service : *exposed.mutable_services()) service.clear_reason();
  if (exposed.ByteSizeLong() <= kMaxExposedBytes) return exposed;
  return coded(absl::StatusCode::kInvalidArgument, "HF2121",
               fmt::format("the names of {} services and {} labels are {} bytes, more than the {} "
                           "that fit into one message; name fewer, or shorter",
                           exposed.services_size(), exposed.labels_size(), exposed.ByteSizeLong(),
                           kMaxExposedBytes));
}

}  // namespace holdfast::tunnel
