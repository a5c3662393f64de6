// A rogue proxy, with an identity of its own that is in order, against real agents, which have
// tunnels to it, and against a real proxy, as a peer that dials and as one that is dialled.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "e2e/hostile_peer.h"
#include "e2e/hostile_world.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using tunnel::FrameType;

// The first stream of a slot.
constexpr tunnel::StreamId stream(uint32_t slot) {
  return tunnel::stream_id(slot, 1);
}

v1::TunnelMessage welcome() {
  v1::TunnelMessage message;
  message.mutable_welcome()->set_name("px-evil");
  return message;
}

class HostileProxy : public Hostile {
 protected:
  // Once all know px-evil and agents have tunnels to it, its process is replaced by us.
  void SetUp() override {
    Hostile::SetUp();
    static const bool known = eventually(
        [this] {
          return metric("px-evil", "holdfast_tunnel_agents") >= 2 &&
                 metric("px-0", "holdfast_peer_links") >= 2;
        },
        40s);
    ASSERT_TRUE(known);
    fleet.process("px-evil").kill();
    tunnels_ = std::make_unique<HostileListener>(fleet.ports("px-evil").tunnel, evil_proxy(),
                                                 "holdfast-tunnel/1");
    peers_ = std::make_unique<HostileListener>(fleet.ports("px-evil").peer, evil_proxy(),
                                               "holdfast-peer/1");
    // Discovery goes on as long as the peers think that px-evil lives.
    peers_->serve([this](HostilePeer& peer) { be_a_peer(peer, {}); });
  }
  void TearDown() override {
    ending_ = true;
    tunnels_.reset();
    peers_.reset();
  }

  // Peers that are served may use what is of a test's own scope: they end before it does.
  void end_peers() {
    ending_ = true;
    peers_.reset();
  }
  // Greets who dialled and holds the link; says `then` after the welcome.
  void be_a_peer(HostilePeer& peer, const std::function<void()>& then) {
    if (!peer.read_message(5s) || !peer.say(welcome())) return;
    v1::TunnelMessage nothing;
    nothing.mutable_holding()->set_full(true);
    peer.say(nothing);
    if (then) then();
    peer.hold([this] { return ending_.load(); }, [](HostilePeer&, const HeardFrame&) {});
  }
  // What the rogue does with the first agent of this name that comes; it just holds all others.
  void attack(const std::string& agent, std::function<void(HostilePeer&)> act) {
    tunnels_->serve([this, agent, act = std::move(act)](HostilePeer& peer) {
      const auto said = peer.read_message(5s);
      if (!said || !said->has_hello() || !peer.say(welcome())) return;
      if (said->hello().name() == agent && !begun_.exchange(true)) {
        act(peer);
        over_ = true;
      }
      peer.hold([this] { return ending_.load(); }, [](HostilePeer&, const HeardFrame&) {});
    });
  }
  bool attacked() {
    return eventually([this] { return over_.load(); }, 40s);
  }
  std::unique_ptr<HostilePeer> call_peer(const Papers& papers) {
    return HostilePeer::dial(
        {.port = fleet.ports("px-0").peer, .protocol = "holdfast-peer/1", .papers = papers});
  }
  // A link to px-0 that was welcomed.
  std::unique_ptr<HostilePeer> evil_link() {
    std::unique_ptr<HostilePeer> peer = call_peer(evil_proxy());
    if (!peer || !peer->say(hello("px-evil"))) return nullptr;
    const auto answer = peer->read_message(5s);
    return answer && answer->has_welcome() ? std::move(peer) : nullptr;
  }
  std::string lost(const std::string& code) const {
    return fmt::format("holdfast_agent_tunnels_lost_total{{code=\"{}\"}}", code);
  }

  std::unique_ptr<HostileListener> tunnels_, peers_;
  std::atomic<bool> begun_ = false, over_ = false, ending_ = false;
};

TEST_F(HostileProxy, StreamsBeyondTheLimitAreRefusedOneByOne) {
  Bystanders others = bystanders("edge-0");
  const std::string refused = "holdfast_agent_session_streams_total{what=\"refused\"}";
  const double before = metric("edge-0", refused);
  size_t opened = 0;
  attack("edge-0", [&](HostilePeer& peer) {
    std::string opens;
    for (uint32_t slot = 0; slot < 65'535 && !peer.closed(); ++slot) {
      opens += frame(FrameType::Open, stream(slot), open_stream("app"));
      if (slot % 64 != 0) continue;
      if (peer.send(std::exchange(opens, {}))) opened = slot;
    }
    (void)peer.is_closed(10s);
  });

  ASSERT_TRUE(attacked());

  EXPECT_TRUE(grows("edge-0", refused, before));
  others.expect_unharmed(fmt::format("{} streams opened", opened), 96);
  EXPECT_LT(lines("edge-0", "HF2007"), 10);
}

TEST_F(HostileProxy, StreamsThatAreGivenUpAtOnceEndTheTunnel) {
  Bystanders others = bystanders("edge-0");
  const double before = metric("edge-0", lost("HF2004"));
  attack("edge-0", [&](HostilePeer& peer) {
    uint16_t use = 0;
    while (!peer.closed() && use < 60'000) {
      std::string bytes;
      for (int i = 0; i < 100; ++i) {
        const tunnel::StreamId id = tunnel::stream_id(0, ++use);
        bytes += frame(FrameType::Open, id, open_stream("app"));
        bytes += frame(FrameType::Reset, id, number(1));
      }
      peer.send(bytes);
    }
  });

  ASSERT_TRUE(attacked());

  EXPECT_TRUE(grows("edge-0", lost("HF2004"), before));
  others.expect_unharmed("streams given up at once");
}

TEST_F(HostileProxy, NothingIsDialledButWhatTheAgentNames) {
  Bystanders others = bystanders("edge-0");
  const std::string sample = "holdfast_agent_refused_connections_total{why=\"not_exposed\"}";
  const double before = metric("edge-0", sample);
  std::vector<uint32_t> codes;
  attack("edge-0", [&](HostilePeer& peer) {
    uint32_t slot = 0;
    for (const char* name : {"127.0.0.1:22", "app=127.0.0.1:22", "", "../app", "unix:/etc/passwd",
                             "http://127.0.0.1/", "app\0x"}) {
      peer.send(FrameType::Open, stream(slot++), open_stream(name));
    }
    while (const auto heard = peer.read(1s)) {
      if (heard->header.type == FrameType::Reset)
        codes.push_back(tunnel::decode_u32(heard->payload));
    }
  });

  ASSERT_TRUE(attacked());

  // "app\0x" ends at its zero as C's strings do: that one is exposed.
  EXPECT_EQ(codes, std::vector<uint32_t>(6, 3));
  EXPECT_TRUE(grows("edge-0", sample, before, 6));
  others.expect_unharmed("names that are not exposed");
}

TEST_F(HostileProxy, FramesThatMakeNoSenseEndTheTunnelAndTheAgentComesBackInItsTime) {
  Bystanders others = bystanders("edge-0");
  const double before = sum("edge-0", "holdfast_agent_tunnels_lost_total");
  tunnels_->serve([](HostilePeer& peer) {
    if (!peer.read_message(5s) || !peer.say(welcome())) return;
    peer.send(frame(static_cast<FrameType>(99), 7, std::string(70'000, 'x')));
    (void)peer.is_closed(5s);
  });

  let_pass(10s);

  EXPECT_TRUE(eventually(
      [&] { return sum("edge-0", "holdfast_agent_tunnels_lost_total") >= before + 1; }, 20s));
  EXPECT_LT(tunnels_->taken(), 60) << "two agents, ten seconds";
  others.expect_unharmed(fmt::format("{} tunnels broken", tunnels_->taken()));
}

TEST_F(HostileProxy, AProxyThatNeverWelcomesIsDialledSeldom) {
  Bystanders others = bystanders("edge-0");
  tunnels_->serve([this](HostilePeer& peer) {
    peer.hold([this] { return ending_.load(); }, [](HostilePeer&, const HeardFrame&) {});
  });

  let_pass(12s);

  EXPECT_LT(tunnels_->taken(), 30);
  others.expect_unharmed(fmt::format("no welcome, {} dials", tunnels_->taken()));
}

TEST_F(HostileProxy, ProxiesThatAreMadeUpAreNotAllDialledAndOustNobody) {
  Bystanders others = bystanders("edge-0");
  const double dials = metric("edge-0", "holdfast_agent_dials_total");
  const double tunnels = metric("edge-0", "holdfast_agent_tunnels");
  attack("edge-0", [&](HostilePeer& peer) {
    for (int i = 0; i < 100'000 && !peer.closed();) {
      v1::TunnelMessage message;
      for (int k = 0; k < 500; ++k, ++i) {
        v1::DiscoveredProxy& proxy = *message.mutable_discovery()->add_proxies();
        proxy.set_name(fmt::format("px-{}", i + 100));
        proxy.set_tunnel_address(i % 3 == 0
                                     ? fmt::format("127.99.{}.{}:{}", i / 250 % 250, i % 250, 1)
                                 : i % 3 == 1 ? "999.999.999.999:99999"
                                              : std::string(30, '[') + ":");
        proxy.mutable_ttl()->set_seconds(1'000'000'000);
      }
      peer.say(message);
      (void)peer.read(5ms);
    }
  });

  ASSERT_TRUE(attacked());
  let_pass(8s);

  const double more = metric("edge-0", "holdfast_agent_dials_total") - dials;
  EXPECT_LT(more, 200);
  EXPECT_TRUE(comes_to("edge-0", "holdfast_agent_tunnels", std::min(tunnels, 3.0)));
  EXPECT_LE(metric("edge-0", "holdfast_agent_proxies_tracked"), 1'024);
  EXPECT_TRUE(comes_to("edge-0", "holdfast_agent_proxies_ignored_total", 90'001));
  others.expect_unharmed(fmt::format("100000 proxies made up, {} dials", more));
  // Nobody waits an hour until these are forgotten.
  fleet.process("edge-0").kill();
  fleet.start("edge-0");
}

// It tells of a generation that is newer, and that the others drain.
TEST_F(HostileProxy, LiesAboutOtherProxiesCutNobodyOff) {
  Bystanders others = bystanders("edge-0");
  attack("edge-0", [&](HostilePeer& peer) {
    for (int i = 0; i < 10; ++i) {
      v1::TunnelMessage message;
      for (const char* name : {"px-0", "px-1", "px-small", "px-new"}) {
        v1::DiscoveredProxy& proxy = *message.mutable_discovery()->add_proxies();
        const bool made_up = std::string_view(name) == "px-new";
        proxy.set_name(name);
        proxy.set_tunnel_address("127.99.0.1:1");
        proxy.set_draining(!made_up);
        proxy.set_generation(made_up ? 1'000'000 : 0);
        proxy.mutable_ttl()->set_seconds(3'600);
      }
      peer.say(message);
      peer.hold([end = SystemClock().now() + 1s] { return SystemClock().now() > end; },
                [](HostilePeer&, const HeardFrame&) {});
    }
  });

  ASSERT_TRUE(attacked());

  others.expect_unharmed("lies about others");
  EXPECT_TRUE(comes_to("px-0", "holdfast_tunnel_agents", 2));
  fleet.process("edge-0").kill();
  fleet.start("edge-0");
}

TEST_F(HostileProxy, AdviceWithoutEndFillsNoLog) {
  Bystanders others = bystanders("edge-0");
  attack("edge-0", [&](HostilePeer& peer) {
    v1::TunnelMessage message;
    message.mutable_advice()->set_code("HF2110");
    message.mutable_advice()->set_reason(std::string(60'000, 'x'));
    for (int i = 0; i < 3'000 && !peer.closed(); ++i) {
      peer.say(message);
      (void)peer.read(2ms);
    }
  });

  ASSERT_TRUE(attacked());

  others.expect_unharmed("3000 advices");
  EXPECT_LT(lines("edge-0", "asks the agent to move"), 100);
}

TEST_F(HostileProxy, OnlyProxiesLinkAsPeers) {
  Bystanders others = bystanders();
  const std::string sample = "holdfast_peer_refused_total{code=\"HF2101\"}";
  const double before = metric("px-0", sample);

  const auto peer = call_peer(evil());
  ASSERT_NE(peer, nullptr);
  peer->say(hello("evil"));

  const auto answer = peer->read_message(5s);
  ASSERT_TRUE(answer && answer->has_refusal());
  EXPECT_EQ(answer->refusal().code(), "HF2101");
  EXPECT_TRUE(grows("px-0", sample, before));
  others.expect_unharmed("an agent at the peers' door");
}

TEST_F(HostileProxy, APeerReachesAgentsOfThisProxyAndNothingElse) {
  Bystanders others = bystanders();
  const double before = sum("px-0", "holdfast_peer_refused_relays_total");
  // Its tunnel is at px-1: reaching it by px-0 would be a second hop.
  const auto far = HostilePeer::dial({.port = fleet.ports("px-1").tunnel, .papers = evil()});
  ASSERT_TRUE(far && far->say(hello("evil", {"bait"})) && far->read_message(5s));
  const auto peer = evil_link();
  ASSERT_NE(peer, nullptr);

  peer->send(FrameType::Open, stream(0), open_stream("bait", "evil"));
  peer->send(FrameType::Open, stream(1), open_stream("app", "nobody"));
  peer->send(FrameType::Open, stream(2), open_stream("app"));
  peer->send(FrameType::Open, stream(3), open_stream("127.0.0.1:22", "edge-0"));
  peer->send(FrameType::Open, stream(4), open_stream("app", "px-1"));
  size_t resets = 0;
  while (resets < 5) {
    const auto heard = peer->read(5s);
    if (!heard) break;
    EXPECT_NE(heard->header.type, FrameType::Accept);
    if (heard->header.type == FrameType::Reset) ++resets;
  }

  EXPECT_EQ(resets, 5);
  EXPECT_TRUE(eventually(
      [&] { return sum("px-0", "holdfast_peer_refused_relays_total") >= before + 5; }, 10s));
  others.expect_unharmed("a peer that asks for what it may not have");
}

TEST_F(HostileProxy, APeersFloodOfStreamsIsRefusedAndCounted) {
  Bystanders others = bystanders();
  const auto peer = evil_link();
  ASSERT_NE(peer, nullptr);
  uint32_t slot = 0;
  const Time end = SystemClock().now() + 15s;
  while (slot < 60'000 && !peer->closed() && SystemClock().now() < end) {
    std::string opens;
    for (int i = 0; i < 200; ++i)
      opens += frame(FrameType::Open, stream(slot++), open_stream("app", "nobody"));
    peer->send(opens);
  }

  others.expect_unharmed(fmt::format("{} streams of a peer that reads nothing", slot), 32);
  EXPECT_TRUE(comes_to("px-0", "holdfast_peer_refused_relays_total", 1'001));
}

TEST_F(HostileProxy, FramesOfACallingPeerThatMakeNoSenseEndItsLinkAndAreCounted) {
  Bystanders others = bystanders();
  std::vector<Nonsense> all = frames_that_make_no_sense();
  all.push_back({"an open that is too long",
                 frame(FrameType::Open, stream(0), std::string(tunnel::kMaxOpenBytes + 5, 'x')),
                 "HF2002"});
  for (const Nonsense& nonsense : all) {
    SCOPED_TRACE(nonsense.what);
    const std::string sample =
        fmt::format("holdfast_tunnel_broken_total{{code=\"{}\"}}", nonsense.code);
    const double before = metric("px-0", sample);
    const std::unique_ptr<HostilePeer> peer = evil_link();
    ASSERT_NE(peer, nullptr) << fleet.log("px-0");

    peer->send(nonsense.bytes);

    EXPECT_TRUE(peer->is_closed(5s));
    EXPECT_TRUE(grows("px-0", sample, before));
  }
  others.expect_unharmed("frames of a calling peer that make no sense");
}

TEST_F(HostileProxy, FramesOfACalledPeerThatMakeNoSenseEndTheLinkAndItIsCalledInItsTime) {
  Bystanders others = bystanders();
  const std::string sample = "holdfast_tunnel_broken_total{code=\"HF2002\"}";
  const double before = metric("px-0", sample);
  std::vector<std::string> all = {frame(FrameType::Open, stream(0), open_stream("app", "edge-0"))};
  for (const Nonsense& nonsense : frames_that_make_no_sense()) {
    if (std::string_view(nonsense.code) == "HF2002") all.push_back(nonsense.bytes);
  }
  std::atomic<size_t> next = 0;
  end_peers();  // whoever is linked comes again
  ending_ = false;
  peers_ = std::make_unique<HostileListener>(fleet.ports("px-evil").peer, evil_proxy(),
                                             "holdfast-peer/1");
  peers_->serve(
      [&](HostilePeer& peer) { be_a_peer(peer, [&] { peer.send(all[next++ % all.size()]); }); });

  EXPECT_TRUE(grows("px-0", sample, before, 2)) << "broken, called again, and broken again";

  EXPECT_LT(peers_->taken(), 60) << "three proxies that wait longer each time";
  others.expect_unharmed(fmt::format("{} links of a called peer broken", peers_->taken()));
  end_peers();
}

TEST_F(HostileProxy, APeersStreamsThatAreGivenUpAtOnceEndItsLink) {
  Bystanders others = bystanders();
  const std::string sample = "holdfast_tunnel_broken_total{code=\"HF2004\"}";
  const double before = metric("px-0", sample);
  const auto peer = evil_link();
  ASSERT_NE(peer, nullptr);

  uint32_t use = 0;
  while (!peer->closed() && use < 60'000) {
    std::string bytes;
    for (int i = 0; i < 100; ++i) {
      const tunnel::StreamId id = tunnel::stream_id(0, static_cast<uint16_t>(++use));
      bytes += frame(FrameType::Open, id, open_stream("app", "edge-0"));
      bytes += frame(FrameType::Reset, id, number(1));
    }
    peer->send(bytes);
  }

  EXPECT_TRUE(grows("px-0", sample, before));
  EXPECT_TRUE(eventually([&] { return metric("px-0", "holdfast_peer_relays") == 0; }, 20s));
  // What it gave up is opened on, for 1,024 of them at once; all others are refused.
  others.expect_unharmed(fmt::format("{} streams of a peer given up at once", use), 16);
}

// Streams that an agent does answer: they end with the link, and the agent bears its limit.
TEST_F(HostileProxy, APeersStreamsToAnAgentStopAtTheAgentsLimitAndGoWithTheLink) {
  Bystanders others(world(), "px-0", {fleet.ports("px-1").ingress[0]});
  const double before = sum("px-0", "holdfast_peer_refused_relays_total");
  auto peer = evil_link();
  ASSERT_NE(peer, nullptr);

  std::string opens;
  for (uint32_t slot = 0; slot < 2'000; ++slot) {
    opens += frame(FrameType::Open, stream(slot), open_stream("app", "edge-0"));
  }
  peer->send(opens);

  // The rest of those that agent.limits.connections lets in: 256. Until they are answered, all
  // count.
  EXPECT_TRUE(comes_to("px-0", "holdfast_peer_refused_relays_total", before + 2'000 - 256));
  EXPECT_TRUE(eventually([&] { return metric("px-0", "holdfast_peer_relays") <= 256; }, 20s));
  peer.reset();
  EXPECT_TRUE(eventually([&] { return metric("px-0", "holdfast_peer_relays") == 0; }, 20s));
  others.expect_unharmed("2000 streams of a peer to one agent", 32);
}

TEST_F(HostileProxy, AMillionAgentsThatAPeerSaysItHoldsAreNotKept) {
  Bystanders others = bystanders();
  const double before = metric("px-0", "holdfast_peer_dropped_agents_total");
  end_peers();  // whoever is linked comes again
  ending_ = false;
  peers_ = std::make_unique<HostileListener>(fleet.ports("px-evil").peer, evil_proxy(),
                                             "holdfast-peer/1");
  std::atomic<int> told = 0;
  peers_->serve([&](HostilePeer& peer) {
    be_a_peer(peer, [&] {
      for (int i = 0; i < 1'000'000 && !peer.closed() && !ending_;) {
        v1::TunnelMessage message;
        message.mutable_holding()->set_full(i == 0);
        message.mutable_holding()->set_more(true);
        for (int k = 0; k < 2'000; ++k, ++i) {
          v1::HeldAgent& agent = *message.mutable_holding()->add_agents();
          agent.set_name(fmt::format("ghost-{}", i));
          agent.set_zone("a");
          v1::ExposedService& service = *agent.mutable_exposed()->add_services();
          service.set_service("app");
          service.set_healthy(true);
        }
        peer.say(message);
        (void)peer.read(5ms);
      }
      ++told;
    });
  });

  EXPECT_TRUE(eventually([&] { return told >= 1; }, 60s));

  EXPECT_TRUE(grows("px-0", "holdfast_peer_dropped_agents_total", before, 100'000));
  EXPECT_LE(metric("px-0", "holdfast_peer_held_agents"), 200'000);
  others.expect_unharmed("a million agents", 128);
  end_peers();
}

}  // namespace
}  // namespace holdfast::test
