// A proxy and the agents that dial it: who is let in, how fast, and where connections go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/reason.h"
#include "resource/proto_time.h"
#include "tunnel/exposed_facts.h"
#include "tunnel_fleet.h"

namespace holdfast::tunnel {
namespace {

using identity::Role;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Member = TunnelFleet::Member;
using testing::HasSubstr;

class TunnelProxy : public testing::Test {
 protected:
  TunnelProxy() { fleet_.add_service("web"); }

  bool welcomed(const RawAgent& agent) {
    return fleet_.until([&] { return agent.welcome.has_value(); });
  }
  // The code it was refused with; empty if it was not.
  std::string refused(const RawAgent& agent) {
    fleet_.until([&] { return agent.over; });
    return agent.refusal ? agent.refusal->code() : "";
  }
  static std::string code_of(const Result<Reached>& reached) {
    return std::string(split_reason(reached.status()).code);
  }

  TunnelFleet fleet_;
};

TEST_F(TunnelProxy, AnAgentThatDialsInIsReached) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent)) << agent.why;
  EXPECT_EQ(agent.welcome->name(), "p1");

  const TunnelFleet::Dialled dialled = fleet_.connect(proxy, "web");
  ASSERT_TRUE(dialled.reached.ok()) << dialled.reached.status();
  EXPECT_EQ(dialled.reached->agent, "edge-1");
  EXPECT_EQ(dialled.reached->via, "");
  EXPECT_TRUE(fleet_.echoes(dialled.client, "hello"));
  EXPECT_TRUE(fleet_.echoes(dialled.client, std::string(1'000'000, 'x')));
  EXPECT_EQ(agent.opened.at(0).service(), "web");
  EXPECT_EQ(agent.opened.at(0).client(), "10.0.0.7:51234");
  EXPECT_EQ(proxy.service->describe().tunnels.at(0).streams, 1u);

  dialled.client->finish();
  EXPECT_TRUE(fleet_.until([&] { return dialled.client->over; }));
  EXPECT_TRUE(dialled.client->ended);
  EXPECT_EQ(dialled.client->reset, std::nullopt);
}

TEST_F(TunnelProxy, ItIsDescribedAndCounted) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  ASSERT_TRUE(welcomed(fleet_.dial(proxy, "edge-1", "b", {"web", "db"})));
  const ProxyStatus status = proxy.service->describe();
  ASSERT_EQ(status.tunnels.size(), 1u);
  EXPECT_EQ(status.tunnels[0].agent, "edge-1");
  EXPECT_EQ(status.tunnels[0].zone, "b");
  EXPECT_EQ(status.tunnels[0].state, "connected");
  EXPECT_THAT(status.tunnels[0].services, testing::ElementsAre("web", "db"));
  proxy.service->update_metrics();
  EXPECT_THAT(proxy.registry.expose(), HasSubstr("holdfast_tunnel_agent_tunnels 1"));
  EXPECT_THAT(proxy.registry.expose(),
              HasSubstr("holdfast_tunnel_admissions_total{outcome=\"admitted\"} 1"));
  const auto measured = [&] {
    proxy.service->update_metrics();
    const std::string metrics = proxy.registry.expose();
    return metrics.contains("holdfast_tunnel_round_trip_seconds{which=\"shortest\"}") &&
           !metrics.contains("holdfast_tunnel_round_trip_seconds{which=\"shortest\"} 0\n");
  };
  EXPECT_TRUE(fleet_.until(measured));
}

TEST_F(TunnelProxy, AHelloWithAnothersNameIsRefused) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& liar = fleet_.dial(proxy.at.tunnel, {.identity = fleet_.agent_identity("edge-1", "a"),
                                                 .says = "edge-2",
                                                 .exposed = exposing({"web"})});
  EXPECT_EQ(refused(liar), "HF2102") << liar.why;
  EXPECT_TRUE(proxy.service->describe().tunnels.empty());
}

TEST_F(TunnelProxy, AnotherRoleIsRefused) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& wrong = fleet_.dial(
      proxy.at.tunnel, {.identity = fleet_.authority.issue(Role::Proxy, "p9", "a"), .says = "p9"});
  EXPECT_EQ(refused(wrong), "HF2101") << wrong.why;
}

TEST_F(TunnelProxy, AnotherAuthorityOrClusterGetsNoWordIn) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  const std::string ca = proxy.identity.ca_pem;
  ProxyIdentity stranger = Authority("prod").issue(Role::Agent, "edge-1", "a");
  stranger.ca_pem = ca;  // it believes us; we do not believe it
  RawAgent& one = fleet_.dial(proxy.at.tunnel, {.identity = stranger, .says = "edge-1"});
  ProxyIdentity foreign = Authority("staging").issue(Role::Agent, "edge-1", "a");
  foreign.ca_pem = ca;
  RawAgent& other = fleet_.dial(proxy.at.tunnel, {.identity = foreign, .says = "edge-1"});
  EXPECT_TRUE(fleet_.until([&] { return one.over && other.over; }));
  EXPECT_FALSE(one.welcome || one.refusal || other.welcome || other.refusal);
  EXPECT_TRUE(fleet_.until([&] {
    proxy.service->update_metrics();
    return proxy.registry.expose().contains("holdfast_tunnel_failed_handshakes_total 2");
  }));
}

TEST_F(TunnelProxy, AnotherProtocolGetsNoConnection) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& peer = fleet_.dial(proxy.at.tunnel, {.identity = fleet_.agent_identity("edge-1", "a"),
                                                 .says = "edge-1",
                                                 .protocol = std::string(kPeerProtocol)});
  EXPECT_TRUE(fleet_.until([&] { return peer.over; }));
  EXPECT_FALSE(peer.welcome.has_value());
}

TEST_F(TunnelProxy, WhoDoesNotSayHelloIsCutAndItsPlaceIsFree) {
  Member& proxy = fleet_.add_proxy("p1", "a", [](ProxyOptions& options) {
    options.hello_timeout = seconds(1);
    options.admission.max_handshakes = 1;
  });
  RawAgent& silent = fleet_.dial(
      proxy.at.tunnel,
      {.identity = fleet_.agent_identity("edge-1", "a"), .says = "edge-1", .says_hello = false});
  RawAgent& next = fleet_.dial(proxy, "edge-2", "a", {"web"});
  EXPECT_TRUE(fleet_.until([&] { return silent.over; }));
  EXPECT_TRUE(welcomed(next)) << next.why;
}

TEST_F(TunnelProxy, ExposingTooMuchIsRefusedAndLaterCutsTheTunnel) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  std::vector<std::string> names(kMaxExposedServices, "a");
  RawAgent& later = fleet_.dial(proxy, "edge-1", "a", names);
  ASSERT_TRUE(welcomed(later));
  names.emplace_back("one too many");
  EXPECT_EQ(refused(fleet_.dial(proxy, "edge-1", "a", names)), "HF2109");
  later.expose(names);
  EXPECT_TRUE(fleet_.until([&] { return later.over; }));
}

TEST_F(TunnelProxy, AServiceThatIsNotThereOrThatNobodyCarriesIsSaidToBeSo) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  EXPECT_EQ(code_of(fleet_.connect(proxy, "nope").reached), "HF2201");
  EXPECT_EQ(code_of(fleet_.connect(proxy, "web").reached), "HF2202");
}

TEST_F(TunnelProxy, WhatAnAgentExposesFollowsItsWords) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"db"});
  ASSERT_TRUE(welcomed(agent));
  EXPECT_EQ(code_of(fleet_.connect(proxy, "web").reached), "HF2202");
  agent.expose({"web"});
  EXPECT_TRUE(fleet_.until([&] { return fleet_.connect(proxy, "web").reached.ok(); }));
}

TEST_F(TunnelProxy, NobodyIsSentWhereAServiceIsNotHealthyAndWhyIsSaid) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& sick = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(sick));
  const TunnelFleet::Dialled running = fleet_.connect(proxy, "web");
  ASSERT_TRUE(running.reached.ok());

  sick.expose(exposing_sick("web", "HTTP 500"));

  ASSERT_TRUE(
      fleet_.until([&] { return code_of(fleet_.connect(proxy, "web").reached) == "HF2205"; }));
  const size_t asked = sick.opened.size();
  const Result<Reached> nobody = fleet_.connect(proxy, "web").reached;
  EXPECT_EQ(nobody.status().message(),
            "HF2205: web is not healthy where it is carried (edge-1: HTTP 500)");
  EXPECT_EQ(sick.opened.size(), asked);
  running.client->send("still here");
  EXPECT_TRUE(fleet_.until([&] { return running.client->received == "still here"; }));

  RawAgent& well = fleet_.dial(proxy, "edge-2", "b", {"web"});
  ASSERT_TRUE(welcomed(well));
  EXPECT_EQ(fleet_.connect(proxy, "web").reached->agent, "edge-2") << "though of another zone";
  sick.expose({"web"});
  EXPECT_TRUE(
      fleet_.until([&] { return fleet_.connect(proxy, "web").reached->agent == "edge-1"; }));
}

TEST_F(TunnelProxy, OnlyAgentsThatTheServiceSelectsAreAsked) {
  fleet_.add_service("pinned", {{"holdfast.name", "edge-2"}});
  Member& proxy = fleet_.add_proxy("p1", "a");
  ASSERT_TRUE(welcomed(fleet_.dial(proxy, "edge-1", "a", {"pinned"})));
  EXPECT_EQ(code_of(fleet_.connect(proxy, "pinned").reached), "HF2202");
  ASSERT_TRUE(welcomed(fleet_.dial(proxy, "edge-2", "b", {"pinned"})));
  EXPECT_EQ(fleet_.connect(proxy, "pinned").reached.value().agent, "edge-2");
}

TEST_F(TunnelProxy, ARefusedConnectionIsTriedOnAnotherAgent) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& refuses = fleet_.dial(proxy, "edge-1", "a", {"web"});
  RawAgent& serves = fleet_.dial(proxy, "edge-2", "b", {"web"});
  ASSERT_TRUE(welcomed(refuses) && welcomed(serves));
  refuses.set_answer(RawAgent::Answer::Refuse);

  const TunnelFleet::Dialled dialled = fleet_.connect(proxy, "web");
  ASSERT_TRUE(dialled.reached.ok()) << dialled.reached.status();
  EXPECT_EQ(dialled.reached->agent, "edge-2");
  EXPECT_EQ(refuses.opened.size(), 1u);
  EXPECT_TRUE(fleet_.echoes(dialled.client, "through the second"));

  serves.set_answer(RawAgent::Answer::Refuse);
  const Result<Reached> nobody = fleet_.connect(proxy, "web").reached;
  EXPECT_EQ(code_of(nobody), "HF2203");
  EXPECT_THAT(std::string(nobody.status().message()), HasSubstr("nothing listens"));
}

TEST_F(TunnelProxy, AgentsThatDoNotAnswerAreGivenUpInTime) {
  Member& proxy = fleet_.add_proxy("p1", "a", [](ProxyOptions& options) {
    options.open_timeout = milliseconds(200);
    options.dial_timeout = milliseconds(300);
  });
  for (const char* name : {"edge-1", "edge-2", "edge-3"}) {
    RawAgent& agent = fleet_.dial(proxy, name, "a", {"web"});
    ASSERT_TRUE(welcomed(agent));
    agent.set_answer(RawAgent::Answer::Silence);
  }
  const Time began = fleet_.clock.now();
  EXPECT_EQ(code_of(fleet_.connect(proxy, "web").reached), "HF2204");
  EXPECT_LT(fleet_.clock.now() - began, seconds(5));
}

TEST_F(TunnelProxy, OfSeveralTunnelsOfOneAgentTheNewestIsUsed) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& old = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(old));
  RawAgent& newest = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(newest));
  ASSERT_TRUE(fleet_.connect(proxy, "web").reached.ok());
  EXPECT_EQ(newest.opened.size(), 1u);
  newest.leave();
  ASSERT_TRUE(fleet_.until([&] { return proxy.service->describe().tunnels.size() == 2; }));
  ASSERT_TRUE(
      fleet_.until([&] { return proxy.service->describe().tunnels.at(1).state == "leaving"; }));
  ASSERT_TRUE(fleet_.connect(proxy, "web").reached.ok());
  EXPECT_EQ(old.opened.size(), 1u);
}

TEST_F(TunnelProxy, AnAgentHasNoMoreTunnelsThanTheLimit) {
  Member& proxy =
      fleet_.add_proxy("p1", "a", [](ProxyOptions& options) { options.tunnels.max_per_agent = 2; });
  ASSERT_TRUE(welcomed(fleet_.dial(proxy, "edge-1", "a", {"web"})));
  ASSERT_TRUE(welcomed(fleet_.dial(proxy, "edge-1", "a", {"web"})));
  RawAgent& third = fleet_.dial(proxy, "edge-1", "a", {"web"});
  EXPECT_EQ(refused(third), "HF2105");
  EXPECT_GT(resource::to_duration(third.refusal->retry_after()), Duration::zero());
}

TEST_F(TunnelProxy, AnAgentThatGoesIsForgottenAndItsConnectionsBreak) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  const TunnelFleet::Dialled dialled = fleet_.connect(proxy, "web");
  ASSERT_TRUE(dialled.reached.ok());
  agent.close();
  EXPECT_TRUE(fleet_.until([&] { return dialled.client->over; }));
  EXPECT_EQ(dialled.client->reset, ResetCode::Broken);
  EXPECT_TRUE(fleet_.until([&] { return proxy.service->describe().tunnels.empty(); }));
  EXPECT_EQ(code_of(fleet_.connect(proxy, "web").reached), "HF2202");
}

TEST_F(TunnelProxy, ARenewedIdentityIsUsedForNewHandshakesAndOldTunnelsStay) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& before = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(before));
  const Authority next("prod");
  ProxyIdentity renewed = next.issue(Role::Proxy, "p1", "a");
  ASSERT_TRUE(proxy.service->set_identity(renewed).ok());
  RawAgent& after =
      fleet_.dial(proxy.at.tunnel, {.identity = next.issue(Role::Agent, "edge-2", "a"),
                                    .says = "edge-2",
                                    .exposed = exposing({"web"})});
  EXPECT_TRUE(welcomed(after)) << after.why;
  EXPECT_FALSE(before.over);
  EXPECT_FALSE(proxy.service->set_identity(next.issue(Role::Agent, "p1", "a")).ok());
  EXPECT_FALSE(proxy.service->set_identity(next.issue(Role::Proxy, "p2", "a")).ok());
}

TEST_F(TunnelProxy, ACrowdIsAdmittedAtTheBoundedRate) {
  constexpr size_t kCrowd = 200;
  constexpr uint32_t kRate = 40;
  constexpr uint32_t kBurst = 20;
  Member& proxy = fleet_.add_proxy("p1", "a", [](ProxyOptions& options) {
    options.admission.tunnels_per_second = kRate;
    options.admission.burst = kBurst;
    options.admission.max_handshakes = 16;
    options.admission.max_waiting = 64;
    options.admission.max_wait = seconds(30);
    options.admission.first_byte = seconds(30);  // all of them share a loop
    options.admission.max_unauthenticated_per_address = kCrowd;
    options.tunnels.max_per_agent = kCrowd;
  });
  std::vector<RawAgent*> crowd;
  const Time began = fleet_.clock.now();
  for (size_t i = 0; i < kCrowd; ++i) crowd.push_back(&fleet_.dial(proxy, "edge-1", "a", {"web"}));
  const auto in = [&] {
    return static_cast<size_t>(
        std::ranges::count_if(crowd, [](RawAgent* agent) { return agent->welcome.has_value(); }));
  };
  ASSERT_TRUE(fleet_.until([&] { return in() == kCrowd; }, seconds(60))) << in();
  std::vector<Time> at;
  for (const RawAgent* agent : crowd) at.push_back(agent->welcomed_at);
  std::ranges::sort(at);
  for (size_t i = 0; i < at.size(); ++i) {
    const double elapsed = std::chrono::duration<double>(at[i] - began).count();
    EXPECT_LE(static_cast<double>(i + 1), kBurst + kRate * elapsed + 1) << i;
  }
}

TEST_F(TunnelProxy, WhoWaitedTooLongIsToldWhenToComeBack) {
  Member& proxy = fleet_.add_proxy("p1", "a", [](ProxyOptions& options) {
    options.admission.tunnels_per_second = 1;
    options.admission.burst = 1;
    options.admission.max_wait = milliseconds(200);
  });
  std::vector<RawAgent*> crowd;
  for (int i = 0; i < 4; ++i) crowd.push_back(&fleet_.dial(proxy, "edge-1", "a", {"web"}));
  const auto answered = [](RawAgent* agent) { return agent->welcome || agent->refusal; };
  ASSERT_TRUE(fleet_.until([&] { return std::ranges::all_of(crowd, answered); }));
  size_t turned_away = 0;
  for (const RawAgent* agent : crowd) {
    if (!agent->refusal) continue;
    turned_away += 1;
    EXPECT_EQ(agent->refusal->code(), "HF2103");
    EXPECT_GE(resource::to_duration(agent->refusal->retry_after()), milliseconds(500));
  }
  EXPECT_GE(turned_away, 1u);
}

TEST_F(TunnelProxy, WhatAnAgentCannotBeToldNowIsToldSoonAfter) {
  // Room for a welcome, or for what there is to tell of proxies, but not for both.
  Member& proxy = fleet_.add_proxy(
      "p1", "a", [](ProxyOptions& options) { options.link.session.max_queued_control = 100; });
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  ASSERT_TRUE(fleet_.until([&] { return !agent.discoveries.empty(); }));
  EXPECT_TRUE(agent.discoveries[0].full()) << "from the beginning";
  proxy.service->update_metrics();
  EXPECT_THAT(proxy.registry.expose(),
              testing::Not(HasSubstr("holdfast_tunnel_discovery_dropped_total 0")));
}

TEST_F(TunnelProxy, ATunnelThatOutlivesItsCertificateIsLeftAndThenClosed) {
  Member& proxy = fleet_.add_proxy(
      "p1", "a", [](ProxyOptions& options) { options.expired_grace = seconds(1); });
  RawAgent& agent = fleet_.dial(
      proxy.at.tunnel, {.identity = fleet_.authority.issue(Role::Agent, "edge-1", "a", seconds(2)),
                        .says = "edge-1",
                        .exposed = exposing({"web"})});
  ASSERT_TRUE(welcomed(agent));
  const TunnelFleet::Dialled running = fleet_.connect(proxy, "web");
  ASSERT_TRUE(running.reached.ok());
  EXPECT_TRUE(agent.advices.empty());

  ASSERT_TRUE(fleet_.until([&] { return !agent.advices.empty(); }));
  EXPECT_EQ(agent.advices[0].code(), "HF2118");
  EXPECT_EQ(code_of(fleet_.connect(proxy, "web").reached), "HF2202") << "nothing new";
  EXPECT_TRUE(fleet_.echoes(running.client, "what runs goes on"));
  EXPECT_TRUE(fleet_.until([&] { return agent.over; })) << "for a while";
}

}  // namespace
}  // namespace holdfast::tunnel
