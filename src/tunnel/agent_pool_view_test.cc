// What an agent's pool says of itself, above all why it has too few tunnels.
#include <gmock/gmock.h>

#include "tunnel/agent_pool_fixture.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::string code(const PoolRig& rig) {
  return rig.pool.describe(rig.now).shortfall_code;
}

TEST(AgentPoolView, SaysThatNoProxyIsKnown) {
  PoolRig rig;
  rig.take(rig.pool.on_tick(rig.now));

  EXPECT_EQ(code(rig), "HF2130");
  EXPECT_FALSE(rig.pool.next_deadline()) << "nothing to wait for";
}

TEST(AgentPoolView, SaysThatItConnects) {
  PoolRig rig;
  rig.mention({pool_proxy("a"), pool_proxy("b")});

  EXPECT_EQ(code(rig), "HF2134");
  EXPECT_THAT(rig.pool.describe(rig.now).shortfall, HasSubstr("0 of 2 tunnels"));
}

TEST(AgentPoolView, SaysThatEveryProxyAskedToWait) {
  PoolRig rig;
  rig.mention({pool_proxy("a")});
  rig.take(rig.pool.on_refused(rig.next_dial().tunnel, {.retry_after = 10s}, rig.now));

  EXPECT_EQ(code(rig), "HF2131");
  EXPECT_EQ(rig.pool.describe(rig.now).next_dial, rig.now + 10s);
}

TEST(AgentPoolView, SaysThatNobodyAnswers) {
  PoolRig rig;
  rig.mention({pool_proxy("a")});
  rig.take(rig.pool.on_failed(rig.next_dial().tunnel, rig.now));

  EXPECT_EQ(code(rig), "HF2132");
}

TEST(AgentPoolView, StillSaysThatNobodyAnswersWhileTheOnlyOneIsDialledAgain) {
  PoolRig rig;
  rig.mention({pool_proxy("a")});
  rig.take(rig.pool.on_failed(rig.next_dial().tunnel, rig.now));
  rig.run(1s);
  ASSERT_EQ(rig.dials.size(), 1u);

  EXPECT_EQ(code(rig), "HF2132");
}

TEST(AgentPoolView, SaysThatThereAreFewerProxiesThanConfigured) {
  PoolRig rig;
  rig.mention({pool_proxy("a")});
  rig.connect_all();

  EXPECT_EQ(code(rig), "HF2133");
  EXPECT_THAT(rig.pool.describe(rig.now).shortfall, HasSubstr("1 of 2 tunnels"));
  EXPECT_TRUE(rig.pool.describe(rig.now).has_all_there_are) << "nothing to repair here";
}

TEST(AgentPoolView, AProxyThatIsThereAndNotReachedIsSomethingToRepair) {
  PoolRig rig;
  rig.mention({pool_proxy("a")});
  rig.connect_all();
  rig.mention({pool_proxy("a"), pool_proxy("b")});
  rig.take(rig.pool.on_failed(rig.next_dial().tunnel, rig.now));

  EXPECT_FALSE(rig.pool.describe(rig.now).has_all_there_are);
  EXPECT_EQ(code(rig), "HF2132");
}

TEST(AgentPoolView, SaysNothingWhenThereAreEnough) {
  PoolRig rig;
  rig.mention({pool_proxy("a"), pool_proxy("b")});
  rig.connect_all();

  EXPECT_EQ(code(rig), "");
  EXPECT_EQ(rig.pool.describe(rig.now).shortfall, "");
}

TEST(AgentPoolView, DescribesEachTunnel) {
  PoolRig rig;
  rig.mention({pool_proxy("a", "z1"), pool_proxy("b", "z2"), pool_proxy("c", "z3")});
  rig.connect_all();
  const std::string first = rig.proxies()[0];
  rig.take(rig.pool.on_round_trip(rig.tunnel_to(first), 7ms, rig.now));
  rig.take(
      rig.pool.on_advice(rig.tunnel_to(first), {.code = "HF2110", .closes_in = 1min}, rig.now));

  const PoolView view = rig.pool.describe(rig.now);

  ASSERT_EQ(view.tunnels.size(), 3u);
  const auto& left = *std::ranges::find(view.tunnels, first, &TunnelView::proxy);
  EXPECT_EQ(to_string(left.phase), "leaving");
  EXPECT_EQ(left.since, rig.now);
  EXPECT_LT(left.connected, rig.now);
  EXPECT_EQ(left.round_trip, 7ms);
  EXPECT_TRUE(left.claimed);
  EXPECT_FALSE(left.desired);
  EXPECT_EQ(to_string(view.tunnels[2].phase), "dialing");
  EXPECT_FALSE(view.tunnels[2].claimed);
  EXPECT_EQ(view.usable, 2u);
  EXPECT_EQ(view.usable_desired, 1u);
  EXPECT_EQ(view.inflight, 1u);
  EXPECT_EQ(view.claimed, 2u);
  EXPECT_EQ(view.tracked, 3u);
}

TEST(AgentPoolView, ConnectedProxiesAreNewestFirst) {
  PoolRig rig;
  rig.take(rig.pool.on_bootstrap({"lb:1"}, rig.now));
  rig.succeed(rig.next_dial(), pool_proxy("z"));
  rig.now += 1s;
  rig.mention({pool_proxy("z"), pool_proxy("a")});
  rig.succeed(rig.next_dial(), pool_proxy("a"));

  EXPECT_THAT(rig.pool.connected_proxies(), ElementsAre("a", "z"));
}

}  // namespace
}  // namespace holdfast::tunnel
