// Datagrams, IPv6, and IPv4 within IPv6: translated there and back, and counted by socket.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>

#include "support/child_process.h"
#include "support/eventually.h"
#include "track_world.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

track::ServiceSpec udp(const std::string& address, const std::vector<track::Backend>& backends) {
  return {.vip = track::make_vip(endpoint(address, 53), track::Protocol::Udp),
          .zone_order = {1},
          .backends = backends};
}

track::ServiceSpec tcp(const std::string& address, const std::vector<track::Backend>& backends) {
  return {.vip = track::make_vip(endpoint(address, 80), track::Protocol::Tcp),
          .zone_order = {1},
          .backends = backends};
}

// Answers one datagram with "to " and what it said.
void answer(const Socket& server) {
  std::array<char, 256> bytes{};
  sockaddr_storage from{};
  socklen_t length = sizeof(from);
  const ssize_t got = ::recvfrom(server.get(), bytes.data(), bytes.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &length);
  ASSERT_GT(got, 0);
  const std::string text = "to " + std::string(bytes.data(), static_cast<size_t>(got));
  ::sendto(server.get(), text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
}

class TrackUdp : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TrackWorld::why_not(); !why.empty()) GTEST_SKIP() << why;
    world.emplace();
    server = bound_udp("127.0.0.1");
    other = bound_udp("127.0.0.1");
    world->serve({udp("10.96.0.1", {backend(server)}), udp("10.96.0.2", {backend(other)})});
  }

  // An audit ends what was not used since the last tick.
  void end_idle_at_once() {
    hf_settings settings = *world->pins->settings();
    settings.udp_idle_ns = 1;
    ASSERT_TRUE(world->pins->change_settings(settings).ok());
  }
  static void disconnect(const Socket& socket) {
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    ASSERT_EQ(::connect(socket.get(), &nobody, sizeof(nobody)), 0);
  }

  std::optional<TrackWorld> world;
  Socket server;
  Socket other;
};

TEST_F(TrackUdp, AConnectedSocketIsOneConnectionUntilItIsClosed) {
  Socket mine = udp_socket();
  ASSERT_EQ(try_connect(mine, "10.96.0.1", 53), 0);
  EXPECT_EQ(peer_name(mine), "10.96.0.1:53");
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(::send(mine.get(), "a", 1, 0), 1);
    answer(server);
    std::string from;
    EXPECT_EQ(received(mine, &from), "to a");
    EXPECT_EQ(from, "10.96.0.1:53");
  }
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));

  mine = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

TEST_F(TrackUdp, AnUnconnectedSocketIsOneConnectionForEachVipItTalksTo) {
  Socket mine = udp_socket();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(send_text(mine, "a", endpoint("10.96.0.1", 53)), 1);
    answer(server);
    std::string from;
    EXPECT_EQ(received(mine, &from), "to a");
    EXPECT_EQ(from, "10.96.0.1:53");
    ASSERT_EQ(send_text(mine, "b", endpoint("10.96.0.2", 53)), 1);
    answer(other);
    EXPECT_EQ(received(mine, &from), "to b");
    EXPECT_EQ(from, "10.96.0.2:53");
  }
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));
  EXPECT_EQ(world->counts(1, 1), (Opened{.opened = 1, .closed = 0}));

  mine = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}, 1, 1));
}

TEST_F(TrackUdp, ASocketStaysWithItsBackendUntilThatIsRemoved) {
  std::vector<track::Backend> both = {backend(server), backend(other)};
  world->serve({udp("10.96.0.1", both)});
  Socket mine = udp_socket();
  std::set<std::string> seen;
  for (int i = 0; i < 20; ++i) send_text(mine, "x", endpoint("10.96.0.1", 53));
  const auto count = [](const Socket& socket) {
    int datagrams = 0;
    while (::recv(socket.get(), nullptr, 0, MSG_DONTWAIT) >= 0) ++datagrams;
    return datagrams;
  };
  const int at_server = count(server);
  const int at_other = count(other);
  EXPECT_EQ(at_server + at_other, 20);
  EXPECT_EQ(at_server * at_other, 0) << "one of them got all";

  world->serve({udp("10.96.0.1", {at_server > 0 ? both[1] : both[0]})});
  for (int i = 0; i < 20; ++i) send_text(mine, "x", endpoint("10.96.0.1", 53));

  EXPECT_EQ(count(at_server > 0 ? other : server), 20) << "not stuck with the one that is gone";
  EXPECT_TRUE(world->comes_to({.opened = 2, .closed = 1}));
}

TEST_F(TrackUdp, AFifthVipReplacesTheOneLongestUnused) {
  std::vector<track::ServiceSpec> five;
  for (int i = 1; i <= 5; ++i) five.push_back(udp(fmt::format("10.96.0.{}", i), {backend(server)}));
  world->serve(five);
  Socket mine = udp_socket();
  for (int i = 1; i <= 5; ++i) {
    send_text(mine, "x", endpoint(fmt::format("10.96.0.{}", i), 53));
    let_pass(10ms);  // the kernel's coarse clock moves on
  }

  EXPECT_EQ(world->counts(1, 0), (Opened{.opened = 1, .closed = 1}));
  EXPECT_EQ(world->counts(1, 4), (Opened{.opened = 1, .closed = 0}));
  EXPECT_EQ(world->pins->stats()->replaced, 1U);
}

TEST_F(TrackUdp, ConnectingElsewhereEndsTheFirst) {
  Socket mine = udp_socket();
  ASSERT_EQ(try_connect(mine, "10.96.0.1", 53), 0);
  ASSERT_EQ(try_connect(mine, "10.96.0.2", 53), 0);

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 0}, 1, 1));
  EXPECT_EQ(peer_name(mine), "10.96.0.2:53");
}

TEST_F(TrackUdp, AKilledProcessIsCounted) {
  Forked child([] {
    const Socket mine = udp_socket();
    try_connect(mine, "10.96.0.1", 53);
    return ::pause();
  });
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 0}));

  child.kill();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

TEST_F(TrackUdp, ABackendThatIsNotThereIsRefusedAsWithoutUs) {
  const uint16_t nobody = port_of(bound_udp("127.0.0.1"));
  world->serve({udp("10.96.0.1", {{.at = endpoint("127.0.0.1", nobody), .zone = 1}})});
  Socket mine = udp_socket();
  ASSERT_EQ(try_connect(mine, "10.96.0.1", 53), 0);
  ASSERT_EQ(::send(mine.get(), "a", 1, 0), 1);

  EXPECT_EQ(::recv(mine.get(), nullptr, 0, 0), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
  mine = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

TEST_F(TrackUdp, WhatNobodyUsesForTooLongEndsInTheAudit) {
  hf_settings settings = *world->pins->settings();
  settings.udp_idle_ns = 50'000'000;
  ASSERT_TRUE(world->pins->change_settings(settings).ok());
  Socket mine = udp_socket();
  send_text(mine, "a", endpoint("10.96.0.1", 53));
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));

  EXPECT_TRUE(eventually([&] { return world->alive() == 0; }, 5s));

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
  send_text(mine, "a", endpoint("10.96.0.1", 53));
  EXPECT_EQ(world->counts(), (Opened{.opened = 2, .closed = 1})) << "it may go on";
}

// What it sends passes no program, so only its being connected tells that it is used.
TEST_F(TrackUdp, AConnectedSocketIsNeverIdle) {
  end_idle_at_once();
  Socket mine = udp_socket();
  ASSERT_EQ(try_connect(mine, "10.96.0.1", 53), 0);
  const Socket loose = udp_socket();
  ASSERT_EQ(send_text(loose, "b", endpoint("10.96.0.2", 53)), 1);

  EXPECT_TRUE(eventually([&] { return world->alive() == 1; }, 5s)) << "each listing is an audit";

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}, 1, 1)) << "the one that is not connected";
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));
  ASSERT_EQ(::send(mine.get(), "a", 1, 0), 1);
  answer(server);
  EXPECT_EQ(received(mine), "to a");
  EXPECT_EQ(world->alive(), 1U);
  mine = Socket();
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

// Nobody is told of it: it is seen when the socket is closed, or idle.
TEST_F(TrackUdp, ASocketThatIsDisconnectedIsCountedToItsCloseOrUntilItIsIdle) {
  Socket mine = udp_socket();
  ASSERT_EQ(try_connect(mine, "10.96.0.1", 53), 0);
  disconnect(mine);
  EXPECT_EQ(peer_name(mine), "");
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));
  mine = Socket();
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));

  mine = udp_socket();
  ASSERT_EQ(try_connect(mine, "10.96.0.1", 53), 0);
  disconnect(mine);
  end_idle_at_once();

  EXPECT_TRUE(eventually([&] { return world->alive() == 0; }, 5s));
  EXPECT_TRUE(world->comes_to({.opened = 2, .closed = 2}));
}

TEST_F(TrackUdp, AnAnswerIsAUseToo) {
  std::vector<track::ServiceSpec> five = {udp("10.96.0.1", {backend(other)})};
  for (int i = 2; i <= 5; ++i) five.push_back(udp(fmt::format("10.96.0.{}", i), {backend(server)}));
  world->serve(five);
  const Socket mine = udp_socket();
  for (int i = 1; i <= 4; ++i) {
    send_text(mine, "x", endpoint(fmt::format("10.96.0.{}", i), 53));
    let_pass(20ms);  // the kernel's coarse clock moves on
  }
  answer(other);
  EXPECT_EQ(received(mine), "to x");

  send_text(mine, "x", endpoint("10.96.0.5", 53));

  EXPECT_EQ(world->counts(1, 0), (Opened{.opened = 1, .closed = 0}));
  EXPECT_EQ(world->counts(1, 1), (Opened{.opened = 1, .closed = 1})) << "longest unused";
}

TEST_F(TrackUdp, TwoProcessesSendingOverOneSocketOpenItOnce) {
  for (uint32_t round = 1; round <= 20; ++round) {
    const Socket mine = udp_socket();
    const auto send_many = [&] {
      for (int i = 0; i < 200; ++i) send_text(mine, "x", endpoint("10.96.0.1", 53));
      return 0;
    };
    Forked one(send_many);
    Forked two(send_many);
    one.wait();
    two.wait();
  }

  const Opened counts = world->counts();
  EXPECT_TRUE(eventually([&] { return world->counts().closed == counts.opened; }, 5s));
  EXPECT_GE(counts.opened, 20U);
  EXPECT_LE(counts.opened, 40U) << "both may have opened one at the same moment, never more";
}

// More VIPs than a socket has flows: what one process ends another fills at the same moment.
TEST_F(TrackUdp, FlowsThatProcessesTakeFromEachOtherEndUnderTheirOwnService) {
  constexpr uint32_t kVips = 8;
  std::vector<track::ServiceSpec> services;
  std::vector<track::Endpoint> vips;
  for (uint32_t i = 0; i < kVips; ++i) {
    services.push_back(udp(fmt::format("10.96.0.{}", i + 1), {backend(server)}));
    vips.push_back(endpoint(fmt::format("10.96.0.{}", i + 1), 53));
  }
  world->serve(services);
  {
    const Socket mine = udp_socket();
    std::vector<Forked> senders;
    for (const uint32_t stride : {1U, 3U, 5U}) {
      senders.emplace_back([&, stride] {
        for (uint32_t i = 0; i < 20'000; ++i) send_text(mine, "x", vips[i * stride % kVips]);
        return 0;
      });
    }
    for (Forked& sender : senders) EXPECT_EQ(sender.wait(), 0);
  }

  for (int i = 0; i < static_cast<int>(kVips); ++i) {
    const track::CounterSample end = world->sample(1, i);
    EXPECT_GT(end.counts.opened, 0U) << i;
    EXPECT_EQ(end.counts.opened, end.counts.closed) << i;
    EXPECT_EQ(end.reserved, 0U) << i;
  }
}

TEST_F(TrackUdp, AConnectedSocketOverIPv6) {
  const Socket six = bound_udp("::1");
  world->serve({udp("fd00::1", {backend(six)})});
  Socket mine = udp_socket(AF_INET6);
  ASSERT_EQ(try_connect(mine, "fd00::1", 53), 0);
  EXPECT_EQ(peer_name(mine), "[fd00::1]:53");
  ASSERT_EQ(::send(mine.get(), "a", 1, 0), 1);
  answer(six);
  std::string from;
  EXPECT_EQ(received(mine, &from), "to a");
  EXPECT_EQ(from, "[fd00::1]:53");
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));

  mine = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

TEST_F(TrackUdp, IPv6OverUdpAndTcp) {
  const Socket six = bound_udp("::1");
  const Socket listener = listen_on("::1");
  world->serve({udp("fd00::1", {backend(six)}), tcp("fd00::1", {backend(listener)})});

  Socket datagrams = udp_socket(AF_INET6);
  ASSERT_EQ(send_text(datagrams, "a", endpoint("fd00::1", 53)), 1);
  answer(six);
  std::string from;
  EXPECT_EQ(received(datagrams, &from), "to a");
  EXPECT_EQ(from, "[fd00::1]:53");
  Socket stream = connected("fd00::1", 80);
  EXPECT_EQ(peer_name(stream), "[fd00::1]:80");
  datagrams = Socket();
  stream = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}, 1, 0));
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}, 1, 1));
}

TEST_F(TrackUdp, IPv4WithinIPv6IsTheSameService) {
  const Socket listener = listen_on("127.0.0.1");
  world->serve({udp("10.96.0.1", {backend(server)}), tcp("10.96.0.1", {backend(listener)})});

  Socket datagrams = udp_socket(AF_INET6);
  Socket stream = tcp_socket(AF_INET6);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(53);
  ASSERT_EQ(try_connect(stream, "::ffff:10.96.0.1", 80), 0);
  EXPECT_EQ(peer_name(stream), "[::ffff:10.96.0.1]:80");
  ASSERT_EQ(try_connect(datagrams, "::ffff:10.96.0.1", 53), 0);
  ASSERT_EQ(::send(datagrams.get(), "a", 1, 0), 1);
  answer(server);
  std::string from;
  EXPECT_EQ(received(datagrams, &from), "to a");
  EXPECT_EQ(from, "[::ffff:10.96.0.1]:53");
  datagrams = Socket();
  stream = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}, 1, 0));
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}, 1, 1));
}

TEST_F(TrackUdp, DatagramsOfIPv4FromAnIPv6SocketThatIsNotConnected) {
  const Socket mine = udp_socket(AF_INET6);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(53);
  const Socket probe = udp_socket(AF_INET6);
  ASSERT_EQ(try_connect(probe, "::ffff:10.96.0.2", 53), 0);
  socklen_t length = sizeof(to);
  ASSERT_EQ(::getpeername(probe.get(), reinterpret_cast<sockaddr*>(&to), &length), 0);

  ASSERT_EQ(::sendto(mine.get(), "a", 1, 0, reinterpret_cast<sockaddr*>(&to), length), 1);
  answer(other);

  std::string from;
  EXPECT_EQ(received(mine, &from), "to a");
  EXPECT_EQ(from, "[::ffff:10.96.0.2]:53");
}

TEST_F(TrackUdp, WhatIsNoVipPassesUntouched) {
  const Socket mine = udp_socket();
  ASSERT_EQ(send_text(mine, "a", endpoint("127.0.0.1", port_of(server))), 1);
  answer(server);

  std::string from;
  EXPECT_EQ(received(mine, &from), "to a");
  EXPECT_EQ(from, fmt::format("127.0.0.1:{}", port_of(server)));
  EXPECT_EQ(world->counts(), Opened{});
}

TEST_F(TrackUdp, NetcatSpeaksToAVip) {
  Forked echo([this] {
    answer(server);
    return 0;
  });

  const ProgramResult nc = run_program({"sh", "-c", "printf hello | nc -u -w 1 10.96.0.1 53"}, 10s);

  EXPECT_EQ(nc.output, "to hello");
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

}  // namespace
}  // namespace holdfast::test
