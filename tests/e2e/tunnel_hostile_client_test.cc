// Hostile clients of a real proxy, and an application and an agent that stand still: by a TCP port,
// by SNI and by CONNECT.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "e2e/hostile_peer.h"
#include "e2e/hostile_world.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class HostileClient : public Hostile {
 protected:
  ~HostileClient() override {
    for (const int socket : sockets_) ::close(socket);
  }
  int connect(uint16_t port, const std::string& source = kStranger) {
    const int socket = connect_from(source, port);
    if (socket >= 0) sockets_.push_back(socket);
    return socket;
  }
  static void send(int socket, std::string_view bytes) {
    (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  size_t refusals(const std::string& listener) {
    size_t all = 0;
    for (const char* code : {"HF2301", "HF2302", "HF2303", "HF2307", "HF2308"}) {
      all += static_cast<size_t>(metric(
          "px-0", fmt::format("holdfast_ingress_refusals_total{{code=\"{}\",listener=\"{}\"}}",
                              code, listener)));
    }
    return all;
  }

 private:
  std::vector<int> sockets_;
};

TEST_F(HostileClient, OneAddressCannotTakeAllConnectionsOfAProxy) {
  Bystanders others(world(), "px-small", {world().small});

  for (int i = 0; i < 400; ++i) connect(world().small);

  EXPECT_TRUE(eventually(
      [&] { return sum("px-small", "holdfast_ingress_turned_away_connections_total") >= 100; },
      15s));
  let_pass(3s);
  others.expect_unharmed("400 connections of one client");
}

TEST_F(HostileClient, ThousandsOfConnectionsThatComeAndGoAreServedBesideOthers) {
  Bystanders others = bystanders();
  const uint16_t port = fleet.ports("px-0").ingress[0];

  for (int i = 0; i < 4'000; ++i) {
    const int socket = connect_from(kStranger, port);
    if (socket < 0) continue;
    const linger none{.l_onoff = 1, .l_linger = 0};  // the kernel sends a reset
    if (i % 2 == 0) ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    ::close(socket);
  }

  others.expect_unharmed("4000 connections that end at once");
}

TEST_F(HostileClient, TlsThatIsNoneIsRefusedAndCounted) {
  Bystanders others = bystanders();
  const size_t before = refusals("sni");
  const std::string_view hellos[] = {
      "GET / HTTP/1.1\r\n\r\n",
      std::string_view("\x16\x03\x01\xff\xff\x01\x00\xff\xff", 9),
      std::string_view("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 10),
      std::string_view("\x15\x03\x01\x00\x02\x02\x28", 7),
  };

  for (int i = 0; i < 50; ++i) {
    for (const std::string_view hello : hellos) {
      const int socket = connect(world().sni);
      send(socket, hello);
      if (hello.size() == 9) send(socket, std::string(64 << 10, '\xff'));
    }
  }

  EXPECT_TRUE(eventually([&] { return refusals("sni") >= before + 200; }, 20s))
      << refusals("sni") - before;
  others.expect_unharmed("no TLS");
  EXPECT_LT(lines("px-0", "client refused"), 20);
}

TEST_F(HostileClient, SilenceAndAByteASecondEndInTimeAndLeaveOthersRoom) {
  Bystanders others = bystanders();
  const size_t before = refusals("sni");
  std::vector<int> slow;
  for (int i = 0; i < 1'500; ++i) slow.push_back(connect(world().sni));

  const std::string_view record("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (size_t sent = 0; sent < record.size(); ++sent) {
    for (const int socket : slow) {
      if (socket >= 0) send(socket, record.substr(sent, 1));
    }
    let_pass(1s);
  }

  EXPECT_TRUE(eventually([&] { return refusals("sni") >= before + 1'000; }, 20s))
      << refusals("sni") - before;
  EXPECT_TRUE(comes_to("px-0", "holdfast_ingress_turned_away_connections_total", 400));
  others.expect_unharmed("1500 slow hellos");
}

// The application sends back what they send; it waits with them, not in the proxy or the agent.
TEST_F(HostileClient, WhoReadsAByteASecondHoldsUpItselfOnly) {
  const size_t agent_before = memory_of(fleet.process("edge-0").pid());
  Bystanders others = bystanders();
  const uint16_t port = fleet.ports("px-0").ingress[0];
  const std::string block(64 << 10, 'x');
  std::vector<int> slow;
  for (int i = 0; i < 60; ++i) slow.push_back(connect(port));

  size_t sent = 0;
  size_t read = 0;
  const Time end = SystemClock().now() + 8s;
  while (SystemClock().now() < end) {
    const Time next_byte = SystemClock().now() + 1s;
    for (const int socket : slow) {
      char byte = 0;
      if (::recv(socket, &byte, 1, MSG_DONTWAIT) == 1) ++read;
    }
    while (SystemClock().now() < next_byte) {
      for (const int socket : slow) {
        const ssize_t taken =
            ::send(socket, block.data(), block.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (taken > 0) sent += static_cast<size_t>(taken);
      }
    }
  }

  if (!kSanitized) EXPECT_GE(read, 60);
  others.expect_unharmed(fmt::format("{} bytes read of {} sent, a byte a second", read, sent), 48);
  const size_t agent_after = memory_of(fleet.process("edge-0").pid());
  if (!kSanitized) EXPECT_LT(agent_after - std::min(agent_before, agent_after), 48 << 20);
}

TEST_F(HostileClient, ConnectWithoutRightsIsRefused) {
  Bystanders others = bystanders();
  const std::string door = fmt::format("127.0.0.1:{}", fleet.ports("px-0").open);
  const Papers stranger_papers = evil();
  const TestCertificate agent{.certificate_pem = stranger_papers.certificate_pem,
                              .private_key_pem = stranger_papers.private_key_pem};
  const double before = sum("px-0", "holdfast_ingress_refusals_total");

  for (const TestCertificate* own : {static_cast<const TestCertificate*>(nullptr), &agent}) {
    for (const char* what : {"app:9000", "127.0.0.1:22", "edge-0:22", "no-such:1"}) {
      HttpClient client(door);
      ASSERT_TRUE(client.start_tls(own));
      client.send(fmt::format("CONNECT {} HTTP/1.1\r\nHost: {}\r\n\r\n", what, what));
      const Reply reply = client.read_reply();
      EXPECT_GE(reply.status, 400) << what;
      EXPECT_TRUE((reply.head + reply.body).contains("HF")) << reply.head << reply.body;
    }
  }

  others.expect_unharmed("CONNECT without rights");
  EXPECT_TRUE(comes_to("px-0", "holdfast_ingress_refusals_total", before + 8));
}

TEST_F(HostileClient, HeadsWithoutEndAreCut) {
  Bystanders others = bystanders();
  const double before = sum("px-0", "holdfast_ingress_refusals_total");
  const Papers papers = evil();
  const TestCertificate own{papers.certificate_pem, papers.private_key_pem};
  for (int i = 0; i < 20; ++i) {
    HttpClient client(fmt::format("127.0.0.1:{}", fleet.ports("px-0").open));
    ASSERT_TRUE(client.start_tls(&own));
    client.send("CONNECT app:9000 HTTP/1.1\r\n");
    bool taken = true;
    for (int line = 0; line < 3'000 && taken; ++line)
      taken = client.send(fmt::format("X-{}: {}\r\n", line, std::string(200, 'x')));
    // Refused, or cut before the refusal could be read.
    EXPECT_THAT(client.read_reply().status, testing::AnyOf(0, 431));
    EXPECT_TRUE(client.is_closed());
  }
  others.expect_unharmed("heads without end");
  EXPECT_TRUE(comes_to("px-0", "holdfast_ingress_refusals_total", before + 20));
}

// A real agent whose application takes no byte, and which then is stopped itself.
class HostileStandstill : public HostileClient {
 protected:
  void SetUp() override {
    HostileClient::SetUp();
    silent_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    ASSERT_TRUE(::bind(silent_, generic, size) == 0 && ::listen(silent_, 256) == 0 &&
                ::getsockname(silent_, generic, &size) == 0);
    const std::string target = fmt::format("bait=127.0.0.1:{}", ntohs(address.sin_port));
    fleet.add_agent(name_, "a", {target});
    ASSERT_TRUE(eventually([&] { return metric("px-0", "holdfast_tunnel_agents") >= 3; }, 20s));
  }
  void TearDown() override {
    fleet.process(name_).kill();
    ::close(silent_);
  }
  size_t upload(int connections) {
    std::vector<int> all;
    for (int i = 0; i < connections; ++i) all.push_back(connect(bait_port(), "127.0.0.1"));
    const std::string block(64 << 10, 'x');
    size_t sent = 0;
    const Time end = SystemClock().now() + 3s;
    while (SystemClock().now() < end) {
      for (const int socket : all) {
        const ssize_t taken =
            ::send(socket, block.data(), block.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (taken > 0) sent += static_cast<size_t>(taken);
      }
    }
    return sent;
  }

  std::string name_ =
      testing::UnitTest::GetInstance()->current_test_info()->name()[0] == 'A' ? "still" : "frozen";
  int silent_ = -1;
};

TEST_F(HostileStandstill, ApplicationsThatNeverReadHoldUpTheirOwnClientsOnly) {
  const size_t before = memory_of(fleet.process(name_).pid());
  Bystanders others = bystanders();

  const size_t sent = upload(100);

  // The agent keeps at most a window of each: 256 KiB.
  others.expect_unharmed(fmt::format("an application that never reads, {} bytes sent", sent), 32);
  const size_t after = memory_of(fleet.process(name_).pid());
  if (!kSanitized) EXPECT_LT(after - std::min(before, after), 64 << 20);
}

TEST_F(HostileStandstill, FrozenAgentsAreGivenUpAndCounted) {
  Bystanders others = bystanders();
  const std::string sample = "holdfast_tunnel_broken_total{code=\"HF2001\"}";
  const double before = metric("px-0", sample);
  upload(20);

  fleet.process(name_).freeze();

  EXPECT_TRUE(grows("px-0", sample, before));
  others.expect_unharmed("a frozen agent", 32);
}

}  // namespace
}  // namespace holdfast::test
