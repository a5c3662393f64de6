// When an agent closes a tunnel because there are too many: rarely, one at a time, the slowest.
#include <gmock/gmock.h>

#include "tunnel/agent_pool_fixture.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class AgentPoolSurplus : public testing::Test {
 protected:
  AgentPoolSurplus() {
    for (const char* name : {"a", "b", "c", "d"}) proxies_.push_back(pool_proxy(name));
  }
  // Tunnels to all four, of which one or two are wanted from now on.
  void start(const PoolSettings& settings) {
    rig_.take(rig_.pool.on_settings({.connection_count = 4}, rig_.now));
    rig_.mention(proxies_);
    rig_.connect_all();
    ASSERT_EQ(rig_.proxies().size(), 4u);
    rig_.take(rig_.pool.on_settings(settings, rig_.now));
    changed_ = rig_.now;
  }
  void measure(std::string_view proxy, Duration round_trip) {
    rig_.take(rig_.pool.on_round_trip(rig_.tunnel_to(proxy), round_trip, rig_.now));
  }
  void measure_all() {
    measure("a", 4ms);
    measure("b", 30ms);
    measure("c", 20ms);
    measure("d", 1ms);
  }
  void pass(Duration duration) {
    const Time end = rig_.now + duration;
    while (rig_.now < end) {
      rig_.run(std::min<Duration>(10s, end - rig_.now));
      rig_.mention(proxies_);
    }
  }

  PoolRig rig_;
  std::vector<ProxyInfo> proxies_;
  Time changed_;
};

const PoolSettings kTwo{.connection_count = 2, .disconnect_threshold = 1min};

TEST_F(AgentPoolSurplus, TheSlowestIsClosedFirstOneInEachPeriodAndNeverBelowDesired) {
  start(kTwo);
  measure_all();

  pass(59s);
  EXPECT_TRUE(rig_.drains.empty());
  pass(1s);
  EXPECT_THAT(rig_.proxies(), ElementsAre("a", "c", "d"));
  EXPECT_EQ(rig_.drains[0].code, "HF2136");
  rig_.take(rig_.pool.on_drained(rig_.drains[0].tunnel, rig_.now));
  pass(59s);
  EXPECT_EQ(rig_.drains.size(), 1u);
  pass(1s);
  EXPECT_THAT(rig_.proxies(), ElementsAre("a", "d"));
  pass(10min);

  EXPECT_EQ(rig_.drains.size(), 2u);
  EXPECT_TRUE(rig_.dials.empty());
}

TEST_F(AgentPoolSurplus, NothingIsClosedWithoutAThreshold) {
  start({.connection_count = 2});
  measure_all();

  pass(2h);

  EXPECT_TRUE(rig_.drains.empty());
}

TEST_F(AgentPoolSurplus, NothingIsClosedInAMesh) {
  start({.connection_count = 0, .disconnect_threshold = 1min});
  measure_all();

  pass(2h);

  EXPECT_TRUE(rig_.drains.empty());
}

TEST_F(AgentPoolSurplus, NothingIsClosedUntilEveryTunnelIsMeasured) {
  start(kTwo);
  measure("a", 4ms);
  measure("b", 30ms);
  measure("c", 20ms);
  pass(10min);
  EXPECT_TRUE(rig_.drains.empty());

  measure("d", 1ms);

  EXPECT_EQ(rig_.drains.size(), 1u);
}

TEST_F(AgentPoolSurplus, AnEventOfATunnelStartsThePeriodAnew) {
  start({.connection_count = 1, .disconnect_threshold = 1min});
  measure_all();
  pass(50s);

  rig_.take(rig_.pool.on_lost(rig_.tunnel_to("d"), rig_.now));
  pass(59s);
  EXPECT_TRUE(rig_.drains.empty());
  pass(1s);

  EXPECT_EQ(rig_.drains.size(), 1u);
}

TEST_F(AgentPoolSurplus, AChangeOfTopologyStartsThePeriodAnew) {
  start(kTwo);
  measure_all();
  pass(50s);

  proxies_.push_back(pool_proxy("e"));
  rig_.mention(proxies_);
  pass(59s);
  EXPECT_TRUE(rig_.drains.empty());
  pass(1s);

  EXPECT_EQ(rig_.drains.size(), 1u);
}

TEST_F(AgentPoolSurplus, TunnelsToExpiredProxiesAreNeitherCountedNorClosed) {
  start(kTwo);
  measure_all();
  proxies_.erase(proxies_.begin(), proxies_.begin() + 2);  // a and b fall silent

  pass(20min);

  EXPECT_TRUE(rig_.drains.empty());
  EXPECT_EQ(rig_.proxies().size(), 4u);
}

TEST_F(AgentPoolSurplus, TunnelsToAnOldGenerationAreNeitherCountedNorClosed) {
  start(kTwo);
  measure_all();
  for (const char* name : {"c", "d"}) {
    std::erase_if(proxies_, [&](const ProxyInfo& proxy) { return proxy.name == name; });
    proxies_.push_back(pool_proxy(name, "", 2));
  }
  rig_.mention(proxies_);

  pass(20min);

  EXPECT_TRUE(rig_.drains.empty());
}

TEST_F(AgentPoolSurplus, TunnelsToProxiesThatNobodyWantsEndAfterThirtyToSixtyMinutesOneAtATime) {
  start(kTwo);
  measure_all();
  proxies_.erase(proxies_.begin(), proxies_.begin() + 2);
  pass(31min);
  EXPECT_TRUE(rig_.drains.empty());

  Time last = rig_.now;
  for (size_t drained = 0; rig_.now < changed_ + 65min;) {
    pass(10s);
    if (rig_.drains.size() == drained) continue;
    EXPECT_EQ(rig_.drains.size(), ++drained) << "one at a time";
    EXPECT_EQ(rig_.drains.back().code, "HF2137");
    EXPECT_GE(rig_.now - last, drained == 1 ? 0s : 1min);
    last = rig_.now;
  }

  EXPECT_THAT(rig_.proxies(), ElementsAre("c", "d"));
}

TEST_F(AgentPoolSurplus, TunnelsToProxiesThatNobodyWantsStayWhileThereAreTooFewOthers) {
  start({.connection_count = 4, .disconnect_threshold = 1min});
  measure_all();
  proxies_.clear();
  proxies_.push_back(pool_proxy("e"));  // never answers

  pass(3h);

  EXPECT_TRUE(rig_.drains.empty());
  EXPECT_EQ(rig_.proxies().size(), 4u);
}

TEST_F(AgentPoolSurplus, TheOnlyTunnelInAZoneStaysWhileAnotherZoneHasTwo) {
  proxies_ = {pool_proxy("a", "x"), pool_proxy("b", "y"), pool_proxy("c", "x"),
              pool_proxy("d", "x")};
  start(kTwo);
  measure_all();  // b is the slowest

  pass(10min);

  EXPECT_THAT(rig_.proxies(), ElementsAre("b", "d"));
}

TEST_F(AgentPoolSurplus, AThresholdOfCenturiesIsNotALie) {
  start({.connection_count = 2, .disconnect_threshold = Duration::max()});
  measure_all();

  pass(1h);

  EXPECT_TRUE(rig_.drains.empty());
}

}  // namespace
}  // namespace holdfast::tunnel
