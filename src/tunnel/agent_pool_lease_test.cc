// Whatever becomes of a dial or a tunnel, what it held is given back.
#include <gmock/gmock.h>

#include <functional>

#include "tunnel/agent_pool_fixture.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;

struct Path {
  const char* name;
  std::function<void(PoolRig&)> walk;
};

TunnelId connected(PoolRig& rig) {
  return rig.connect(rig.next_dial(), pool_proxy("a"));
}

// Each starts with one proxy known and one dial under way.
const std::vector<Path>& paths() {
  static const std::vector<Path> all = {
      {"Fails",
       [](PoolRig& rig) { rig.take(rig.pool.on_failed(rig.next_dial().tunnel, rig.now)); }},
      {"Refused",
       [](PoolRig& rig) { rig.take(rig.pool.on_refused(rig.next_dial().tunnel, {}, rig.now)); }},
      {"RefusedForAWhile",
       [](PoolRig& rig) {
         rig.take(rig.pool.on_refused(rig.next_dial().tunnel, {.retry_after = 5s}, rig.now));
       }},
      {"AlreadyClaimed",
       [](PoolRig& rig) {
         rig.take(rig.pool.on_already_claimed(rig.next_dial().tunnel, rig.now));
       }},
      {"LostWhileDialling",
       [](PoolRig& rig) { rig.take(rig.pool.on_lost(rig.next_dial().tunnel, rig.now)); }},
      {"NobodyTellsHowItEnded", [](PoolRig& rig) { rig.run(rig.next_dial().timeout + 5s); }},
      {"Lost", [](PoolRig& rig) { rig.take(rig.pool.on_lost(connected(rig), rig.now)); }},
      {"LostTwice",
       [](PoolRig& rig) {
         const TunnelId tunnel = connected(rig);
         rig.take(rig.pool.on_lost(tunnel, rig.now));
         rig.take(rig.pool.on_lost(tunnel, rig.now));
         rig.take(rig.pool.on_drained(tunnel, rig.now));
       }},
      {"Goodbye", [](PoolRig& rig) { rig.take(rig.pool.on_goodbye(connected(rig), rig.now)); }},
      {"GoodbyeThenLost",
       [](PoolRig& rig) {
         const TunnelId tunnel = connected(rig);
         rig.take(rig.pool.on_goodbye(tunnel, rig.now));
         rig.take(rig.pool.on_lost(tunnel, rig.now));
       }},
      {"AdvisedThenLost",
       [](PoolRig& rig) {
         const TunnelId tunnel = connected(rig);
         rig.take(rig.pool.on_advice(tunnel, {.closes_in = 5s}, rig.now));
         rig.take(rig.pool.on_lost(tunnel, rig.now));
       }},
      {"StoppedWhileDialling", [](PoolRig& rig) { rig.take(rig.pool.on_stop(rig.now)); }},
      {"StoppedWhileConnected",
       [](PoolRig& rig) {
         const TunnelId tunnel = connected(rig);
         rig.take(rig.pool.on_stop(rig.now));
         rig.take(rig.pool.on_drained(tunnel, rig.now));
       }},
  };
  return all;
}

class AgentPoolLeasePaths : public testing::TestWithParam<Path> {};

TEST_P(AgentPoolLeasePaths, GiveEverythingBack) {
  PoolRig rig;
  rig.take(rig.pool.on_settings({.connection_count = 1}, rig.now));
  rig.mention({pool_proxy("a")});
  ASSERT_EQ(rig.pool.tracker().inflight(), 1u);

  GetParam().walk(rig);

  EXPECT_EQ(rig.pool.tracker().inflight(), 0u);
  EXPECT_EQ(rig.pool.tracker().claimed(), 0u);
  EXPECT_TRUE(rig.pool.tracker().is_desired("a")) << "nor does it count as being left";
  EXPECT_TRUE(rig.pool.connected_proxies().empty());
}

TEST_P(AgentPoolLeasePaths, CanBeWalkedAgain) {
  PoolRig rig;
  rig.take(rig.pool.on_settings({.connection_count = 1}, rig.now));
  for (int i = 0; i < 5 && !rig.pool.describe(rig.now).shortfall_code.starts_with("HF2138"); ++i) {
    rig.mention({pool_proxy("a")});
    for (int wait = 0; wait < 40 && rig.dials.empty(); ++wait) {
      rig.run(1s);
      rig.mention({pool_proxy("a")});
    }
    ASSERT_EQ(rig.pool.tracker().inflight(), 1u) << i;

    GetParam().walk(rig);
    rig.dials.clear();

    ASSERT_EQ(rig.pool.tracker().inflight() + rig.pool.tracker().claimed(), 0u) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AgentPoolLeasePaths, testing::ValuesIn(paths()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(AgentPoolLease, TheClaimIsCheckedInTheHandshakeAndAgainAfterIt) {
  PoolRig rig;
  rig.take(rig.pool.on_bootstrap({"one:7444", "two:7444"}, rig.now));
  rig.mention({{.name = "a"}, {.name = "b"}});  // their addresses are not known
  const Dial first = rig.next_dial();
  const Dial second = rig.next_dial();
  EXPECT_TRUE(rig.pool.may_claim(first.tunnel, "a"));
  EXPECT_TRUE(rig.pool.may_claim(second.tunnel, "a")) << "nobody has it yet";

  rig.take(rig.pool.on_connected(first.tunnel, {.name = "a"}, rig.now));
  EXPECT_FALSE(rig.pool.may_claim(second.tunnel, "a"));
  EXPECT_TRUE(rig.pool.may_claim(second.tunnel, "b"));
  rig.take(rig.pool.on_connected(second.tunnel, {.name = "a"}, rig.now));

  ASSERT_EQ(rig.closes.size(), 1u);
  EXPECT_EQ(rig.closes[0].tunnel, second.tunnel);
  EXPECT_EQ(rig.closes[0].code, "HF2135");
  EXPECT_EQ(rig.pool.tracker().claimed(), 1u);
  EXPECT_EQ(rig.pool.tracker().inflight(), 0u);
}

TEST(AgentPoolLease, WhoAnsweredCountsNotWhoWasExpected) {
  PoolRig rig;
  rig.take(rig.pool.on_settings({.connection_count = 1}, rig.now));
  rig.mention({pool_proxy("a")});

  rig.connect(rig.next_dial(), pool_proxy("z"));

  EXPECT_TRUE(rig.pool.tracker().is_claimed("z"));
  EXPECT_FALSE(rig.pool.tracker().is_claimed("a"));
  EXPECT_EQ(rig.pool.describe(rig.now).stats.wrong_name, 1u);
}

TEST(AgentPoolLease, ADialThatWasGivenUpIsClosedWhenItConnectsAfterAll) {
  PoolRig rig;
  rig.mention({pool_proxy("a")});
  const Dial dial = rig.next_dial();
  rig.run(dial.timeout + 5s);
  ASSERT_EQ(rig.closes.size(), 1u);
  rig.dials.clear();

  EXPECT_FALSE(rig.pool.may_claim(dial.tunnel, "a"));
  rig.take(rig.pool.on_connected(dial.tunnel, pool_proxy("a"), rig.now));

  EXPECT_EQ(rig.closes.size(), 2u);
  EXPECT_EQ(rig.pool.tracker().claimed(), 0u);
  EXPECT_EQ(rig.pool.describe(rig.now).stats.overdue_dials, 1u);
}

TEST(AgentPoolLease, UnknownTunnelsAreNothingToWorryAbout) {
  PoolRig rig;
  rig.take(rig.pool.on_failed(7, rig.now));
  rig.take(rig.pool.on_refused(7, {}, rig.now));
  rig.take(rig.pool.on_already_claimed(7, rig.now));
  rig.take(rig.pool.on_lost(7, rig.now));
  rig.take(rig.pool.on_advice(7, {}, rig.now));
  rig.take(rig.pool.on_goodbye(7, rig.now));
  rig.take(rig.pool.on_drained(7, rig.now));
  rig.take(rig.pool.on_round_trip(7, 1ms, rig.now));

  EXPECT_TRUE(rig.pool.describe(rig.now).tunnels.empty());
  EXPECT_EQ(rig.pool.tracker().inflight(), 0u);
}

TEST(AgentPoolLease, AfterAStopNothingIsDialled) {
  PoolRig rig;
  rig.mention({pool_proxy("a"), pool_proxy("b")});
  rig.connect_all();

  rig.take(rig.pool.on_stop(rig.now));
  rig.mention({pool_proxy("c")});
  rig.run(10min);

  EXPECT_EQ(rig.drains.size(), 2u);
  EXPECT_TRUE(rig.dials.empty());
}

}  // namespace
}  // namespace holdfast::tunnel
