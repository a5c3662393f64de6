// TCP probes, and what holds for every probe: cancelling, limits, counts, nothing left behind.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "probing.h"
#include "scripted_app.h"
#include "support/eventually.h"
#include "support/free_ports.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using probe::Outcome;
using probe::Probe;
using testing::StartsWith;

// A listener that takes no connection: its queue is full and what comes is dropped.
class Blackhole {
 public:
  Blackhole() : acceptor_(loop_, {asio::ip::address_v4::loopback(), 0}, false) {
    acceptor_.listen(0);
    for (asio::ip::tcp::socket& socket : fill_) {
      // Started and never waited for.
      socket.async_connect(acceptor_.local_endpoint(), [](const boost::system::error_code&) {});
    }
  }
  uint16_t port() { return acceptor_.local_endpoint().port(); }
  // From now on it takes whoever comes, and answers the first who asks.
  void open_up(std::string answer) {
    for (asio::ip::tcp::socket& socket : fill_) socket.close();
    taker_ = std::jthread([this, answer = std::move(answer)] { take(answer); });
  }

 private:
  void take(const std::string& answer) {
    const timeval patience = {.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(acceptor_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (;;) {
      const int peer = ::accept(acceptor_.native_handle(), nullptr, nullptr);
      if (peer < 0) return;
      char bytes[1024];
      const bool asked = ::recv(peer, bytes, sizeof bytes, 0) > 0;
      if (asked) ::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(peer);
      if (asked) return;
    }
  }

  asio::io_context loop_;
  asio::ip::tcp::acceptor acceptor_;
  std::array<asio::ip::tcp::socket, 3> fill_{
      asio::ip::tcp::socket(loop_), asio::ip::tcp::socket(loop_), asio::ip::tcp::socket(loop_)};
  std::jthread taker_;
};

size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

// Connections that the kernel keeps after their end, with this port at either side.
int left_in_kernel(uint16_t port) {
  std::ifstream table("/proc/net/tcp");
  const std::string wanted = fmt::format(":{:04X} ", port);
  int count = 0;
  for (std::string line; std::getline(table, line);) {
    count += line.contains(wanted) && line.substr(34, 2) == "06" ? 1 : 0;
  }
  return count;
}

TEST(TcpProber, AnOpenPortIsHealthyAndIsLeftWithAReset) {
  ScriptedApp app(ScriptedApp::Reply{});
  Probing probing;

  const Outcome outcome = probing.run(tcp_probe(app.port()));

  EXPECT_TRUE(outcome.healthy);
  EXPECT_EQ(outcome.reason, "connected");
  EXPECT_TRUE(eventually([&] { return app.resets() == 1; }, 5s));
  EXPECT_TRUE(app.requests().empty()) << "nothing is sent";
  EXPECT_EQ(left_in_kernel(app.port()), 0);
}

TEST(TcpProber, Ipv6AndHosts) {
  ScriptedApp app(ScriptedApp::Reply{}, true);
  Probing probing;
  Probe probe = tcp_probe(app.port());

  EXPECT_FALSE(probing.run(probe).healthy) << "not on 127.0.0.1";
  probe.host = "::1";
  EXPECT_TRUE(probing.run(probe).healthy);
}

TEST(TcpProber, ARefusedPortFailsAtOnce) {
  Probing probing;
  std::chrono::milliseconds took{};
  Probe probe = tcp_probe(free_ports(1)[0]);
  probe.timeout = 10s;

  const Outcome outcome = probing.timed(probe, took);

  EXPECT_FALSE(outcome.healthy);
  EXPECT_THAT(outcome.reason, StartsWith("HF7001"));
  EXPECT_LT(took, 5s);
}

TEST(TcpProber, APortThatSwallowsEverythingFailsAfterTheTimeout) {
  Blackhole hole;
  Probing probing;
  for (Probe probe : {tcp_probe(hole.port()), http_probe(hole.port())}) {
    std::chrono::milliseconds took{};
    probe.timeout = 1s;

    const Outcome outcome = probing.timed(probe, took);

    EXPECT_FALSE(outcome.healthy);
    EXPECT_THAT(outcome.reason, StartsWith("HF7002"));
    EXPECT_GE(took, 950ms);
    EXPECT_LT(took, 8s);
  }
}

// The kernel tries again after a second.
TEST(Prober, AConnectionThatComesLateIsStillAsked) {
  Blackhole hole;
  Probing probing;
  Probe probe = http_probe(hole.port());
  probe.timeout = 10s;
  std::optional<Outcome> outcome;
  asio::co_spawn(probing.driver().loop(), probing.prober().run(probe),
                 [&](const std::exception_ptr&, Outcome got) { outcome = std::move(got); });
  probing.driver().run_for(100ms);
  ASSERT_FALSE(outcome) << outcome->reason;

  hole.open_up(http_answer(204));

  ASSERT_TRUE(probing.driver().until([&] { return outcome.has_value(); }));
  EXPECT_TRUE(outcome->healthy) << outcome->reason;
  EXPECT_EQ(outcome->code, 204);
}

TEST(Prober, NothingStaysOnTheLoopWhenAProbeIsOver) {
  ScriptedApp app(ScriptedApp::Reply{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
  Probing probing;
  Probe hook{.action = probe::HttpGet{}, .port = app.port(), .hook = true};

  ASSERT_TRUE(probing.run(hook).healthy);

  // A daemon that stops waits for its loop to have nothing left.
  EXPECT_TRUE(probing.ends_within(5s));
}

TEST(Prober, CancellingClosesTheConnectionAtOnce) {
  ScriptedApp app(ScriptedApp::Reply{.hold = true});
  Probing probing;
  Probe probe = http_probe(app.port());
  probe.timeout = 30s;
  asio::cancellation_signal signal;
  std::optional<Outcome> outcome;
  asio::co_spawn(probing.driver().loop(), probing.prober().run(probe),
                 asio::bind_cancellation_slot(signal.slot(),
                                              [&](const std::exception_ptr& thrown, Outcome got) {
                                                EXPECT_EQ(thrown, nullptr);
                                                outcome = std::move(got);
                                              }));
  ASSERT_TRUE(probing.driver().until([&] { return app.requests().size() == 1; }));
  EXPECT_EQ(probing.stats().running, 1);

  signal.emit(asio::cancellation_type::terminal);

  ASSERT_TRUE(probing.driver().until([&] { return outcome.has_value(); }, 10s));
  EXPECT_FALSE(outcome->healthy);
  EXPECT_THAT(outcome->reason, StartsWith("HF7007"));
  EXPECT_TRUE(eventually([&] { return app.resets() == 1; }, 10s));
  EXPECT_EQ(probing.stats().cancelled, 1);
  EXPECT_EQ(probing.stats().failed, 0);
  EXPECT_EQ(probing.stats().running, 0);
}

TEST(Prober, BeyondTheLimitAProbeFailsAtOnceAndSaysSo) {
  ScriptedApp app(ScriptedApp::Reply{.hold = true});
  Probing probing({.max_running = 2});
  Probe probe = http_probe(app.port());
  probe.timeout = 1s;
  std::vector<Outcome> outcomes;
  for (int i = 0; i < 3; ++i) {
    asio::co_spawn(probing.driver().loop(), probing.prober().run(probe),
                   [&](const std::exception_ptr&, Outcome got) { outcomes.push_back(got); });
  }

  ASSERT_TRUE(probing.driver().until([&] { return !outcomes.empty(); }));
  EXPECT_THAT(outcomes[0].reason, StartsWith("HF7006"));
  EXPECT_EQ(probing.stats().refused_full, 1);
  ASSERT_TRUE(probing.driver().until([&] { return outcomes.size() == 3; }));
  EXPECT_EQ(probing.stats().failed, 2);
}

TEST(Prober, CountsWhatBecameOfEveryProbe) {
  ScriptedApp good({.bytes = http_answer(200)});
  ScriptedApp bad({.bytes = http_answer(503)});
  ScriptedApp cut({.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"});
  Probing probing;
  probing.run(http_probe(good.port()));
  probing.run(http_probe(bad.port()));
  probing.run(http_probe(cut.port()));

  EXPECT_EQ(probing.stats().started, 3);
  EXPECT_EQ(probing.stats().healthy, 1);
  EXPECT_EQ(probing.stats().failed, 1);
  EXPECT_EQ(probing.stats().errors, 1);
  EXPECT_EQ(probing.stats().running, 0);
}

TEST(Prober, AThousandProbesLeaveNothingBehind) {
  ScriptedApp app({.bytes = http_answer(200)});
  Probing probing;
  probing.run(http_probe(app.port()));
  ASSERT_TRUE(eventually([&] { return app.connections() == 1; }, 5s));
  const size_t before = open_files();

  Probe http = http_probe(app.port());
  Probe tcp = tcp_probe(app.port());
  http.timeout = tcp.timeout = 20s;
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(probing.run(http).healthy);
    ASSERT_TRUE(probing.run(tcp).healthy);
  }

  EXPECT_TRUE(eventually([&] { return open_files() <= before; }, 5s));
  EXPECT_LE(left_in_kernel(app.port()), 1);
}

TEST(Prober, EveryConnectionComesFromTheSourceThatIsSet) {
  ScriptedApp app({.bytes = http_answer(200)});
  Probing probing({.source = "127.0.0.6"});

  EXPECT_TRUE(probing.run(http_probe(app.port())).healthy);
  EXPECT_TRUE(probing.run(tcp_probe(app.port())).healthy);
  ASSERT_TRUE(eventually([&] { return app.peers().size() == 2; }, 20s));
  EXPECT_THAT(app.peers(), testing::ElementsAre("127.0.0.6", "127.0.0.6"));
  // Of the other family, it is none; an address that this machine does not have is a failure.
  ScriptedApp other({.bytes = http_answer(200)}, true);
  Probe elsewhere = tcp_probe(other.port());
  elsewhere.host = "::1";
  EXPECT_TRUE(probing.run(elsewhere).healthy);
  Probing foreign({.source = "192.0.2.1"});
  EXPECT_THAT(foreign.run(tcp_probe(app.port())).reason, StartsWith("HF7001"));
}

}  // namespace
}  // namespace holdfast::test
