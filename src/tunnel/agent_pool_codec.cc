#include "tunnel/agent_pool_codec.h"

#include <algorithm>

#include "resource/proto_time.h"
#include "tunnel/agent_pool_types.h"

namespace holdfast::tunnel {

std::vector<ProxyInfo> discovered_proxies(const v1::Discovery& discovery, size_t most) {
  std::vector<ProxyInfo> proxies;
  const size_t count = std::min(most, static_cast<size_t>(discovery.proxies_size()));
  proxies.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const v1::DiscoveredProxy& one = discovery.proxies(static_cast<int>(i));
    proxies.push_back({.name = one.name(),
                       .zone = one.zone(),
                       .group = one.group(),
                       .generation = one.generation(),
                       .ttl = resource::to_duration(one.ttl()),
                       .address = one.tunnel_address(),
                       .draining = one.draining()});
  }
  return proxies;
}

ListedProxy listed_proxy(const std::string& name, const v1::Proxy& proxy) {
  const auto& ttl =
      proxy.announcement().has_ttl() ? proxy.announcement().ttl() : proxy.announce_ttl();
  const auto& heartbeat = proxy.last_heartbeat();
  constexpr int64_t kMicrosInSecond = 1'000'000;
  return {.info = {.name = name,
                   .zone = proxy.zone(),
                   .group = proxy.group(),
                   .generation = proxy.generation(),
                   .ttl = resource::to_duration(ttl),
                   .address = proxy.tunnel_address(),
                   .draining = proxy.draining()},
          .heartbeat = heartbeat.seconds() * kMicrosInSecond + heartbeat.nanos() / 1'000,
          .offline = proxy.announcement().has_offline_since()};
}

ProxyInfo welcoming_proxy(const v1::TunnelWelcome& welcome) {
  return {.name = welcome.name(),
          .zone = welcome.zone(),
          .group = welcome.group(),
          .generation = welcome.generation(),
          .draining = welcome.draining()};
}

Refusal read_pool_refusal(const v1::TunnelRefusal& refusal) {
  Refusal read{.code = refusal.code(), .reason = refusal.reason()};
  if (refusal.has_retry_after()) read.retry_after = resource::to_duration(refusal.retry_after());
  return read;
}

MoveAdvice move_advice(const v1::Advice& advice) {
  MoveAdvice read{.code = advice.code(), .reason = advice.reason()};
  if (advice.has_closes_in()) read.closes_in = resource::to_duration(advice.closes_in());
  return read;
}

PoolSettings pool_settings(const v1::NetworkingConfig& config) {
  PoolSettings settings;
  if (config.tunnel_strategy() == v1::TUNNEL_STRATEGY_AGENT_MESH) {
    settings.connection_count = 0;
  } else if (config.agent_connection_count() > 0) {
    settings.connection_count = config.agent_connection_count();
  }
  settings.disconnect_threshold =
      std::max(Duration::zero(), resource::to_duration(config.disconnect_threshold()));
  const Duration keepalive = resource::to_duration(config.keepalive_interval());
  if (keepalive > Duration::zero()) {
    settings.keepalive = std::clamp(keepalive, kLeastKeepalive, kLongestKeepalive);
  }
  if (config.keepalive_misses() > 0) {
    settings.keepalive_misses = std::min(config.keepalive_misses(), kMostMisses);
  }
  return settings;
}

}  // namespace holdfast::tunnel
