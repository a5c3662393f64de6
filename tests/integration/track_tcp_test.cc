// The life of TCP connections as the kernel counts it: every way to begin and to end one.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "support/child_process.h"
#include "support/eventually.h"
#include "track_world.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kTrackTcpVip = "10.96.0.1";

class TrackTcp : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TrackWorld::why_not(); !why.empty()) GTEST_SKIP() << why;
    world.emplace();
    listener = listen_on("127.0.0.1");
    world->serve({backend(listener)});
  }
  void TearDown() override {
    if (!world) return;
    EXPECT_TRUE(eventually([this] { return world->alive() == 0; }, 5s)) << "no flow is left";
    EXPECT_TRUE(eventually([this] { return world->sample().reserved == 0; }, 5s));
  }

  Socket client() { return connected(kTrackTcpVip, 80); }
  uint32_t failures() {
    const hf_failures by_cause = world->sample().failures;
    return by_cause.refused + by_cause.timed_out + by_cause.reset + by_cause.gave_up + by_cause.cut;
  }

  // Of the clients' sockets, those with the lower ports; how many that were. They are next to each
  // other from anywhere on, so the one in the middle is looked up.
  uint32_t destroy_half(uint32_t clients) {
    const std::string ours =
        fmt::format("state established dst 127.0.0.1 dport = :{}", port_of(listener));
    const std::string script = fmt::format(
        "middle=$(ss -Htn {0} | awk '{{sub(/.*:/, \"\", $3); print $3}}' | sort -n | sed -n {1}p)\n"
        "ss -KHtn {0} sport lt :$middle | wc -l",
        ours, clients / 2);
    const ProgramResult result = run_program({"sh", "-c", script}, 60s);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return static_cast<uint32_t>(std::strtoul(result.output.c_str(), nullptr, 10));
  }

  std::optional<TrackWorld> world;
  Socket listener;
};

TEST_F(TrackTcp, ClosedByTheClientFirst) {
  for (int i = 0; i < 50; ++i) {
    Socket mine = client();
    Socket theirs = accepted(listener);
    EXPECT_EQ(peer_name(mine), "10.96.0.1:80");
    mine = Socket();
  }

  EXPECT_TRUE(world->comes_to({.opened = 50, .closed = 50}));
  EXPECT_EQ(failures(), 0U);
}

TEST_F(TrackTcp, ClosedByTheServerFirst) {
  for (int i = 0; i < 20; ++i) {
    Socket mine = client();
    accepted(listener);
    EXPECT_EQ(received(mine), "");
  }

  EXPECT_TRUE(world->comes_to({.opened = 20, .closed = 20}));
  EXPECT_EQ(failures(), 0U);
}

TEST_F(TrackTcp, OpenWhileItIsOpen) {
  std::vector<Socket> sockets;
  for (int i = 0; i < 10; ++i) {
    sockets.push_back(client());
    sockets.push_back(accepted(listener));
  }
  EXPECT_TRUE(world->comes_to({.opened = 10, .closed = 0}));
  EXPECT_EQ(world->alive(), 10U);

  sockets.clear();

  EXPECT_TRUE(world->comes_to({.opened = 10, .closed = 10}));
}

TEST_F(TrackTcp, ResetByTheServerEndsItAlthoughTheClientKeepsItsSocket) {
  std::vector<Socket> clients;
  for (int i = 0; i < 15; ++i) {
    clients.push_back(client());
    Socket theirs = accepted(listener);
    reset_on_close(theirs);
  }

  EXPECT_TRUE(world->comes_to({.opened = 15, .closed = 15}));
  EXPECT_EQ(world->sample().failures.cut, 15U);
}

TEST_F(TrackTcp, ResetByTheClient) {
  for (int i = 0; i < 15; ++i) {
    Socket mine = client();
    accepted(listener);
    reset_on_close(mine);
  }

  EXPECT_TRUE(world->comes_to({.opened = 15, .closed = 15}));
}

TEST_F(TrackTcp, AFinThatAResetFollowsIsOneEnd) {
  Socket mine = client();
  Socket theirs = accepted(listener);
  ::shutdown(mine.get(), SHUT_WR);
  EXPECT_EQ(received(theirs), "");
  reset_on_close(theirs);
  theirs = Socket();
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1})) << "the client's FIN, a reset by both";
  reset_on_close(mine);
  mine = Socket();

  mine = client();
  theirs = accepted(listener);
  mine = Socket();
  EXPECT_EQ(received(theirs), "");
  reset_on_close(theirs);
  theirs = Socket();
  EXPECT_TRUE(world->comes_to({.opened = 2, .closed = 2})) << "to a socket that nobody has";

  mine = client();
  theirs = accepted(listener);
  theirs = Socket();
  EXPECT_EQ(received(mine), "");
  reset_on_close(mine);
  mine = Socket();
  EXPECT_TRUE(world->comes_to({.opened = 3, .closed = 3})) << "the server's FIN, a client's reset";
}

TEST_F(TrackTcp, ClientsThatAreKilled) {
  Forked child([] {
    std::vector<Socket> held;
    for (int i = 0; i < 10; ++i) held.push_back(connected(kTrackTcpVip, 80));
    return ::pause();
  });
  EXPECT_TRUE(world->comes_to({.opened = 10, .closed = 0}));

  child.kill();

  EXPECT_TRUE(world->comes_to({.opened = 10, .closed = 10}));
}

TEST_F(TrackTcp, ASocketSharedOverForkEndsWithItsLastOwner) {
  Socket mine = client();
  Forked child([] { return ::pause(); });
  mine = Socket();
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));

  child.kill();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

int send_descriptor(int over, int descriptor) {
  char byte = 0;
  iovec data{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  return static_cast<int>(::sendmsg(over, &message, 0));
}

int receive_descriptor(int over) {
  char byte = 0;
  iovec data{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(over, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  return descriptor;
}

TEST_F(TrackTcp, ASocketReceivedByAProcessOutsideTheCgroupIsUsedAndEndsThere) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const Socket own(pair[0]);
  const Socket other(pair[1]);
  Forked child([&] {
    world->leave_cgroup();
    const Socket got(receive_descriptor(other.get()));
    return ::send(got.get(), "mine now", 8, 0) == 8 ? ::pause() : 1;
  });
  Socket mine = client();
  const Socket theirs = accepted(listener);
  ASSERT_EQ(send_descriptor(own.get(), mine.get()), 1);
  mine = Socket();
  EXPECT_EQ(received(theirs), "mine now");
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));

  child.kill();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
  EXPECT_EQ(failures(), 0U);
}

TEST_F(TrackTcp, ASocketPassedToAProcessOutsideTheCgroupEndsThere) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const Socket own(pair[0]);
  Socket other(pair[1]);
  // It never reads: the descriptor stays in its queue, which is where it lives until it dies.
  Forked child([this] {
    world->leave_cgroup();
    return ::pause();
  });
  Socket mine = client();
  ASSERT_EQ(send_descriptor(own.get(), mine.get()), 1);
  mine = Socket();
  other = Socket();
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));

  child.kill();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

TEST_F(TrackTcp, AProcessThatLeavesTheCgroupKeepsWhatItOpened) {
  Socket mine = client();
  world->leave_cgroup();
  mine = Socket();
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));

  Socket outside = tcp_socket();
  EXPECT_NE(try_connect(outside, kTrackTcpVip, 80), 0) << "nobody translates there";

  world->enter_cgroup();
}

TEST_F(TrackTcp, ASocketMadeBeforeItsProcessJoinedIsNotSeen) {
  world->leave_cgroup();
  const Socket early = tcp_socket();
  world->enter_cgroup();

  EXPECT_NE(try_connect(early, kTrackTcpVip, 80), 0) << "nobody translates it";
  EXPECT_EQ(world->counts(), Opened{});
  EXPECT_EQ(world->sample().reserved, 0U);
}

// Hooks belong to the cgroup. Loopback is another one there: first nobody listens, then its own.
TEST_F(TrackTcp, AProcessOfTheCgroupInAnotherNetworkIsTranslatedAndCountedToo) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port_of(listener));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Forked child([&] {
    if (::unshare(CLONE_NEWNET) != 0) return 1;
    if (run_program({"ip", "link", "set", "lo", "up"}, 10s).exit_code != 0) return 2;
    if (try_connect(tcp_socket(), kTrackTcpVip, 80) == 0 || errno != ECONNREFUSED) return 3;
    const Socket own = tcp_socket();
    if (::bind(own.get(), reinterpret_cast<sockaddr*>(&at), sizeof(at)) != 0) return 4;
    if (::listen(own.get(), 5) != 0) return 5;
    const Socket mine = tcp_socket();
    if (try_connect(mine, kTrackTcpVip, 80) != 0) return 6;
    return peer_name(mine) == "10.96.0.1:80" ? 0 : 7;
  });

  EXPECT_EQ(child.wait(), 0);
  EXPECT_TRUE(world->comes_to({.opened = 2, .closed = 2}));
  EXPECT_EQ(world->sample().failures.refused, 1U);
}

TEST_F(TrackTcp, ShutDownBothWaysEndsItAndOneWayDoesNot) {
  Socket mine = client();
  Socket theirs = accepted(listener);
  ::shutdown(mine.get(), SHUT_WR);
  EXPECT_EQ(received(theirs), "");
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0})) << "the other way is open";

  ::shutdown(theirs.get(), SHUT_WR);

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1})) << "although both are still held";
}

TEST_F(TrackTcp, ShutDownBothWaysByTheClientEndsItWithTheServersEnd) {
  const Socket mine = client();
  Socket theirs = accepted(listener);
  ::shutdown(mine.get(), SHUT_RDWR);
  EXPECT_EQ(received(theirs), "");
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0})) << "the server has not ended it";

  theirs = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1})) << "although the client's is held";
  EXPECT_EQ(failures(), 0U);
}

TEST_F(TrackTcp, ClosedAfterShuttingDownItsOwnWayIsClosedAtOnce) {
  Socket mine = client();
  Socket theirs = accepted(listener);
  ::shutdown(mine.get(), SHUT_WR);
  EXPECT_EQ(received(theirs), "");

  mine = Socket();  // in FIN_WAIT2: the server's way is open still

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

// With this setting the kernel keeps the whole socket in FIN_WAIT2 for two minutes; otherwise it
// does so now and then.
TEST_F(TrackTcp, WhatTheKernelKeepsAfterTheLastDescriptorIsClosedAtOnce) {
  std::ofstream("/proc/sys/net/ipv4/tcp_fin_timeout") << 120 << std::flush;
  std::vector<Socket> theirs;
  for (int i = 0; i < 10; ++i) {
    Socket mine = client();
    theirs.push_back(accepted(listener));
    if (i % 2 == 0) continue;
    ::shutdown(mine.get(), SHUT_WR);
    EXPECT_EQ(received(theirs.back()), "");
  }

  EXPECT_TRUE(world->comes_to({.opened = 10, .closed = 10}));
  EXPECT_EQ(world->alive(), 0U);
  std::ofstream("/proc/sys/net/ipv4/tcp_fin_timeout") << 60 << std::flush;
}

TEST_F(TrackTcp, ConnectingWithoutBlockingAgainAndAgainIsOneConnection) {
  Socket mine = tcp_socket();
  ::fcntl(mine.get(), F_SETFL, O_NONBLOCK);
  for (int i = 0; i < 3; ++i) try_connect(mine, kTrackTcpVip, 80);
  Socket theirs = accepted(listener);
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));

  mine = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

TEST_F(TrackTcp, ASocketThatIsDisconnectedAndConnectedAgainIsTwoConnections) {
  Socket mine = client();
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  ASSERT_EQ(::connect(mine.get(), &nobody, sizeof(nobody)), 0);
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));

  ASSERT_EQ(try_connect(mine, kTrackTcpVip, 80), 0);
  EXPECT_EQ(world->counts(), (Opened{.opened = 2, .closed = 1}));
  mine = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 2, .closed = 2}));
}

TEST_F(TrackTcp, AnAttemptThatFailsBeforeAnyPacketIsNotAConnection) {
  const int on = 1;
  sockaddr_in from{};
  from.sin_family = AF_INET;
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::array<Socket, 2> sockets = {tcp_socket(), tcp_socket()};
  for (Socket& socket : sockets) {
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&from), sizeof(from)), 0);
    from.sin_port = htons(port_of(socket));
  }
  ASSERT_EQ(try_connect(sockets[0], kTrackTcpVip, 80), 0);

  EXPECT_EQ(try_connect(sockets[1], kTrackTcpVip, 80), -1);
  EXPECT_EQ(errno, EADDRNOTAVAIL);

  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));
  EXPECT_EQ(world->sample().reserved, 2U) << "its place is held by the socket";
  sockets[1] = Socket();
  EXPECT_EQ(world->sample().reserved, 1U);
}

TEST_F(TrackTcp, FastOpenIsOneConnection) {
  Socket mine = tcp_socket();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(80);
  to.sin_addr.s_addr = htonl(0x0a600001);
  ASSERT_EQ(
      ::sendto(mine.get(), "hello", 5, MSG_FASTOPEN, reinterpret_cast<sockaddr*>(&to), sizeof(to)),
      5);
  EXPECT_EQ(received(accepted(listener)), "hello");
  mine = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

TEST_F(TrackTcp, MultipathIsOneConnection) {
  Socket mine(::socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP));
  if (!mine.is_open()) GTEST_SKIP() << "this kernel has no MPTCP";
  ASSERT_EQ(try_connect(mine, kTrackTcpVip, 80), 0);
  Socket theirs = accepted(listener);
  EXPECT_EQ(peer_name(mine), fmt::format("127.0.0.1:{}", port_of(listener))) << "a known edge";
  mine = Socket();
  theirs = Socket();

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

TEST_F(TrackTcp, CountersThatWrapGoOnCounting) {
  const track::CounterSample now = world->sample();
  const hf_counts high{.opened = 0xfffffff6, .closed = 0xfffffff6};
  ASSERT_TRUE(world->pins
                  ->apply(std::vector<track::MapWrite>{{.map = track::MapName::Counters,
                                                        .key = track::to_bytes(now.key),
                                                        .value = track::to_bytes(high)}})
                  .ok());
  track::Totals totals;
  totals.update(std::vector{world->sample()});

  for (int i = 0; i < 30; ++i) {
    Socket mine = client();
    accepted(listener);
  }

  EXPECT_TRUE(world->comes_to({.opened = 20, .closed = 20}));
  totals.update(std::vector{world->sample()});
  EXPECT_EQ(totals.rows().at(now.key).opened, 0xfffffff6ULL + 30);
}

TEST_F(TrackTcp, RealProgramsAreTranslatedAndCounted) {
  const uint16_t web_port = port_of(listen_on("127.0.0.1"));
  const std::string serve = fmt::format(
      "from http.server import *\n"
      "ThreadingHTTPServer.request_queue_size = 512\n"
      "ThreadingHTTPServer(('127.0.0.1', {}), SimpleHTTPRequestHandler).serve_forever()",
      web_port);
  ChildProcess web({.arguments = {"/usr/bin/python3", "-c", serve}, .output_file = "/dev/null"});
  ASSERT_TRUE(
      eventually([&] { return try_connect(tcp_socket(), "127.0.0.1", web_port) == 0; }, 10s));
  world->serve({{.at = endpoint("127.0.0.1", web_port), .zone = 1}});

  const ProgramResult curl = run_program(
      {"curl", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{remote_ip}", "http://10.96.0.1/"},
      10s);
  EXPECT_EQ(curl.output, "200 10.96.0.1");
  const ProgramResult nc =
      run_program({"sh", "-c", "printf 'HEAD / HTTP/1.0\\r\\n\\r\\n' | nc -N 10.96.0.1 80"}, 10s);
  EXPECT_TRUE(nc.output.starts_with("HTTP/1.0 200")) << nc.output;
  const ProgramResult python = run_program(
      {"/usr/bin/python3", "-c",
       "import socket\ns=socket.create_connection(('10.96.0.1',80))\nprint(s.getpeername())"},
      10s);
  EXPECT_EQ(python.output, "('10.96.0.1', 80)\n");

  EXPECT_TRUE(world->comes_to({.opened = 3, .closed = 3}));

  // 50 at a time, each for one request: the server speaks HTTP/1.0.
  const ProgramResult wrk = run_program({"wrk", "-t2", "-c50", "-d2s", "http://10.96.0.1/"}, 60s);
  EXPECT_EQ(wrk.exit_code, 0) << wrk.output;
  EXPECT_TRUE(eventually(
      [&] { return world->counts().opened == world->counts().closed && world->alive() == 0; }, 60s))
      << world->counts().opened << "/" << world->counts().closed;
  EXPECT_GT(world->counts().opened, 3U + 50U) << wrk.output;
}

TEST_F(TrackTcp, ThousandsThatAreKilledOrDestroyedAreAllCounted) {
  constexpr uint32_t kEach = 4000;
  Forked server([this] {
    for (std::vector<Socket> held;;) held.push_back(accepted(listener));
    return 0;
  });
  for (uint32_t round = 1; round <= 2; ++round) {
    Forked child([] {
      std::vector<Socket> held;
      for (uint32_t i = 0; i < kEach; ++i) held.push_back(connected(kTrackTcpVip, 80));
      return ::pause();
    });
    const uint32_t before = kEach * (round - 1);
    ASSERT_TRUE(eventually([&] { return world->counts().opened == before + kEach; }, 30s));
    const uint32_t destroyed = destroy_half(kEach);
    EXPECT_GT(destroyed, 0U);
    EXPECT_TRUE(eventually([&] { return world->counts().closed == before + destroyed; }, 30s))
        << world->counts().closed << " closed, " << before + destroyed << " destroyed";
    child.kill();

    EXPECT_TRUE(world->comes_to({.opened = before + kEach, .closed = before + kEach}))
        << world->counts().opened << "/" << world->counts().closed;
  }
}

}  // namespace
}  // namespace holdfast::test
