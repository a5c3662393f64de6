// Proxies that reach each other's agents: one hop, whoever comes and goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "resource/proto_time.h"
#include "tunnel_fleet.h"

namespace holdfast::tunnel {
namespace {

using identity::Role;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Member = TunnelFleet::Member;
using testing::UnorderedElementsAre;

class TunnelPeers : public testing::Test {
 protected:
  TunnelPeers() { fleet_.add_service("web"); }

  bool welcomed(const RawAgent& agent) {
    return fleet_.until([&] { return agent.welcome.has_value(); });
  }
  static std::string code_of(const Result<Reached>& reached) {
    return std::string(split_reason(reached.status()).code);
  }
  static const PeerStatus* peer_of(const std::vector<PeerStatus>& peers, const std::string& name) {
    const auto found = std::ranges::find(peers, name, &PeerStatus::name);
    return found == peers.end() ? nullptr : &*found;
  }
  bool linked(const Member& proxy, const std::string& peer) {
    const std::vector<PeerStatus> peers = proxy.service->describe().peers;
    const PeerStatus* found = peer_of(peers, peer);
    return found != nullptr && found->state == "connected";
  }
  bool holds(const Member& proxy, const std::string& peer, size_t agents) {
    const std::vector<PeerStatus> peers = proxy.service->describe().peers;
    const PeerStatus* found = peer_of(peers, peer);
    return found != nullptr && found->state == "connected" && found->agents == agents;
  }

  TunnelFleet fleet_;
};

TEST_F(TunnelPeers, AnAgentOfAnotherProxyIsReachedThroughIt) {
  Member& near = fleet_.add_proxy("p1", "a");
  Member& far = fleet_.add_proxy("p2", "b");
  fleet_.introduce();
  RawAgent& agent = fleet_.dial(far, "edge-1", "b", {"web"});
  ASSERT_TRUE(fleet_.until([&] { return holds(near, "p2", 1); }));

  const TunnelFleet::Dialled dialled = fleet_.connect(near, "web");
  ASSERT_TRUE(dialled.reached.ok()) << dialled.reached.status();
  EXPECT_EQ(dialled.reached->agent, "edge-1");
  EXPECT_EQ(dialled.reached->via, "p2");
  EXPECT_TRUE(fleet_.echoes(dialled.client, "over two links"));
  EXPECT_TRUE(fleet_.echoes(dialled.client, std::string(2'000'000, 'y')));
  EXPECT_EQ(agent.opened.at(0).agent(), "") << "what an agent is asked names no agent";
  dialled.client->finish();
  EXPECT_TRUE(fleet_.until([&] { return dialled.client->over; }));
  EXPECT_EQ(dialled.client->reset, std::nullopt);
  EXPECT_TRUE(fleet_.until([&] { return far.service->describe().drain.streams == 0; }));
}

TEST_F(TunnelPeers, PeersAreToldAtOnceWhenAServiceIsNotHealthyAndWhenItIsAgain) {
  Member& near = fleet_.add_proxy("p1", "a");
  Member& far = fleet_.add_proxy("p2", "b");
  fleet_.introduce();
  RawAgent& agent = fleet_.dial(far, "edge-1", "b", {"web"});
  ASSERT_TRUE(fleet_.until([&] { return fleet_.connect(near, "web").reached.ok(); }));

  const Time told = fleet_.clock.now();
  agent.expose(exposing_sick("web", "HTTP 500"));
  ASSERT_TRUE(
      fleet_.until([&] { return code_of(fleet_.connect(near, "web").reached) == "HF2205"; }));
  EXPECT_LT(fleet_.clock.now() - told, seconds(5));
  EXPECT_THAT(std::string(fleet_.connect(near, "web").reached.status().message()),
              testing::HasSubstr("(edge-1: HTTP 500)"));

  agent.expose({"web"});
  EXPECT_TRUE(fleet_.until([&] { return fleet_.connect(near, "web").reached.ok(); }));
}

TEST_F(TunnelPeers, ANewProxyIsReadyWhenItsPeersHaveToldWhatTheyHold) {
  const auto patient = [](ProxyOptions& options) { options.ready_within = seconds(30); };
  Member& far = fleet_.add_proxy("p2", "b", patient);
  ASSERT_TRUE(welcomed(fleet_.dial(far, "edge-1", "b", {"web"})));
  Member& fresh = fleet_.add_proxy("p1", "a", patient);
  fleet_.pass(milliseconds(300));
  EXPECT_FALSE(fresh.ready) << "nobody has told it yet which peers there are";

  fleet_.introduce();
  ASSERT_TRUE(fleet_.until([&] { return fresh.ready; }, seconds(10)));
  EXPECT_TRUE(fleet_.connect(fresh, "web").reached.ok()) << "the first client is served";
}

TEST_F(TunnelPeers, AProxyWithoutPeersOrWithDeadOnesIsReadyAtOnce) {
  Member& alone = fleet_.add_proxy("p1", "a", [](ProxyOptions& options) {
    options.ready_within = seconds(30);
    options.peer_listen = "";
  });
  EXPECT_TRUE(fleet_.until([&] { return alone.ready; }, seconds(10)));
  Member& gone = fleet_.add_proxy("p2", "a");
  fleet_.stop(gone);
  Member& left = fleet_.add_proxy(
      "p3", "a", [](ProxyOptions& options) { options.ready_within = seconds(30); });
  fleet_.introduce();
  EXPECT_TRUE(fleet_.until([&] { return left.ready; }, seconds(10)));
}

TEST_F(TunnelPeers, AProxyThatIsToldOfNobodyIsReadyAfterAWhile) {
  const Time began = fleet_.clock.now();
  Member& proxy = fleet_.add_proxy(
      "p1", "a", [](ProxyOptions& options) { options.ready_within = milliseconds(400); });
  EXPECT_TRUE(fleet_.until([&] { return proxy.ready; }, seconds(10)));
  EXPECT_GE(fleet_.clock.now() - began, milliseconds(400));
}

TEST_F(TunnelPeers, ARefusalTravelsBackAndTheNextAgentIsTried) {
  Member& near = fleet_.add_proxy("p1", "a");
  Member& far = fleet_.add_proxy("p2", "a");
  fleet_.introduce();
  RawAgent& refuses = fleet_.dial(far, "edge-1", "a", {"web"});
  ASSERT_TRUE(fleet_.until([&] { return holds(near, "p2", 1); }));
  refuses.set_answer(RawAgent::Answer::Refuse);
  const Result<Reached> nobody = fleet_.connect(near, "web").reached;
  EXPECT_EQ(code_of(nobody), "HF2203");
  EXPECT_THAT(std::string(nobody.status().message()), testing::HasSubstr("nothing listens"));

  ASSERT_TRUE(welcomed(fleet_.dial(near, "edge-2", "b", {"web"})));
  const TunnelFleet::Dialled dialled = fleet_.connect(near, "web");
  ASSERT_TRUE(dialled.reached.ok()) << dialled.reached.status();
  EXPECT_EQ(dialled.reached->agent, "edge-2");
  EXPECT_EQ(refuses.opened.size(), 2u) << "the agent of our own zone is asked first";
}

TEST_F(TunnelPeers, WhatAPeerHoldsFollowsItsAgents) {
  Member& near = fleet_.add_proxy("p1", "a");
  Member& far = fleet_.add_proxy("p2", "b");
  fleet_.introduce();
  RawAgent& one = fleet_.dial(far, "edge-1", "b", {"db"});
  ASSERT_TRUE(fleet_.until([&] { return holds(near, "p2", 1); }));
  fleet_.dial(far, "edge-2", "b", {"db"});
  ASSERT_TRUE(fleet_.until([&] { return holds(near, "p2", 2); }));
  EXPECT_EQ(code_of(fleet_.connect(near, "web").reached), "HF2202");
  one.expose({"web"});
  ASSERT_TRUE(fleet_.until([&] { return fleet_.connect(near, "web").reached.ok(); }));
  one.close();
  ASSERT_TRUE(fleet_.until([&] { return holds(near, "p2", 1); }));
  EXPECT_EQ(code_of(fleet_.connect(near, "web").reached), "HF2202");
}

TEST_F(TunnelPeers, AStreamMakesOneHopOnly) {
  Member& near = fleet_.add_proxy("p1", "a");
  Member& middle = fleet_.add_proxy("p2", "a");
  Member& far = fleet_.add_proxy("p3", "a");
  // The middle one knows both; the near one knows the middle only.
  const std::vector<CachedProxy> all = fleet_.listed();
  near.service->set_proxies({all[1]});
  middle.service->set_proxies({all[2]});
  ASSERT_TRUE(welcomed(fleet_.dial(far, "edge-1", "a", {"web"})));
  ASSERT_TRUE(fleet_.until([&] { return holds(middle, "p3", 1) && linked(near, "p2"); }));
  EXPECT_TRUE(fleet_.connect(middle, "web").reached.ok());
  EXPECT_TRUE(holds(near, "p2", 0)) << "what a peer's peers hold is not passed on";
  EXPECT_EQ(code_of(fleet_.connect(near, "web").reached), "HF2202");
}

TEST_F(TunnelPeers, APeersStreamIsServedFromOwnTunnelsAndNothingElse) {
  Member& middle =
      fleet_.add_proxy("p2", "a", [](ProxyOptions& options) { options.streams_of_peers = 2; });
  Member& far = fleet_.add_proxy("p3", "a");
  fleet_.introduce();
  ASSERT_TRUE(welcomed(fleet_.dial(middle, "edge-own", "a", {"web"})));
  ASSERT_TRUE(welcomed(fleet_.dial(far, "edge-far", "a", {"web"})));
  ASSERT_TRUE(fleet_.until([&] { return holds(middle, "p3", 1); }));
  RawAgent& peer =
      fleet_.dial(middle.at.peer, {.identity = fleet_.authority.issue(Role::Proxy, "p9", "a"),
                                   .says = "p9",
                                   .protocol = std::string(kPeerProtocol),
                                   .side = Side::Opener});
  ASSERT_TRUE(welcomed(peer)) << peer.why;
  std::vector<Client> clients;
  const auto open = [&](const std::string& agent) {
    v1::OpenStream wanted;
    wanted.set_service("web");
    wanted.set_agent(agent);
    clients.push_back(std::make_shared<ClientSide>());
    return fleet_.run(peer.open(wanted, clients.back()));
  };
  EXPECT_EQ(open(""), to_string(ResetCode::NotAllowed));
  EXPECT_EQ(open("edge-far"), to_string(ResetCode::NotExposed)) << "one hop, never a second";
  EXPECT_EQ(open("nobody"), to_string(ResetCode::NotExposed));
  EXPECT_EQ(open("edge-own"), "accepted");
  EXPECT_TRUE(fleet_.echoes(clients.back(), "by hand"));
  EXPECT_EQ(open("edge-own"), "accepted");
  EXPECT_EQ(open("edge-own"), to_string(ResetCode::Limit)) << "streams of peers are limited";
  // A peer that goes takes its streams with it, and no others.
  peer.close();
  EXPECT_TRUE(fleet_.until([&] { return middle.service->describe().drain.streams == 0; }));
  EXPECT_EQ(middle.service->describe().tunnels.size(), 1u);
}

TEST_F(TunnelPeers, WhatAPeerGaveUpIsOpenedOnOnlyUpToALimit) {
  Member& proxy = fleet_.add_proxy("p1", "a", [](ProxyOptions& options) {
    options.given_up_per_peer = 2;
    options.open_timeout = seconds(3);
  });
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  ASSERT_TRUE(welcomed(agent));
  RawAgent& peer =
      fleet_.dial(proxy.at.peer, {.identity = fleet_.authority.issue(Role::Proxy, "p9", "a"),
                                  .says = "p9",
                                  .protocol = std::string(kPeerProtocol),
                                  .side = Side::Opener});
  ASSERT_TRUE(welcomed(peer)) << peer.why;
  const auto open = [&](Duration patience) {
    v1::OpenStream wanted;
    wanted.set_service("web");
    wanted.set_agent("edge-1");
    return fleet_.run(peer.open(wanted, std::make_shared<ClientSide>(), patience));
  };
  agent.set_answer(RawAgent::Answer::Silence);
  for (size_t asked = 1; asked <= 2; ++asked) {
    EXPECT_NE(open(milliseconds(200)), "accepted");
    ASSERT_TRUE(fleet_.until([&] { return agent.opened.size() == asked; }));
  }
  agent.set_answer(RawAgent::Answer::Echo);

  EXPECT_EQ(open(seconds(10)), to_string(ResetCode::Limit));
  EXPECT_EQ(agent.opened.size(), 2u);

  EXPECT_TRUE(fleet_.until([&] { return open(seconds(10)) == "accepted"; }))
      << "when the agent's time for them is over";
}

TEST_F(TunnelPeers, AStreamBeforeTheHelloIsRefused) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  ASSERT_TRUE(welcomed(fleet_.dial(proxy, "edge-1", "a", {"web"})));
  RawAgent& hasty =
      fleet_.dial(proxy.at.peer, {.identity = fleet_.authority.issue(Role::Proxy, "p9", "a"),
                                  .says = "p9",
                                  .protocol = std::string(kPeerProtocol),
                                  .says_hello = false,
                                  .side = Side::Opener});
  ASSERT_TRUE(fleet_.until([&] { return hasty.has_link(); }));
  v1::OpenStream wanted;
  wanted.set_agent("edge-1");
  EXPECT_EQ(fleet_.run(hasty.open(wanted, std::make_shared<ClientSide>())),
            to_string(ResetCode::NotAllowed));
}

TEST_F(TunnelPeers, OnlyProxiesOfOurClusterMayLink) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  RawAgent& agent = fleet_.dial(proxy.at.peer, {.identity = fleet_.agent_identity("edge-1", "a"),
                                                .says = "edge-1",
                                                .protocol = std::string(kPeerProtocol)});
  ASSERT_TRUE(fleet_.until([&] { return agent.over; }));
  EXPECT_EQ(agent.refusal.value().code(), "HF2101");
  const ProxyIdentity p9 = fleet_.authority.issue(Role::Proxy, "p9", "a");
  RawAgent& liar = fleet_.dial(
      proxy.at.peer, {.identity = p9, .says = "p8", .protocol = std::string(kPeerProtocol)});
  ASSERT_TRUE(fleet_.until([&] { return liar.over; }));
  EXPECT_EQ(liar.refusal.value().code(), "HF2102");
  RawAgent& twin = fleet_.dial(
      proxy.at.peer,
      {.identity = proxy.identity, .says = "p1", .protocol = std::string(kPeerProtocol)});
  ASSERT_TRUE(fleet_.until([&] { return twin.over; }));
  EXPECT_EQ(twin.refusal.value().code(), "HF2115");
  RawAgent& peer = fleet_.dial(
      proxy.at.peer, {.identity = p9, .says = "p9", .protocol = std::string(kPeerProtocol)});
  ASSERT_TRUE(fleet_.until([&] { return !peer.holdings.empty(); }));
  EXPECT_TRUE(peer.holdings[0].full());
}

TEST_F(TunnelPeers, AnotherProxyAtAPeersAddressIsNotTakenForIt) {
  Member& near = fleet_.add_proxy("p1", "a");
  Member& far = fleet_.add_proxy("p2", "a");
  CachedProxy wrong{.name = "p7"};
  wrong.proxy.set_peer_address(far.at.peer);
  near.service->set_proxies({wrong});
  ASSERT_TRUE(fleet_.until(
      [&] { return near.service->describe().peers.at(0).reason.starts_with("HF2116"); }));
  EXPECT_FALSE(linked(near, "p7"));
}

TEST_F(TunnelPeers, APeerThatDiesIsForgottenAndDialledAgain) {
  Member& near = fleet_.add_proxy("p1", "a");
  Member& far = fleet_.add_proxy("p2", "b");
  fleet_.introduce();
  ASSERT_TRUE(welcomed(fleet_.dial(far, "edge-1", "b", {"web"})));
  ASSERT_TRUE(fleet_.until([&] { return holds(near, "p2", 1); }));
  const TunnelFleet::Dialled dialled = fleet_.connect(near, "web");
  ASSERT_TRUE(dialled.reached.ok());

  fleet_.stop(far);
  EXPECT_TRUE(fleet_.until([&] { return dialled.client->over; }));
  EXPECT_EQ(dialled.client->reset, ResetCode::Broken);
  EXPECT_EQ(code_of(fleet_.connect(near, "web").reached), "HF2202");
  EXPECT_TRUE(fleet_.until([&] {
    near.service->update_metrics();
    return near.registry.expose().contains("holdfast_peer_forgotten_total 1");
  }));

  Member& again = fleet_.add_proxy("p2", "b");
  fleet_.introduce();
  ASSERT_TRUE(welcomed(fleet_.dial(again, "edge-1", "b", {"web"})));
  EXPECT_TRUE(fleet_.until([&] { return holds(near, "p2", 1); }));
  EXPECT_TRUE(fleet_.connect(near, "web").reached.ok());
}

TEST_F(TunnelPeers, ALinkOfACertificateThatEndsIsMadeAnewFirst) {
  Member& near = fleet_.add_proxy("p1", "a");
  Member& far = fleet_.add_proxy("p2", "b");
  const auto hold = [&](seconds valid_for) {
    return near.service->set_identity(fleet_.authority.issue(Role::Proxy, "p1", "a", valid_for));
  };
  const auto renewed = [&] {
    near.service->update_metrics();
    return near.registry.expose().contains("holdfast_peer_renewed_total 1");
  };
  ASSERT_TRUE(hold(hours(1)).ok());
  fleet_.introduce();
  ASSERT_TRUE(welcomed(fleet_.dial(far, "edge-1", "b", {"web"})));
  ASSERT_TRUE(fleet_.until([&] { return holds(near, "p2", 1); }));
  const TunnelFleet::Dialled running = fleet_.connect(near, "web");
  ASSERT_TRUE(running.reached.ok());
  EXPECT_FALSE(renewed()) << "there is nothing to gain";

  ASSERT_TRUE(hold(hours(24)).ok());

  bool dark = false;
  ASSERT_TRUE(fleet_.until([&] {
    dark = dark || !fleet_.connect(near, "web").reached.ok();
    return renewed();
  }));
  EXPECT_FALSE(dark) << "the agent is reached at every moment";
  EXPECT_TRUE(fleet_.connect(near, "web").reached.ok());
  EXPECT_TRUE(fleet_.until([&] { return holds(near, "p2", 1); }));
  EXPECT_TRUE(fleet_.echoes(running.client, "over the old link"));
  running.client->finish();
  EXPECT_TRUE(fleet_.until([&] { return running.client->over; }));
  EXPECT_EQ(running.client->reset, std::nullopt);
}

TEST_F(TunnelPeers, ALinkThatOutlivesItsCertificateTakesNothingNewAndIsThenClosed) {
  Member& proxy = fleet_.add_proxy(
      "p1", "a", [](ProxyOptions& options) { options.expired_grace = seconds(5); });
  ASSERT_TRUE(welcomed(fleet_.dial(proxy, "edge-1", "a", {"web"})));
  RawAgent& peer = fleet_.dial(
      proxy.at.peer, {.identity = fleet_.authority.issue(Role::Proxy, "p9", "a", seconds(4)),
                      .says = "p9",
                      .protocol = std::string(kPeerProtocol),
                      .side = Side::Opener});
  ASSERT_TRUE(welcomed(peer)) << peer.why;
  const auto open = [&](const Client& client) {
    v1::OpenStream wanted;
    wanted.set_service("web");
    wanted.set_agent("edge-1");
    return fleet_.run(peer.open(wanted, client));
  };
  const Client running = std::make_shared<ClientSide>();
  ASSERT_EQ(open(running), "accepted");

  ASSERT_TRUE(fleet_.until([&] { return peer.goodbye; }));
  ASSERT_TRUE(peer.has_link());
  EXPECT_NE(open(std::make_shared<ClientSide>()), "accepted");
  EXPECT_TRUE(fleet_.echoes(running, "what runs goes on"));
  EXPECT_TRUE(fleet_.until([&] { return peer.over; })) << "for a while";
}

TEST_F(TunnelPeers, APeerWhoseCertificateHasExpiredIsLeftUntilItHasAnother) {
  Member& near = fleet_.add_proxy("p1", "a");
  Member& far = fleet_.add_proxy("p2", "b");
  const auto hold = [&](seconds valid_for) {
    return far.service->set_identity(fleet_.authority.issue(Role::Proxy, "p2", "b", valid_for));
  };
  ASSERT_TRUE(hold(seconds(4)).ok());
  fleet_.introduce();
  ASSERT_TRUE(welcomed(fleet_.dial(far, "edge-1", "b", {"web"})));
  ASSERT_TRUE(fleet_.until([&] { return holds(near, "p2", 1); }));
  const TunnelFleet::Dialled running = fleet_.connect(near, "web");
  ASSERT_TRUE(running.reached.ok());

  // Whoever tries again and again leaves nothing behind: a tunnel may be full of streams.
  const auto reach = [&] {
    const TunnelFleet::Dialled tried = fleet_.connect(near, "web");
    if (tried.reached.ok()) tried.client->finish();
    return code_of(tried.reached);
  };
  ASSERT_TRUE(fleet_.until([&] { return reach() == "HF2202"; }));
  ASSERT_TRUE(hold(hours(24)).ok());

  EXPECT_TRUE(fleet_.until([&] { return reach().empty(); }))
      << "whatever still runs over the old link: " << reach();
  EXPECT_TRUE(fleet_.echoes(running.client, "what runs goes on"));
}

TEST_F(TunnelPeers, ALivingLinkKeepsAPeerDiscoveredWithoutControllers) {
  const auto brief = [](ProxyOptions& options) {
    options.announce_ttl = seconds(2);
    options.link.session.keepalive = milliseconds(300);
  };
  Member& near = fleet_.add_proxy("p1", "a", brief);
  Member& far = fleet_.add_proxy("p2", "b", brief);
  // In the cache once, and never a heartbeat again.
  fleet_.introduce();
  CachedProxy silent{.name = "p3"};
  silent.proxy.set_tunnel_address("127.0.0.1:1");
  *silent.proxy.mutable_last_heartbeat() = resource::to_proto(fleet_.clock.wall_now());
  std::vector<CachedProxy> all = fleet_.listed();
  all.push_back(silent);
  near.service->set_proxies(all);
  EXPECT_THAT(near.service->discovered(), testing::Contains("p3"));
  ASSERT_TRUE(fleet_.until([&] { return linked(near, "p2"); }));
  fleet_.pass(seconds(3));
  EXPECT_TRUE(fleet_.until([&] {
    return testing::Value(near.service->discovered(), UnorderedElementsAre("p1", "p2"));
  }));

  RawAgent& agent = fleet_.dial(near, "edge-1", "a", {"web"});
  ASSERT_TRUE(fleet_.until([&] { return !agent.discoveries.empty(); }));
  EXPECT_TRUE(agent.discoveries[0].full());
  EXPECT_EQ(agent.discoveries[0].proxies_size(), 2);
  for (const v1::DiscoveredProxy& proxy : agent.discoveries[0].proxies()) {
    EXPECT_EQ(proxy.tunnel_address(), proxy.name() == "p1" ? near.at.tunnel : far.at.tunnel);
    EXPECT_EQ(resource::to_duration(proxy.ttl()), seconds(2));
  }
}

TEST_F(TunnelPeers, AgentsAreToldTheTtlThatTheControllersGiveTheProxy) {
  Member& proxy = fleet_.add_proxy("p1", "a");
  proxy.service->set_announce_ttl(seconds(9));
  RawAgent& agent = fleet_.dial(proxy, "edge-1", "a", {"web"});
  const auto told = [&agent](Duration ttl) {
    for (const v1::Discovery& discovery : agent.discoveries) {
      if (resource::to_duration(discovery.proxies(0).ttl()) == ttl) return true;
    }
    return false;
  };
  ASSERT_TRUE(fleet_.until([&] { return !agent.discoveries.empty(); }));
  EXPECT_TRUE(told(seconds(9)));

  proxy.service->set_announce_ttl(milliseconds(100));

  EXPECT_EQ(proxy.service->announce_ttl(), seconds(4)) << "peers are heard from every 2 s";
  EXPECT_TRUE(fleet_.until([&] { return told(seconds(4)); })) << "those that are there, too";
}

TEST_F(TunnelPeers, ANewProxyIsToldToAgentsAtOnceAndCompactly) {
  Member& near = fleet_.add_proxy("p1", "a");
  RawAgent& agent = fleet_.dial(near, "edge-1", "a", {"web"});
  ASSERT_TRUE(fleet_.until([&] { return agent.discoveries.size() == 1; }));
  EXPECT_EQ(agent.discoveries[0].proxies_size(), 1);
  fleet_.add_proxy("p2", "b");
  fleet_.introduce();
  const auto heard = [&] {
    for (const v1::Discovery& discovery : agent.discoveries) {
      for (const v1::DiscoveredProxy& proxy : discovery.proxies()) {
        if (proxy.name() == "p2") return !discovery.full();
      }
    }
    return false;
  };
  EXPECT_TRUE(fleet_.until(heard));
}

}  // namespace
}  // namespace holdfast::tunnel
