// Whom an agent dials, and when. Together with tracker_test.cc, agent_pool_advice_test.cc,
// agent_pool_surplus_test.cc and agent_pool_lease_test.cc this covers, rule by rule:
//
// | rule | test |
// | --- | --- |
// | expiry: TTL, else 3 min, refreshed | TrackerTest.AProxyExpires..., AMentionWithoutTtl... |
// | desired: highest generation of a group | TrackerTest.TheHighestGeneration... |
// | desired count, capped; 0 is all | TrackerTest.TheDesiredCount... |
// | lease iff desired > claimed + under way | TrackerTest.ALeaseIsGivenWhile... |
// | degenerate rule | TrackerTest.WithNothingTracked..., WithNothingClaimed... |
// | a no is memoised | TrackerTest.ANoIsRemembered... |
// | exclusive claims, by real name | TrackerTest.AClaimIsExclusive..., AgentPoolLease.* |
// | idempotent release | TrackerTest.ReleasingTwice... |
// | every path releases | AgentPoolLease.*, AgentPoolSimulation.* |
// | expired: dial elsewhere, keep the tunnel | AgentPoolDial.AnExpiredProxysTunnelStays... |
// | new generation first, old one later | AgentPoolAdvice.ANewGenerationIsDialled... |
// | topology changes are stamped | TrackerTest.ChangesOfTopology... |
// | an empty list changes nothing | TrackerTest.AnEmptyList... |
// | claim check in the handshake and after | AgentPoolLease.TheClaimIsChecked... |
// | backoff: 1 s steps, 8 s cap, half jitter, reset | AgentPoolDial.WaitsGrow...,
// FailuresAreForgotten... | | strategy, count, keepalive live | AgentPoolDial.SettingsApply...,
// AgentPoolCodec.* | | excess closing and its conditions | AgentPoolSurplus.* |
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tunnel/agent_pool_fixture.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(AgentPoolDial, KeepsTwoTunnelsWhenNothingIsConfigured) {
  PoolRig rig;

  rig.mention({pool_proxy("a"), pool_proxy("b"), pool_proxy("c")});
  rig.connect_all();

  EXPECT_EQ(rig.pool.connected_proxies().size(), 2u);
  EXPECT_EQ(rig.pool.describe(rig.now).shortfall_code, "");
}

TEST(AgentPoolDial, AMeshHasATunnelToEveryDesiredProxyWithFewDialsAtOnce) {
  PoolRig rig;
  rig.take(rig.pool.on_settings({.connection_count = 0}, rig.now));
  std::vector<ProxyInfo> proxies;
  for (char name = 'a'; name < 'k'; ++name) proxies.push_back(pool_proxy(std::string(1, name)));

  rig.mention(proxies);

  EXPECT_EQ(rig.dials.size(), 4u);
  rig.connect_all();
  EXPECT_EQ(rig.pool.connected_proxies().size(), 10u);
}

TEST(AgentPoolDial, TheFirstTunnelIsInTheOwnZoneAndTheSecondIsNot) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    PoolRig rig({.zone = "home"}, seed);

    rig.mention({pool_proxy("a", "far"), pool_proxy("b", "home"), pool_proxy("c", "home"),
                 pool_proxy("d", "far")});

    ASSERT_EQ(rig.dials.size(), 2u);
    EXPECT_THAT(rig.dials[0].proxy, testing::AnyOf("b", "c"));
    EXPECT_THAT(rig.dials[1].proxy, testing::AnyOf("a", "d"));
  }
}

TEST(AgentPoolDial, AReplacementIsInTheZoneThatHoldsTheFewestTunnels) {
  PoolRig rig({.zone = "x"});
  rig.take(rig.pool.on_settings({.connection_count = 3}, rig.now));
  rig.mention({pool_proxy("x1", "x"), pool_proxy("x2", "x"), pool_proxy("y1", "y"),
               pool_proxy("y2", "y"), pool_proxy("z1", "z"), pool_proxy("z2", "z")});
  rig.connect_all();
  EXPECT_THAT(rig.zones(), ElementsAre("x", "y", "z"));
  const std::string lost = rig.proxies()[1];

  rig.take(rig.pool.on_lost(rig.tunnel_to(lost), rig.now));
  rig.connect_all();

  EXPECT_THAT(rig.zones(), ElementsAre("x", "y", "z"));
  EXPECT_EQ(rig.pool.describe(rig.now).stats.lost, 1u);
}

TEST(AgentPoolDial, AmongEqualsChanceDecides) {
  std::map<std::string, int> chosen;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    PoolRig rig({}, seed);
    rig.mention({pool_proxy("a"), pool_proxy("b"), pool_proxy("c")});
    for (const Dial& dial : rig.dials) chosen[dial.proxy] += 1;
  }

  for (const char* name : {"a", "b", "c"}) {
    EXPECT_GT(chosen[name], 150) << name;
    EXPECT_LT(chosen[name], 250) << name;
  }
}

TEST(AgentPoolDial, NeverDialsAProxyThatIsClaimedOrBeingDialled) {
  PoolRig rig;
  rig.take(rig.pool.on_settings({.connection_count = 3}, rig.now));

  rig.mention({pool_proxy("a"), pool_proxy("b")});
  const std::string first = rig.dials[0].proxy;
  ASSERT_EQ(rig.dials.size(), 2u);
  EXPECT_NE(first, rig.dials[1].proxy);
  rig.connect_all();
  rig.run(50s);

  EXPECT_TRUE(rig.dials.empty());
}

TEST(AgentPoolDial, ALostTunnelIsReplacedWithinTheSpreadByAnotherProxy) {
  Duration longest{0};
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    PoolRig rig({}, seed);
    rig.mention({pool_proxy("a"), pool_proxy("b"), pool_proxy("c")});
    rig.connect_all();
    const std::string lost = rig.proxies()[0];
    const Time before = rig.now;

    rig.take(rig.pool.on_lost(rig.tunnel_to(lost), rig.now));
    while (rig.dials.empty() && rig.now < before + 5s) rig.run(20ms);

    const Dial dial = rig.next_dial();
    EXPECT_NE(dial.proxy, lost);
    longest = std::max(longest, rig.now - before);
  }
  EXPECT_LE(longest, 2s + 20ms);
  EXPECT_GT(longest, 1500ms) << "a crowd is spread";
}

TEST(AgentPoolDial, TheSpreadOfACrowdIsEven) {
  std::map<int64_t, int> per_half_second;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    PoolRig rig({}, seed);
    rig.mention({pool_proxy("a"), pool_proxy("b"), pool_proxy("c")});
    for (int i = 0; i < 2; ++i) {
      const Dial dial = rig.next_dial();
      rig.connect(dial, pool_proxy(dial.proxy));
    }
    rig.take(rig.pool.on_lost(rig.tunnel_to(rig.proxies()[0]), rig.now));
    per_half_second[(*rig.pool.next_deadline() - rig.now) / 500ms] += 1;
  }

  ASSERT_EQ(per_half_second.size(), 4u);
  for (const auto& [when, agents] : per_half_second) EXPECT_LT(agents, 140) << when;
}

TEST(AgentPoolDial, WithoutATunnelASlowDialGivesWayToAProxyThatIsUntried) {
  PoolRig rig;
  rig.take(rig.pool.on_settings({.connection_count = 1}, rig.now));
  rig.mention({pool_proxy("a"), pool_proxy("b"), pool_proxy("c")});
  const Dial slow = rig.next_dial();
  rig.run(3s);
  const Dial slower = rig.next_dial();
  rig.run(3s);
  const Dial last = rig.next_dial();
  EXPECT_EQ(rig.pool.tracker().inflight(), 1u);

  rig.connect(slow, pool_proxy(slow.proxy));
  EXPECT_EQ(rig.pool.tracker().inflight(), 0u) << "it took over the lease of the last";
  EXPECT_TRUE(rig.closes.empty());
  rig.connect(slower, pool_proxy(slower.proxy));
  rig.connect(last, pool_proxy(last.proxy));

  EXPECT_EQ(rig.closes.size(), 2u) << "one is enough";
  EXPECT_THAT(rig.proxies(), ElementsAre(slow.proxy));
}

TEST(AgentPoolDial, WithATunnelASlowDialKeepsItsLease) {
  PoolRig rig;
  rig.mention({pool_proxy("a"), pool_proxy("b"), pool_proxy("c")});
  const Dial first = rig.next_dial();
  rig.connect(first, pool_proxy(first.proxy));
  rig.next_dial();

  rig.run(4s);

  EXPECT_TRUE(rig.dials.empty());
}

TEST(AgentPoolDial, WhoFailedComesAfterWhoDidNot) {
  PoolRig rig;
  rig.take(rig.pool.on_settings({.connection_count = 1}, rig.now));
  rig.mention({pool_proxy("a"), pool_proxy("b"), pool_proxy("c")});
  std::set<std::string> tried;

  for (int i = 0; i < 3; ++i) {
    const Dial dial = rig.next_dial();
    tried.insert(dial.proxy);
    rig.take(rig.pool.on_failed(dial.tunnel, rig.now));
    rig.run(1s);
  }

  EXPECT_THAT(tried, UnorderedElementsAre("a", "b", "c"));
}

// One proxy that never answers: the waits between dials are 1, 2, ... 8 seconds, each at least
// half.
TEST(AgentPoolDial, WaitsGrowByAStepToTheCapWithHalfJitter) {
  PoolRig rig;
  rig.mention({pool_proxy("a")});
  rig.now += 1ms;
  for (int64_t round = 1; round <= 12; ++round) {
    rig.mention({pool_proxy("a")});
    const Dial dial = rig.next_dial();
    const Time failed = rig.now;

    rig.take(rig.pool.on_failed(dial.tunnel, rig.now));
    ASSERT_TRUE(rig.dials.empty()) << "one dial per step";
    const Duration most = std::min<Duration>(8s, round * 1s);
    while (rig.dials.empty() && rig.now < failed + 20s) rig.run(10ms);

    EXPECT_GE(rig.now - failed, most / 2) << round;
    EXPECT_LE(rig.now - failed, most + 10ms) << round;
  }
}

TEST(AgentPoolDial, FailuresAreForgottenAfterAWhile) {
  PoolRig rig;
  rig.take(rig.pool.on_settings({.connection_count = 1}, rig.now));
  rig.mention({pool_proxy("a")});
  for (int i = 0; i < 6; ++i) {
    rig.take(rig.pool.on_failed(rig.next_dial().tunnel, rig.now));
    rig.run(8s);
    rig.mention({pool_proxy("a")});
  }
  const TunnelId tunnel = rig.connect(rig.next_dial(), pool_proxy("a"));
  rig.run(33s);
  const Time lost = rig.now;

  rig.take(rig.pool.on_lost(tunnel, rig.now));

  EXPECT_LE(*rig.pool.next_deadline(), lost + 2s);
}

TEST(AgentPoolDial, AProxyThatDropsEveryTunnelAtOnceIsNotHammered) {
  PoolRig rig;
  rig.mention({pool_proxy("a")});

  for (int i = 0; i < 600; ++i) {
    while (!rig.dials.empty()) {
      const TunnelId tunnel = rig.connect(rig.next_dial(), pool_proxy("a"));
      rig.take(rig.pool.on_lost(tunnel, rig.now));
    }
    rig.run(100ms);
    if (i % 100 == 0) rig.mention({pool_proxy("a")});
  }

  EXPECT_LT(rig.pool.describe(rig.now).stats.dials, 20u);
  EXPECT_GT(rig.pool.describe(rig.now).stats.dials, 7u);
}

TEST(AgentPoolDial, ARefusalsRetryAfterIsHonouredAndOthersAreAskedMeanwhile) {
  PoolRig rig;
  rig.take(rig.pool.on_settings({.connection_count = 1}, rig.now));
  rig.mention({pool_proxy("a"), pool_proxy("b")});
  const Dial first = rig.next_dial();

  rig.take(rig.pool.on_refused(first.tunnel, {.code = "HF2103", .retry_after = 20s}, rig.now));
  rig.run(1s);
  const Dial second = rig.next_dial();
  EXPECT_NE(second.proxy, first.proxy);
  rig.take(rig.pool.on_refused(second.tunnel, {.code = "HF2103", .retry_after = 30s}, rig.now));

  rig.run(18s);
  EXPECT_TRUE(rig.dials.empty());
  EXPECT_EQ(rig.pool.describe(rig.now).shortfall_code, "HF2131");
  rig.run(2s);
  EXPECT_EQ(rig.next_dial().proxy, first.proxy);
}

TEST(AgentPoolDial, AnAbsurdRetryAfterIsCut) {
  PoolRig rig;
  rig.take(rig.pool.on_bootstrap({"lb:7444"}, rig.now));

  rig.take(rig.pool.on_refused(rig.next_dial().tunnel, {.retry_after = Duration::max()}, rig.now));
  rig.run(5min);

  EXPECT_EQ(rig.dials.size(), 1u);
}

TEST(AgentPoolDial, StartsFromConfiguredAddressesAndGoesOnWithDirectOnes) {
  PoolRig rig;
  rig.take(rig.pool.on_bootstrap({"lb:7444"}, rig.now));
  const Dial first = rig.next_dial();
  EXPECT_EQ(first.address, "lb:7444");
  EXPECT_EQ(first.proxy, "");

  rig.connect(first, {.name = "a"});
  EXPECT_TRUE(rig.dials.empty()) << "only one proxy is known";
  rig.mention({pool_proxy("a"), pool_proxy("b")});

  EXPECT_EQ(rig.next_dial().address, "b:7444");
}

TEST(AgentPoolDial, ABootstrapAddressIsTriedWhenNoDirectOneAnswers) {
  PoolRig rig;
  rig.take(rig.pool.on_bootstrap({"lb:7444"}, rig.now));
  rig.connect(rig.next_dial(), {.name = "a"});
  rig.mention({pool_proxy("a"), pool_proxy("b")});

  rig.take(rig.pool.on_failed(rig.next_dial().tunnel, rig.now));
  rig.run(1s);

  const Dial dial = rig.next_dial();
  EXPECT_EQ(dial.address, "lb:7444");
  rig.take(rig.pool.on_already_claimed(dial.tunnel, rig.now));
  rig.run(3s);
  EXPECT_EQ(rig.next_dial().address, "b:7444") << "the balancer is left alone for a while";
}

TEST(AgentPoolDial, AnExpiredProxysTunnelStaysWhileAnotherIsDialled) {
  PoolRig rig;
  rig.mention({pool_proxy("a"), pool_proxy("b")});
  rig.connect_all();

  rig.run(40s);
  rig.mention({pool_proxy("b"), pool_proxy("c")});
  rig.run(30s);

  EXPECT_FALSE(rig.pool.tracker().is_desired("a"));
  EXPECT_EQ(rig.next_dial().proxy, "c");
  EXPECT_THAT(rig.proxies(), ElementsAre("a", "b"));
  EXPECT_TRUE(rig.drains.empty());
}

TEST(AgentPoolDial, RemembersAddressesWhenEveryMentionHasExpired) {
  PoolRig rig;
  rig.mention({pool_proxy("a"), pool_proxy("b")});
  rig.connect_all();
  rig.run(2min);
  rig.dials.clear();
  rig.take(rig.pool.on_lost(rig.tunnel_to("a"), rig.now));
  rig.take(rig.pool.on_lost(rig.tunnel_to("b"), rig.now));
  rig.run(3s);

  EXPECT_EQ(rig.pool.describe(rig.now).remembered, 2u);
  EXPECT_THAT(rig.next_dial().address, testing::AnyOf("a:7444", "b:7444"));
}

TEST(AgentPoolDial, WithoutATunnelEvenOldAndDrainingProxiesAreTried) {
  PoolRig rig;
  ProxyInfo draining = pool_proxy("draining", "", 2);
  draining.draining = true;
  rig.mention({pool_proxy("new", "", 2), pool_proxy("old", "", 1), draining});
  std::vector<std::string> tried;

  for (int i = 0; i < 3; ++i) {
    const Dial dial = rig.next_dial();
    tried.push_back(dial.proxy);
    rig.take(rig.pool.on_failed(dial.tunnel, rig.now));
    rig.run(1s);
  }

  EXPECT_THAT(tried, ElementsAre("new", "old", "draining"));
}

TEST(AgentPoolDial, AWelcomeFromADrainingProxyIsLeftIfThereAreOthers) {
  PoolRig rig;
  rig.mention({pool_proxy("a"), pool_proxy("b")});
  const Dial first = rig.next_dial();
  const Dial second = rig.next_dial();
  rig.connect(first, pool_proxy(first.proxy));

  ProxyInfo draining = pool_proxy(second.proxy);
  draining.draining = true;
  rig.connect(second, draining);

  ASSERT_EQ(rig.closes.size(), 1u);
  EXPECT_EQ(rig.closes[0].tunnel, second.tunnel);
  EXPECT_THAT(rig.proxies(), ElementsAre(first.proxy));
}

TEST(AgentPoolDial, AStaleListingDoesNotKeepTheDeadAlive) {
  PoolRig rig;
  const ListedProxy listed{.info = pool_proxy("a"), .heartbeat = 7};
  rig.take(rig.pool.on_listing({listed}, rig.now));
  EXPECT_EQ(rig.dials.size(), 1u);

  for (int i = 0; i < 7; ++i) {
    rig.run(10s);
    rig.take(rig.pool.on_listing({listed}, rig.now));
  }

  EXPECT_EQ(rig.pool.describe(rig.now).tracked, 0u);
  EXPECT_EQ(rig.pool.describe(rig.now).remembered, 1u);
  rig.take(rig.pool.on_listing({{.info = pool_proxy("a"), .heartbeat = 8}}, rig.now));
  EXPECT_EQ(rig.pool.describe(rig.now).tracked, 1u);
}

TEST(AgentPoolDial, WhatAProxyToldIsNewerThanTheFirstListing) {
  PoolRig rig;
  ProxyInfo draining = pool_proxy("a");
  draining.draining = true;
  rig.mention({draining});

  rig.take(rig.pool.on_listing({{.info = pool_proxy("a"), .heartbeat = 7}}, rig.now));
  EXPECT_FALSE(rig.pool.tracker().is_desired("a"));
  rig.take(rig.pool.on_listing({{.info = pool_proxy("a"), .heartbeat = 8}}, rig.now));
  EXPECT_TRUE(rig.pool.tracker().is_desired("a"));
}

TEST(AgentPoolDial, SettingsApplyLive) {
  PoolRig rig;
  rig.mention({pool_proxy("a"), pool_proxy("b"), pool_proxy("c")});
  rig.connect_all();

  PoolSettings settings{.connection_count = 3, .keepalive = 5s, .keepalive_misses = 4};
  rig.take(rig.pool.on_settings(settings, rig.now));
  rig.take(rig.pool.on_settings(settings, rig.now));
  rig.connect_all();

  EXPECT_THAT(rig.proxies(), ElementsAre("a", "b", "c"));
  ASSERT_EQ(rig.keepalives.size(), 1u) << "said once";
  EXPECT_EQ(rig.keepalives[0].interval, 5s);
  EXPECT_EQ(rig.keepalives[0].misses, 4u);
}

TEST(AgentPoolDial, AChangeThatAllAgentsHearOfIsSpread) {
  PoolRig rig;
  rig.mention({pool_proxy("a"), pool_proxy("b")});
  rig.connect_all();
  rig.run(20s);

  rig.mention({pool_proxy("c", "", 2), pool_proxy("d", "", 2)});

  EXPECT_TRUE(rig.dials.empty());
  EXPECT_LE(*rig.pool.next_deadline(), rig.now + 2s);
}

}  // namespace
}  // namespace holdfast::tunnel
