// From messages and resources to what the pool is told.
#include "tunnel/agent_pool_codec.h"

#include <gtest/gtest.h>

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;

TEST(AgentPoolCodec, ADiscoveredProxyKeepsEverythingThatWasSaid) {
  v1::Discovery discovery;
  v1::DiscoveredProxy& one = *discovery.add_proxies();
  one.set_name("edge-1");
  one.set_zone("z1");
  one.set_group("blue");
  one.set_generation(7);
  one.mutable_ttl()->set_seconds(90);
  one.set_tunnel_address("10.0.0.1:7444");
  one.set_draining(true);
  discovery.add_proxies()->set_name("edge-2");

  const std::vector<ProxyInfo> proxies = discovered_proxies(discovery);

  ASSERT_EQ(proxies.size(), 2u);
  EXPECT_EQ(proxies[0], (ProxyInfo{.name = "edge-1",
                                   .zone = "z1",
                                   .group = "blue",
                                   .generation = 7,
                                   .ttl = 90s,
                                   .address = "10.0.0.1:7444",
                                   .draining = true}));
  EXPECT_EQ(discovered_proxies(discovery, 1).size(), 1u);
}

TEST(AgentPoolCodec, AListedProxyHasTheTtlOfItsAnnouncementAndAHeartbeatThatDiffers) {
  v1::Proxy proxy;
  proxy.set_tunnel_address("10.0.0.1:7444");
  proxy.mutable_announce_ttl()->set_seconds(10);
  proxy.mutable_last_heartbeat()->set_seconds(1'000);
  const ListedProxy before = listed_proxy("edge-1", proxy);
  EXPECT_EQ(before.info.ttl, 10s);
  EXPECT_FALSE(before.offline);

  proxy.mutable_announcement()->mutable_ttl()->set_seconds(20);
  proxy.mutable_announcement()->mutable_offline_since()->set_seconds(1'020);
  proxy.mutable_last_heartbeat()->set_nanos(1'000'000);
  const ListedProxy after = listed_proxy("edge-1", proxy);

  EXPECT_EQ(after.info.ttl, 20s);
  EXPECT_TRUE(after.offline);
  EXPECT_NE(after.heartbeat, before.heartbeat);
  EXPECT_EQ(after.info.name, "edge-1");
}

TEST(AgentPoolCodec, AWelcomeSaysWhoItIs) {
  v1::TunnelWelcome welcome;
  welcome.set_name("edge-1");
  welcome.set_zone("z1");
  welcome.set_generation(3);

  EXPECT_EQ(welcoming_proxy(welcome), (ProxyInfo{.name = "edge-1", .zone = "z1", .generation = 3}));
}

TEST(AgentPoolCodec, WhatIsAbsentIsAbsent) {
  EXPECT_FALSE(read_pool_refusal({}).retry_after);
  EXPECT_FALSE(move_advice({}).closes_in);
  v1::TunnelRefusal refusal;
  refusal.mutable_retry_after()->set_seconds(3);
  v1::Advice advice;
  advice.mutable_closes_in();

  EXPECT_EQ(read_pool_refusal(refusal).retry_after, Duration(3s));
  EXPECT_EQ(move_advice(advice).closes_in, Duration::zero());
}

TEST(AgentPoolCodec, SettingsHaveDefaultsOfTheirOwn) {
  EXPECT_EQ(pool_settings({}), PoolSettings{});
  EXPECT_EQ(pool_settings({}).connection_count, 2u);
}

TEST(AgentPoolCodec, TheStrategyDecidesAboutTheCount) {
  v1::NetworkingConfig config;
  config.set_agent_connection_count(3);
  EXPECT_EQ(pool_settings(config).connection_count, 3u);
  config.set_tunnel_strategy(v1::TUNNEL_STRATEGY_PROXY_PEERING);
  EXPECT_EQ(pool_settings(config).connection_count, 3u);
  config.set_tunnel_strategy(v1::TUNNEL_STRATEGY_AGENT_MESH);
  EXPECT_EQ(pool_settings(config).connection_count, 0u);
}

TEST(AgentPoolCodec, ThresholdAndKeepaliveAreTakenOver) {
  v1::NetworkingConfig config;
  config.mutable_disconnect_threshold()->set_seconds(60);
  config.mutable_keepalive_interval()->set_seconds(5);
  config.set_keepalive_misses(4);

  const PoolSettings settings = pool_settings(config);

  EXPECT_EQ(settings.disconnect_threshold, 60s);
  EXPECT_EQ(settings.keepalive, 5s);
  EXPECT_EQ(settings.keepalive_misses, 4u);
}

TEST(AgentPoolCodec, AKeepaliveIsATenthOfASecondAtLeast) {
  v1::NetworkingConfig config;
  config.mutable_keepalive_interval()->set_nanos(1);

  EXPECT_EQ(pool_settings(config).keepalive, 100ms);
}

TEST(AgentPoolCodec, AKeepaliveIsAnHourAtMost) {
  v1::NetworkingConfig config;
  config.mutable_keepalive_interval()->set_seconds(300'000'000'000);
  config.set_keepalive_misses(4'000'000'000);

  EXPECT_EQ(pool_settings(config).keepalive, 1h);
  EXPECT_EQ(pool_settings(config).keepalive_misses, 100u);
}

}  // namespace
}  // namespace holdfast::tunnel
