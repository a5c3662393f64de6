// A proxy that leaves: in order, without cutting anybody off before its deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "resource/proto_time.h"
#include "tunnel_fleet.h"

namespace holdfast::tunnel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Member = TunnelFleet::Member;

class TunnelDrain : public testing::Test {
 protected:
  TunnelDrain() { fleet_.add_service("web"); }

  bool welcomed(const RawAgent& agent) {
    return fleet_.until([&] { return agent.welcome.has_value(); });
  }
  // Sets `over` when the proxy has drained.
  void drain(Member& proxy, bool& over) {
    fleet_.spawn([](ProxyService& service, bool& done) -> asio::awaitable<void> {
      co_await service.drain();
      done = true;
    }(*proxy.service, over));
  }

  TunnelFleet fleet_;
};

TEST_F(TunnelDrain, AgentsAreAdvisedAfterTheAnnouncementAndMoveWithoutLosingAConnection) {
  Member& leaves = fleet_.add_proxy("p1", "a");
  Member& stays = fleet_.add_proxy("p2", "b");
  fleet_.introduce();
  RawAgent& agent = fleet_.dial(leaves, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  const TunnelFleet::Dialled running = fleet_.connect(leaves, "web");
  ASSERT_TRUE(running.reached.ok());

  bool over = false;
  drain(leaves, over);
  ASSERT_TRUE(fleet_.until([&] { return !agent.advices.empty(); }));
  EXPECT_TRUE(leaves.announced_draining) << "deregistered first";
  EXPECT_EQ(agent.advices[0].code(), "HF2110");
  EXPECT_GT(resource::to_duration(agent.advices[0].closes_in()), seconds(20));
  EXPECT_EQ(leaves.service->describe().tunnels.at(0).state, "advised");

  // Make before break, as agents do.
  RawAgent& moved = fleet_.dial(stays, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(moved));
  agent.leave();
  ASSERT_TRUE(fleet_.until([&] { return leaves.ingress_closed; }));
  EXPECT_TRUE(fleet_.echoes(running.client, "still running"));
  EXPECT_FALSE(over);
  EXPECT_EQ(leaves.service->describe().drain.streams, 1u);
  EXPECT_TRUE(fleet_.connect(stays, "web").reached.ok());

  running.client->finish();
  EXPECT_TRUE(fleet_.until([&] { return over; }));
  EXPECT_EQ(running.client->reset, std::nullopt);
  EXPECT_TRUE(running.client->ended);
  EXPECT_EQ(leaves.service->describe().drain.cut, 0u);
  EXPECT_EQ(leaves.service->describe().drain.phase, DrainPhase::Closed);
}

TEST_F(TunnelDrain, DiscoverySaysSoAndNewTunnelsAreRefused) {
  Member& leaves = fleet_.add_proxy("p1", "a");
  Member& stays = fleet_.add_proxy("p2", "b");
  fleet_.introduce();
  RawAgent& agent = fleet_.dial(leaves, "edge-1", "a", {"web"});
  RawAgent& other = fleet_.dial(stays, "edge-2", "b", {"web"});
  ASSERT_TRUE(welcomed(agent) && welcomed(other));
  ASSERT_TRUE(
      fleet_.until([&] { return stays.service->describe().peers.at(0).state == "connected"; }));
  const TunnelFleet::Dialled running = fleet_.connect(leaves, "web");
  ASSERT_TRUE(running.reached.ok());
  bool over = false;
  drain(leaves, over);
  const auto told = [](const RawAgent& who) {
    for (const v1::Discovery& discovery : who.discoveries) {
      for (const v1::DiscoveredProxy& proxy : discovery.proxies()) {
        if (proxy.name() == "p1" && proxy.draining()) return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(fleet_.until([&] { return told(agent); })) << "its own agents";
  EXPECT_TRUE(fleet_.until([&] { return told(other); })) << "those of its peers, by its word alone";
  RawAgent& late = fleet_.dial(leaves, "edge-3", "a", {"web"});
  EXPECT_TRUE(fleet_.until([&] { return late.over; }));
  EXPECT_EQ(late.refusal.value().code(), "HF2113");
  leaves.service->drain_now();
  EXPECT_TRUE(fleet_.until([&] { return over; }));
}

TEST_F(TunnelDrain, PeersAreRefusedOnceAgentsHadTimeToMoveAndTryAnotherAgent) {
  Member& leaves = fleet_.add_proxy(
      "p1", "a", [](ProxyOptions& options) { options.drain.move_within = milliseconds(1); });
  Member& asks = fleet_.add_proxy("p2", "a");
  fleet_.introduce();
  RawAgent& stubborn = fleet_.dial(leaves, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(stubborn));
  ASSERT_TRUE(welcomed(fleet_.dial(asks, "edge-2", "b", {"web"})));
  ASSERT_TRUE(fleet_.until([&] { return asks.service->describe().peers.at(0).agents == 1; }));
  const TunnelFleet::Dialled running = fleet_.connect(leaves, "web");
  ASSERT_TRUE(running.reached.ok());
  ASSERT_EQ(running.reached->agent, "edge-1");

  bool over = false;
  drain(leaves, over);
  ASSERT_TRUE(fleet_.until([&] { return leaves.ingress_closed; }));
  fleet_.pass(milliseconds(400));
  const TunnelFleet::Dialled elsewhere = fleet_.connect(asks, "web");
  ASSERT_TRUE(elsewhere.reached.ok()) << elsewhere.reached.status();
  EXPECT_EQ(elsewhere.reached->agent, "edge-2");
  leaves.service->update_metrics();
  EXPECT_THAT(leaves.registry.expose(),
              testing::HasSubstr("holdfast_peer_refused_relays_total{why=\"draining\"} 1"));
  EXPECT_TRUE(fleet_.echoes(running.client, "still running"));
  running.client->finish();
  EXPECT_TRUE(fleet_.until([&] { return over; }));
}

TEST_F(TunnelDrain, WhatRunsAtTheDeadlineIsCutAndCounted) {
  Member& proxy = fleet_.add_proxy(
      "p1", "a", [](ProxyOptions& options) { options.drain.deadline = milliseconds(800); });
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  const TunnelFleet::Dialled running = fleet_.connect(proxy, "web");
  ASSERT_TRUE(running.reached.ok());
  bool over = false;
  bool again = false;
  const Time began = fleet_.clock.now();
  drain(proxy, over);
  drain(proxy, again);
  EXPECT_TRUE(fleet_.until([&] { return over && again; }));
  EXPECT_GE(fleet_.clock.now() - began, milliseconds(800));
  EXPECT_LT(fleet_.clock.now() - began, seconds(10));
  EXPECT_TRUE(fleet_.until([&] { return running.client->over && agent.over; }));
  EXPECT_EQ(running.client->reset, ResetCode::Broken);
  EXPECT_EQ(proxy.service->describe().drain.cut, 1u);
}

TEST_F(TunnelDrain, AnEarlierDeadlineCountsWhileItDrains) {
  Member& proxy = fleet_.add_proxy(
      "p1", "a", [](ProxyOptions& options) { options.drain.deadline = std::chrono::hours(1); });
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  const TunnelFleet::Dialled running = fleet_.connect(proxy, "web");
  ASSERT_TRUE(running.reached.ok());
  proxy.service->shorten_drain(milliseconds(1));
  EXPECT_FALSE(proxy.service->draining()) << "there is nothing to shorten";
  bool over = false;
  drain(proxy, over);
  ASSERT_TRUE(fleet_.until([&] { return !agent.advices.empty(); }));

  proxy.service->shorten_drain(milliseconds(300));

  EXPECT_TRUE(fleet_.until([&] { return over; }));
  EXPECT_EQ(proxy.service->describe().drain.cut, 1u);
}

TEST_F(TunnelDrain, ASecondAskingCutsAtOnce) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  const TunnelFleet::Dialled running = fleet_.connect(proxy, "web");
  ASSERT_TRUE(running.reached.ok());
  bool over = false;
  drain(proxy, over);
  ASSERT_TRUE(fleet_.until([&] { return !agent.advices.empty(); }));
  EXPECT_FALSE(over);
  proxy.service->drain_now();
  EXPECT_TRUE(fleet_.until([&] { return over; }, seconds(5)));
  EXPECT_TRUE(fleet_.until([&] { return running.client->over; }));
}

TEST_F(TunnelDrain, AnIdleProxyWithStubbornAgentsLeavesWhenTheyHadTheirTime) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  bool over = false;
  drain(proxy, over);
  EXPECT_TRUE(fleet_.until([&] { return over; }, seconds(10)));
  EXPECT_TRUE(fleet_.until([&] { return agent.over; }));
  EXPECT_TRUE(agent.goodbye);
}

TEST_F(TunnelDrain, ALoneProxyDoesNotWaitForAgentsThatCanGoNowhere) {
  Member& proxy = fleet_.add_proxy("p1", "a", [](ProxyOptions& options) {
    options.drain.move_within = seconds(25);
    options.drain.alone_within = milliseconds(100);
  });
  fleet_.introduce();
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  bool over = false;
  drain(proxy, over);
  EXPECT_TRUE(fleet_.until([&] { return over; }, seconds(10)));
  EXPECT_TRUE(agent.goodbye);
}

TEST_F(TunnelDrain, AProxyThatHasDrainedDialsNobodyAgain) {
  Member& leaves = fleet_.add_proxy("p1", "a");
  Member& stays = fleet_.add_proxy("p2", "b");
  fleet_.introduce();
  const auto state = [](const Member& of) { return of.service->describe().peers.at(0).state; };
  ASSERT_TRUE(fleet_.until([&] { return state(leaves) == "connected"; }));
  bool over = false;
  drain(leaves, over);
  ASSERT_TRUE(fleet_.until([&] { return over; }));
  fleet_.introduce();
  bool dialled = false;
  fleet_.until([&] { return dialled = dialled || state(leaves) != "waiting"; }, milliseconds(500));
  EXPECT_FALSE(dialled) << "it is gone, for all that others know";
  EXPECT_EQ(stays.service->describe().drain.phase, DrainPhase::Running);
}

TEST_F(TunnelDrain, WithoutControllersItGoesOnAndThatIsCounted) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  proxy.has_controllers = false;
  bool over = false;
  drain(proxy, over);
  EXPECT_TRUE(fleet_.until([&] { return over; }));
  EXPECT_TRUE(proxy.announced_draining);
  proxy.service->update_metrics();
  EXPECT_THAT(proxy.registry.expose(),
              testing::HasSubstr("holdfast_tunnel_drains_unannounced_total 1"));
}

TEST_F(TunnelDrain, StopIsBoundedWhateverRuns) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  const TunnelFleet::Dialled running = fleet_.connect(proxy, "web");
  ASSERT_TRUE(running.reached.ok());
  bool over = false;
  drain(proxy, over);
  const Time began = fleet_.clock.now();
  fleet_.stop(proxy);
  EXPECT_LT(fleet_.clock.now() - began, seconds(5));
  EXPECT_TRUE(fleet_.until([&] { return over && running.client->over; }));
}

TEST_F(TunnelDrain, AgentsAreAdvisedNowAndThenIfTheSettingsSaySo) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  v1::NetworkingConfig settings;
  *settings.mutable_tunnel_reconnect_interval() = resource::to_proto(Duration(milliseconds(400)));
  proxy.service->set_settings(settings);
  ASSERT_TRUE(fleet_.until([&] { return agent.advices.size() >= 2; }));
  EXPECT_EQ(agent.advices[0].code(), "HF2111");
  EXPECT_FALSE(agent.advices[0].has_closes_in());
}

}  // namespace
}  // namespace holdfast::tunnel
