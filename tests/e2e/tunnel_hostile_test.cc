// Hostile agents, and strangers at the door of agents, against a real proxy: whatever they do, the
// clients of others notice nothing, the proxy stays small, and its counters say what happened.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "e2e/hostile_peer.h"
#include "e2e/hostile_world.h"
#include "integration/tunnel_cluster.h"
#include "support/eventually.h"
#include "support/test_certificate.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using tunnel::FrameType;

constexpr uint32_t kWide = 1 << 30;

// Connections of clients that send as much as is taken from them.
class Uploads {
 public:
  Uploads(uint16_t port, int count) {
    for (int i = 0; i < count; ++i) sockets_.push_back(connect_from("127.0.0.1", port));
  }
  ~Uploads() {
    for (const int socket : sockets_) ::close(socket);
  }
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  void push() {
    for (const int socket : sockets_) {
      ssize_t sent = 0;
      while ((sent = ::send(socket, block_.data(), block_.size(), MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
        sent_ += static_cast<size_t>(sent);
    }
  }
  size_t received() const {
    size_t all = 0;
    std::string bytes(4096, 0);
    for (const int socket : sockets_)
      all += static_cast<size_t>(std::max<ssize_t>(
          0, ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_PEEK)));
    return all;
  }
  size_t sent() const { return sent_; }

 private:
  std::vector<int> sockets_;
  std::string block_ = std::string(64 << 10, 'x');
  size_t sent_ = 0;
};

class HostileAgent : public Hostile {
 protected:
  // `evil` has a tunnel and answers every OPEN with no window at all, until four seconds after the
  // last of forty clients came, which send; `act` is called again and again with the streams there
  // are.
  using Streams = std::vector<tunnel::StreamId>;
  void serve_bait(const std::function<void(HostilePeer&, const Streams&)>& act) {
    const std::unique_ptr<HostilePeer> peer = evil_tunnel();
    ASSERT_NE(peer, nullptr) << fleet.log("px-0");
    uploads_.emplace(bait_port(), 40);
    Streams streams;
    Time end = SystemClock().now() + 60s;
    peer->hold(
        [&] {
          uploads_->push();
          act(*peer, streams);
          return SystemClock().now() > end;
        },
        [&](HostilePeer& it, const HeardFrame& heard) {
          if (heard.header.type != FrameType::Open) return;
          it.send(FrameType::Accept, heard.header.stream, number(0));
          streams.push_back(heard.header.stream);
          if (streams.size() == 40) end = SystemClock().now() + 4s;
        });
    EXPECT_EQ(streams.size(), 40);
    EXPECT_FALSE(peer->closed()) << "it kept to the rules";
  }

  std::optional<Uploads> uploads_;
};

TEST_F(HostileAgent, WhoNeverOpensAWindowHoldsUpItsOwnClientsOnly) {
  Bystanders others = bystanders();

  serve_bait([](HostilePeer&, const Streams&) {});

  // What is on its way is in the kernel's buffers; the proxy keeps none of it.
  others.expect_unharmed(fmt::format("window never opened, {} bytes sent", uploads_->sent()), 16);
}

TEST_F(HostileAgent, WhoReadsAndWritesAByteAtATimeIsServedAtItsPace) {
  Bystanders others = bystanders();

  serve_bait([](HostilePeer& peer, const Streams& streams) {
    for (const tunnel::StreamId stream : streams) {
      peer.send(FrameType::Window, stream, number(1));
      peer.send(FrameType::Data, stream, "x");
    }
  });

  others.expect_unharmed("a byte at a time", 16);
  EXPECT_GT(uploads_->received(), 40);
}

TEST_F(HostileAgent, WhoStopsReadingLosesItsTunnel) {
  Bystanders others = bystanders();
  const double lost = metric("px-0", "holdfast_tunnel_ended_total{how=\"lost\"}");
  const std::unique_ptr<HostilePeer> peer = evil_tunnel();
  ASSERT_NE(peer, nullptr);
  Uploads uploads(bait_port(), 20);
  size_t accepted = 0;
  peer->hold([&] { return accepted == 20; },
             [&](HostilePeer& it, const HeardFrame& heard) {
               if (heard.header.type != FrameType::Open) return;
               it.send(FrameType::Accept, heard.header.stream, number(kWide));
               ++accepted;
             });

  // It goes on to say that it is alive.
  const bool gone = eventually(
      [&] {
        uploads.push();
        return !peer->send(FrameType::Ping, 0, "12345678");
      },
      30s);

  EXPECT_TRUE(gone);
  others.expect_unharmed(fmt::format("reads nothing, {} bytes sent", uploads.sent()), 32);
  EXPECT_TRUE(grows("px-0", "holdfast_tunnel_ended_total{how=\"lost\"}", lost));
  EXPECT_TRUE(grows("px-0", "holdfast_tunnel_broken_total{code=\"HF2024\"}", 0));
}

TEST_F(HostileAgent, FramesThatMakeNoSenseEndTheirTunnelAndAreCounted) {
  Bystanders others = bystanders();
  std::vector<Nonsense> all = frames_that_make_no_sense();
  all.push_back(
      {"an open from an agent", frame(FrameType::Open, 0x10000, open_stream("app")), "HF2002"});
  all.push_back({"a message that is none", frame(FrameType::Message, 0, "\xff\xff\xff"), "HF2108"});
  for (const Nonsense& nonsense : all) {
    SCOPED_TRACE(nonsense.what);
    const std::string sample =
        fmt::format("holdfast_tunnel_broken_total{{code=\"{}\"}}", nonsense.code);
    const double before = metric("px-0", sample);
    const std::unique_ptr<HostilePeer> peer = evil_tunnel();
    ASSERT_NE(peer, nullptr) << fleet.log("px-0");

    peer->send(nonsense.bytes);

    EXPECT_TRUE(peer->is_closed(5s));
    EXPECT_TRUE(grows("px-0", sample, before));
  }
  others.expect_unharmed("frames that make no sense");
  EXPECT_GE(lines("px-0", "HF2002"), 1) << "one who looks after the proxy can find it";
}

TEST_F(HostileAgent, AFrameThatNeverEndsAndSilenceAreTakenForDeath) {
  Bystanders others = bystanders();
  const std::unique_ptr<HostilePeer> peer = evil_tunnel();
  ASSERT_NE(peer, nullptr);

  peer->send(frame(FrameType::Message, 0, std::string(60'000, 'x')).substr(0, 30'000));

  EXPECT_TRUE(peer->is_closed(30s));
  others.expect_unharmed("half a frame");
  EXPECT_TRUE(grows("px-0", "holdfast_tunnel_broken_total{code=\"HF2001\"}", 0));
}

TEST_F(HostileAgent, PingsWithoutEndAreAnsweredByAFew) {
  Bystanders others = bystanders();
  const std::unique_ptr<HostilePeer> peer = evil_tunnel();
  ASSERT_NE(peer, nullptr);
  std::string pings;
  for (int i = 0; i < 4'000; ++i) pings += frame(FrameType::Ping, 0, "12345678");

  const Time end = SystemClock().now() + 4s;
  int blocks = 0;
  while (SystemClock().now() < end && peer->send(pings)) ++blocks;

  others.expect_unharmed(fmt::format("{} pings", blocks * 4'000), 16);
}

TEST_F(HostileAgent, AFloodOfChangesBelowTheLimitDelaysNobody) {
  Bystanders others = bystanders();
  const std::unique_ptr<HostilePeer> peer = evil_tunnel();
  ASSERT_NE(peer, nullptr);
  v1::TunnelMessage changes[2];
  for (int i = 0; i < 1'000; ++i) {
    for (int which : {0, 1}) {
      v1::ExposedService& service = *changes[which].mutable_exposed()->add_services();
      service.set_service(fmt::format("bait-{}-{}", which, i));
      service.set_healthy(true);
    }
  }

  const Time begin = SystemClock().now();
  int said = 0;
  while (SystemClock().now() - begin < 5s && !peer->closed()) {
    const auto allowed = (SystemClock().now() - begin) / 2ms;  // 500/s
    if (said < allowed) peer->say(changes[said++ % 2]);
    if (said >= allowed) (void)peer->read(1ms);
  }

  others.expect_unharmed(fmt::format("{} changes of 1000 services", said));
}

TEST_F(HostileAgent, TooManyServicesAreRefused) {
  Bystanders others = bystanders();
  const std::string sample = "holdfast_tunnel_refused_total{code=\"HF2109\"}";
  const double before = metric("px-0", sample);
  std::vector<std::string> names;
  for (int i = 0; i < 6'000; ++i) names.push_back(fmt::format("s{}", i));

  for (int i = 0; i < 5; ++i) {
    const auto peer = HostilePeer::dial({.port = tunnel_port(), .papers = evil()});
    ASSERT_NE(peer, nullptr);
    peer->say(hello("evil", names));
    const auto answer = peer->read_message(5s);
    ASSERT_TRUE(answer && answer->has_refusal());
    EXPECT_EQ(answer->refusal().code(), "HF2109");
    EXPECT_TRUE(peer->is_closed(5s));
  }

  others.expect_unharmed("6000 services");
  EXPECT_TRUE(grows("px-0", sample, before, 5));
}

TEST_F(HostileAgent, AnAgentHasEightTunnelsAtAProxyAndNoMore) {
  Bystanders others = bystanders();
  std::vector<std::unique_ptr<HostilePeer>> welcome;
  std::map<std::string, size_t> refused;  // by what the proxy answered

  for (int i = 0; i < 40; ++i) {
    std::string answer;
    if (auto peer = evil_tunnel(&answer)) {
      welcome.push_back(std::move(peer));
    } else {
      ++refused[answer];
    }
  }

  others.expect_unharmed("forty tunnels of one agent");
  std::cout << "refused: " << testing::PrintToString(refused) << '\n';
  EXPECT_LE(welcome.size(), 16) << "eight, and some of those whose end was noticed meanwhile";
  EXPECT_GE(refused["HF2105"], 24);
  EXPECT_TRUE(comes_to("px-0", "holdfast_tunnel_refused_total", 24))
      << testing::PrintToString(refused) << fleet.log("px-0");
}

TEST_F(HostileAgent, AReconnectStormFromOneAddressIsCountedAndDelaysNobody) {
  Bystanders others = bystanders();
  const double failed = metric("px-0", "holdfast_tunnel_failed_handshakes_total");
  const Papers papers = evil();
  size_t tries = 0;

  const Time end = SystemClock().now() + 5s;
  while (SystemClock().now() < end) {
    const auto peer = HostilePeer::dial({.port = tunnel_port(), .papers = papers});
    if (peer && tries % 2 == 0) peer->say(hello("evil"));
    ++tries;
  }

  others.expect_unharmed(fmt::format("{} reconnects", tries));
  EXPECT_TRUE(grows("px-0", "holdfast_tunnel_failed_handshakes_total", failed, 10));
  EXPECT_LT(lines("px-0", "a tunnel was refused"), 200) << "at most ten a second are logged";
}

// Whoever is not who it says, or nobody of ours.
TEST_F(HostileAgent, WhoClaimsAnothersNameIsRefused) {
  Bystanders others = bystanders();
  const std::string sample = "holdfast_tunnel_refused_total{code=\"HF2102\"}";
  const double before = metric("px-0", sample);
  const double tunnels = metric("px-0", "holdfast_tunnel_agent_tunnels");

  const auto peer = HostilePeer::dial({.port = tunnel_port(), .papers = evil()});
  ASSERT_NE(peer, nullptr);
  peer->say(hello("edge-0", {"app"}));

  const auto answer = peer->read_message(5s);
  ASSERT_TRUE(answer && answer->has_refusal());
  EXPECT_EQ(answer->refusal().code(), "HF2102");
  EXPECT_TRUE(peer->is_closed(5s));
  EXPECT_TRUE(grows("px-0", sample, before));
  EXPECT_GE(lines("px-0", "HF2102"), 1);
  EXPECT_TRUE(comes_to("px-0", "holdfast_tunnel_agent_tunnels", std::min(tunnels, 2.0)));
  others.expect_unharmed("another's name");
}

TEST_F(HostileAgent, AProxysCertificateIsNoAgents) {
  Bystanders others = bystanders();
  const std::string sample = "holdfast_tunnel_refused_total{code=\"HF2101\"}";
  const double before = metric("px-0", sample);

  const auto peer = HostilePeer::dial({.port = tunnel_port(), .papers = evil_proxy()});
  ASSERT_NE(peer, nullptr);
  peer->say(hello("px-evil", {"app"}));

  const auto answer = peer->read_message(5s);
  ASSERT_TRUE(answer && answer->has_refusal());
  EXPECT_EQ(answer->refusal().code(), "HF2101");
  EXPECT_TRUE(grows("px-0", sample, before));
  others.expect_unharmed("a proxy's certificate");
}

TEST_F(HostileAgent, CertificatesOfOthersAreTurnedAwayAtTheDoor) {
  Bystanders others = bystanders();
  const TestCertificate self_signed = make_test_certificate("edge-0");
  const TunnelPems other_authority =
      TunnelCluster("prod").pems(identity::Role::Agent, "edge-0", "a");
  const TunnelPems other_cluster = TunnelCluster("test").pems(identity::Role::Agent, "evil", "a");
  const Papers all[] = {{},
                        {self_signed.certificate_pem, self_signed.private_key_pem},
                        {other_authority.certificate, other_authority.private_key},
                        {other_cluster.certificate, other_cluster.private_key}};

  for (const Papers& papers : all) {
    const double before = metric("px-0", "holdfast_tunnel_failed_handshakes_total");
    const auto peer = HostilePeer::dial({.port = tunnel_port(), .papers = papers});
    if (peer) {
      peer->say(hello("edge-0", {"app"}));
      EXPECT_FALSE(peer->read_message(5s)) << "not a word";
      EXPECT_TRUE(peer->is_closed(5s));
    }
    EXPECT_TRUE(grows("px-0", "holdfast_tunnel_failed_handshakes_total", before));
  }
  others.expect_unharmed("certificates of others");
}

TEST_F(HostileAgent, GarbageInsteadOfTlsIsTurnedAway) {
  Bystanders others = bystanders();
  const double before = metric("px-0", "holdfast_tunnel_failed_handshakes_total");
  const std::string garbage(4'096, '\x5a');

  for (int i = 0; i < 200; ++i) {
    const int socket = connect_from(kStranger, tunnel_port());
    (void)::send(socket, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    std::string answer(256, 0);
    while (::recv(socket, answer.data(), answer.size(), 0) > 0) continue;
    ::close(socket);
  }

  others.expect_unharmed("garbage");
  EXPECT_TRUE(grows("px-0", "holdfast_tunnel_failed_handshakes_total", before, 100));
}

// TCP and not a byte, TLS and no hello.
class HostileSilence : public HostileAgent {
 protected:
  ~HostileSilence() override {
    for (const int socket : silent_) ::close(socket);
  }
  void be_silent(int addresses, int each) {
    for (int address = 1; address <= addresses; ++address) {
      for (int i = 0; i < each; ++i)
        silent_.push_back(connect_from(fmt::format("127.66.1.{}", address), tunnel_port()));
    }
  }
  // How long an agent that starts now needs to have its tunnel there.
  bool agent_gets_in(Duration patience) {
    const double before = metric("px-0", "holdfast_tunnel_welcomed_total");
    fleet.process("edge-1").kill();
    fleet.start("edge-1");
    return eventually([&] { return metric("px-0", "holdfast_tunnel_welcomed_total") > before; },
                      patience);
  }

 private:
  std::vector<int> silent_;
};

TEST_F(HostileSilence, OfOneAddressKeepsNobodyOut) {
  const double before = metric("px-0", "holdfast_tunnel_admissions_total{outcome=\"dropped\"}");

  be_silent(1, 300);

  EXPECT_TRUE(agent_gets_in(15s));
  EXPECT_TRUE(grows("px-0", "holdfast_tunnel_admissions_total{outcome=\"dropped\"}", before, 200));
}

TEST_F(HostileSilence, OfManyAddressesKeepsNobodyOut) {
  be_silent(20, 64);

  EXPECT_TRUE(agent_gets_in(15s));
}

TEST_F(HostileSilence, AfterTheHandshakeEndsInTime) {
  Bystanders others = bystanders();
  std::vector<std::unique_ptr<HostilePeer>> peers;
  for (int i = 0; i < 20; ++i)
    peers.push_back(
        HostilePeer::dial({.port = tunnel_port(), .papers = evil(), .source = "127.66.2.1"}));

  // They say that they are alive, but not who they are.
  for (const auto& peer : peers) {
    ASSERT_NE(peer, nullptr);
    peer->hold([] { return false; }, [](HostilePeer&, const HeardFrame&) {});
    EXPECT_TRUE(peer->closed());
  }

  others.expect_unharmed("no hello");
}

}  // namespace
}  // namespace holdfast::test
