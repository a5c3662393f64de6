// An agent that is advised to move makes the new tunnel first, and stays where it is if there is
// nowhere else.
#include <gmock/gmock.h>

#include "tunnel/agent_pool_fixture.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

const MoveAdvice kDrain{.code = "HF2110", .reason = "the proxy drains", .closes_in = 5min};
const MoveAdvice kEvenOut{.code = "HF2111", .reason = "evening out"};

class AgentPoolAdvice : public testing::Test {
 protected:
  // Two tunnels; `left` is the one that is going to be advised, `spare` the proxy without a tunnel.
  void start() {
    rig_.mention({pool_proxy("a"), pool_proxy("b"), pool_proxy("c")});
    rig_.connect_all();
    left_ = rig_.proxies()[0];
    for (const char* name : {"a", "b", "c"}) {
      if (!rig_.pool.tracker().is_claimed(name)) spare_ = name;
    }
  }
  void advise(const MoveAdvice& advice) {
    rig_.take(rig_.pool.on_advice(rig_.tunnel_to(left_), advice, rig_.now));
  }
  void keep_mentioning(Duration duration, const std::vector<ProxyInfo>& proxies) {
    for (const Time end = rig_.now + duration; rig_.now < end;) {
      rig_.run(10s);
      rig_.mention(proxies);
    }
  }

  PoolRig rig_;
  std::string left_;
  std::string spare_;
};

TEST_F(AgentPoolAdvice, TheNewTunnelIsMadeBeforeTheOldOneDrains) {
  start();
  const TunnelId old = rig_.tunnel_to(left_);

  advise(kDrain);
  const Dial dial = rig_.next_dial();
  EXPECT_EQ(dial.proxy, spare_) << "at once: the proxy spreads its advice itself";
  EXPECT_TRUE(rig_.drains.empty());
  EXPECT_EQ(rig_.pool.connected_proxies().size(), 2u);
  rig_.succeed(dial, pool_proxy(spare_));

  ASSERT_EQ(rig_.drains.size(), 1u);
  EXPECT_EQ(rig_.drains[0].tunnel, old);
  EXPECT_EQ(rig_.drains[0].code, "HF2110");
  EXPECT_THAT(rig_.proxies(), Contains(spare_));
  EXPECT_THAT(rig_.proxies(), Not(Contains(left_)));
}

TEST_F(AgentPoolAdvice, WhoIsAdvisedDoesNotWaitForTheCrowdThatHeardOfTheDrain) {
  start();
  rig_.run(20s);
  ProxyInfo draining = pool_proxy(left_);
  draining.draining = true;
  rig_.mention({draining, pool_proxy(spare_)});
  ASSERT_TRUE(rig_.dials.empty());

  advise(kDrain);

  EXPECT_EQ(rig_.dials.size(), 1u);
}

TEST_F(AgentPoolAdvice, ADrainedTunnelIsGoneWhenItsLastStreamHasEnded) {
  start();
  advise(kDrain);
  rig_.succeed(rig_.next_dial(), pool_proxy(spare_));
  EXPECT_EQ(rig_.pool.describe(rig_.now).tunnels.size(), 3u);
  EXPECT_FALSE(rig_.pool.tracker().is_claimed(left_));

  rig_.take(rig_.pool.on_drained(rig_.drains[0].tunnel, rig_.now));

  EXPECT_EQ(rig_.pool.describe(rig_.now).tunnels.size(), 2u);
  EXPECT_EQ(rig_.pool.describe(rig_.now).stats.lost, 0u);
}

TEST_F(AgentPoolAdvice, ItStaysIfThereIsNobodyElse) {
  rig_.mention({pool_proxy("a"), pool_proxy("b")});
  rig_.connect_all();
  left_ = "a";

  advise(kDrain);
  keep_mentioning(6min, {pool_proxy("a"), pool_proxy("b")});

  EXPECT_TRUE(rig_.drains.empty());
  EXPECT_TRUE(rig_.dials.empty());
  EXPECT_THAT(rig_.proxies(), ElementsAre("a", "b"));
  EXPECT_EQ(rig_.pool.describe(rig_.now).stats.advice_withdrawn, 1u);
}

TEST_F(AgentPoolAdvice, WithAnotherTunnelAndNowhereToGoItLeavesAProxyThatDrains) {
  rig_.mention({pool_proxy("a"), pool_proxy("b")});
  rig_.connect_all();
  left_ = "a";
  ProxyInfo draining = pool_proxy("a");
  draining.draining = true;
  rig_.mention({draining, pool_proxy("b")});
  EXPECT_TRUE(rig_.drains.empty()) << "not before it is advised";

  advise(kDrain);

  EXPECT_EQ(rig_.drains.size(), 1u);
  EXPECT_THAT(rig_.proxies(), ElementsAre("b"));
}

TEST_F(AgentPoolAdvice, ATunnelIsRenewedToTheSameProxyIfThereIsNoOther) {
  rig_.mention({pool_proxy("a")});
  rig_.connect_all();
  const TunnelId old = rig_.tunnel_to("a");

  rig_.take(rig_.pool.on_renew(old, "its certificate ends", rig_.now));
  EXPECT_TRUE(rig_.drains.empty());
  EXPECT_THAT(rig_.proxies(), ElementsAre("a")) << "in use until there is another";
  rig_.succeed(rig_.next_dial(), pool_proxy("a"));

  ASSERT_EQ(rig_.drains.size(), 1u);
  EXPECT_EQ(rig_.drains[0].tunnel, old);
  EXPECT_EQ(rig_.drains[0].code, "HF2145");
  EXPECT_THAT(rig_.proxies(), ElementsAre("a"));
  rig_.take(rig_.pool.on_drained(old, rig_.now));
  EXPECT_EQ(rig_.pool.describe(rig_.now).tunnels.size(), 1u);
  EXPECT_EQ(rig_.pool.tracker().inflight(), 0u);
}

TEST_F(AgentPoolAdvice, ARenewalThatLeadsToNothingLeavesTheTunnelInUse) {
  rig_.mention({pool_proxy("a")});
  rig_.connect_all();
  const TunnelId old = rig_.tunnel_to("a");

  rig_.take(rig_.pool.on_renew(old, "its certificate ends", rig_.now));
  for (const Time end = rig_.now + 5min; rig_.now < end;) {
    rig_.mention({pool_proxy("a")});
    while (!rig_.dials.empty()) {
      rig_.take(rig_.pool.on_failed(rig_.next_dial().tunnel, rig_.now));
    }
    rig_.run(1s);
    EXPECT_THAT(rig_.proxies(), ElementsAre("a"));
  }

  EXPECT_TRUE(rig_.drains.empty());
  EXPECT_GE(rig_.pool.describe(rig_.now).stats.advice_withdrawn, 1u);
  EXPECT_TRUE(rig_.pool.tracker().is_claimed("a"));
}

TEST_F(AgentPoolAdvice, ItStaysWhileTheOthersDoNotAnswerAndMovesWhenOneDoes) {
  start();
  advise(kDrain);
  for (int i = 0; i < 5; ++i) {
    rig_.take(rig_.pool.on_failed(rig_.next_dial().tunnel, rig_.now));
    rig_.run(8s);
    EXPECT_THAT(rig_.proxies(), Contains(left_));
  }

  rig_.succeed(rig_.next_dial(), pool_proxy(spare_));

  EXPECT_THAT(rig_.proxies(), Not(Contains(left_)));
}

TEST_F(AgentPoolAdvice, AnOnlyTunnelThatIsAdvisedIsNotGivenUp) {
  rig_.mention({pool_proxy("a")});
  rig_.connect_all();
  left_ = "a";

  advise(kDrain);
  ProxyInfo draining = pool_proxy("a");
  draining.draining = true;
  keep_mentioning(1min, {draining});

  EXPECT_TRUE(rig_.drains.empty());
  EXPECT_THAT(rig_.proxies(), ElementsAre("a"));
}

TEST_F(AgentPoolAdvice, NeitherExpiredNorDrainingProxiesAreMovedTo) {
  start();
  ProxyInfo draining = pool_proxy(spare_);
  draining.draining = true;
  rig_.mention({draining});

  advise(kDrain);
  rig_.run(30s);

  EXPECT_TRUE(rig_.dials.empty());
  EXPECT_THAT(rig_.proxies(), Contains(left_));
}

TEST_F(AgentPoolAdvice, AdviceWithoutATimeIsForgottenWhenNothingBetterIsFound) {
  rig_.mention({pool_proxy("a"), pool_proxy("b")});
  rig_.connect_all();
  left_ = "a";

  advise(kEvenOut);
  EXPECT_FALSE(rig_.pool.tracker().is_desired("a"));
  keep_mentioning(2min, {pool_proxy("a"), pool_proxy("b")});

  EXPECT_TRUE(rig_.pool.tracker().is_desired("a"));
  EXPECT_TRUE(rig_.drains.empty());
}

TEST_F(AgentPoolAdvice, PeriodicAdviceMovesToAnotherProxyAndNotBack) {
  start();
  advise(kEvenOut);
  rig_.succeed(rig_.next_dial(), pool_proxy(spare_));

  rig_.run(30s);

  EXPECT_EQ(rig_.drains.size(), 1u);
  EXPECT_TRUE(rig_.dials.empty());
  EXPECT_TRUE(rig_.pool.tracker().is_desired(left_)) << "it may be chosen again, later";
}

TEST_F(AgentPoolAdvice, PeriodicAdviceInAMeshIsPointless) {
  rig_.take(rig_.pool.on_settings({.connection_count = 0}, rig_.now));
  rig_.mention({pool_proxy("a"), pool_proxy("b")});
  rig_.connect_all();
  left_ = "a";

  advise(kEvenOut);
  rig_.run(10s);

  EXPECT_TRUE(rig_.drains.empty());
  EXPECT_THAT(rig_.proxies(), ElementsAre("a", "b"));
}

TEST_F(AgentPoolAdvice, AMeshLeavesADrainingProxyAsSoonAsItHasAllTheOthers) {
  rig_.take(rig_.pool.on_settings({.connection_count = 0}, rig_.now));
  rig_.mention({pool_proxy("a"), pool_proxy("b")});
  rig_.connect_all();
  left_ = "a";
  ProxyInfo draining = pool_proxy("a");
  draining.draining = true;
  rig_.mention({draining, pool_proxy("b")});

  advise(kDrain);

  EXPECT_EQ(rig_.drains.size(), 1u);
  EXPECT_THAT(rig_.proxies(), ElementsAre("b"));
}

TEST_F(AgentPoolAdvice, ATunnelThatIsLostWhileLeavingIsReplacedAsAnyOther) {
  start();
  advise(kDrain);
  const Dial dial = rig_.next_dial();

  rig_.take(rig_.pool.on_lost(rig_.tunnel_to(left_), rig_.now));
  rig_.succeed(dial, pool_proxy(spare_));
  rig_.connect_all();

  EXPECT_EQ(rig_.proxies().size(), 2u);
  EXPECT_EQ(rig_.pool.tracker().inflight(), 0u);
}

TEST_F(AgentPoolAdvice, AfterAGoodbyeTheProxyMayBeDialledAgainBesideTheOldTunnel) {
  rig_.mention({pool_proxy("a")});
  rig_.connect_all();
  const TunnelId old = rig_.tunnel_to("a");

  rig_.take(rig_.pool.on_goodbye(old, rig_.now));
  rig_.run(2s);
  rig_.succeed(rig_.next_dial(), pool_proxy("a"));
  rig_.take(rig_.pool.on_drained(old, rig_.now));

  EXPECT_THAT(rig_.proxies(), ElementsAre("a"));
  EXPECT_EQ(rig_.pool.describe(rig_.now).stats.lost, 0u);
}

TEST_F(AgentPoolAdvice, ANewGenerationIsDialledBeforeTheOldOneIsLeft) {
  rig_.mention({pool_proxy("a1", "", 1), pool_proxy("b1", "", 1)});
  rig_.connect_all();

  rig_.mention({pool_proxy("a2", "", 2), pool_proxy("b2", "", 2)});
  rig_.connect_all();
  EXPECT_THAT(rig_.proxies(), ElementsAre("a1", "a2", "b1", "b2")) << "old ones are never cut";
  rig_.take(rig_.pool.on_advice(rig_.tunnel_to("a1"), kDrain, rig_.now));
  rig_.take(rig_.pool.on_advice(rig_.tunnel_to("b1"), kDrain, rig_.now));
  rig_.run(5s);

  EXPECT_EQ(rig_.drains.size(), 2u) << "they were replaced already";
  EXPECT_THAT(rig_.proxies(), ElementsAre("a2", "b2"));
  EXPECT_TRUE(rig_.dials.empty());
}

TEST_F(AgentPoolAdvice, WhenAllAreAdvisedAllMoveAndNeverNoneIsLeft) {
  rig_.mention({pool_proxy("a"), pool_proxy("b"), pool_proxy("c"), pool_proxy("d")});
  rig_.connect_all();
  const std::vector<std::string> old = rig_.proxies();

  for (const std::string& name : old) {
    rig_.take(rig_.pool.on_advice(rig_.tunnel_to(name), kDrain, rig_.now));
  }
  EXPECT_EQ(rig_.dials.size(), 2u);
  while (!rig_.dials.empty()) {
    EXPECT_EQ(rig_.drains.size(), 0u);
    const Dial dial = rig_.next_dial();
    rig_.succeed(dial, pool_proxy(dial.proxy));
  }

  EXPECT_EQ(rig_.drains.size(), 2u);
  EXPECT_EQ(rig_.proxies().size(), 2u);
  for (const std::string& name : old) EXPECT_THAT(rig_.proxies(), Not(Contains(name)));
}

}  // namespace
}  // namespace holdfast::tunnel
