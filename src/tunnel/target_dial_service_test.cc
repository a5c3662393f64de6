#include "tunnel/target_dial_service.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_future.hpp>

#include "support/free_ports.h"
#include "support/temp_dir.h"

namespace holdfast::tunnel {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

constexpr Duration kPatience = std::chrono::seconds(10);

class TargetDial : public testing::Test {
 protected:
  Result<net::StreamSocket> dial(const Target& target, Duration timeout = kPatience) {
    auto dialled = asio::co_spawn(loop_, dial_target(target, timeout), asio::use_future);
    loop_.restart();
    loop_.run();
    return dialled.get();
  }
  static int option(net::StreamSocket& socket, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(socket.native_handle(), level, name, &value, &size), 0);
    return value;
  }

  asio::io_context loop_;
};

TEST_F(TargetDial, ASocketOfTcpHasNoDelayAndKeepalive) {
  tcp::acceptor listener(loop_, {asio::ip::address_v4::loopback(), 0});
  auto socket = dial({.host = "127.0.0.1", .port = listener.local_endpoint().port()});
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_NE(option(*socket, IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_NE(option(*socket, SOL_SOCKET, SO_KEEPALIVE), 0);
  EXPECT_EQ(option(*socket, IPPROTO_TCP, TCP_KEEPIDLE), 60);
  EXPECT_TRUE(socket->native_non_blocking());
}

TEST_F(TargetDial, AUnixSocketIsReachedByItsPath) {
  const test::TempDir folder;
  const std::string path = folder.file("app.sock");
  asio::local::stream_protocol::acceptor listener(loop_, path);
  auto socket = dial({.unix_path = path});
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_TRUE(socket->native_non_blocking());
}

TEST_F(TargetDial, ANameLeadsToWhicheverOfItsAddressesAnswers) {
  tcp::acceptor listener(loop_, {asio::ip::address_v4::loopback(), 0});
  auto socket = dial({.host = "localhost", .port = listener.local_endpoint().port()});
  EXPECT_TRUE(socket.ok()) << socket.status();
}

TEST_F(TargetDial, WhoeverRefusesIsUnavailableAndNamed) {
  const uint16_t port = test::free_ports(1).front();
  const Status tcp_status = dial({.host = "127.0.0.1", .port = port}).status();
  EXPECT_TRUE(absl::IsUnavailable(tcp_status)) << tcp_status;
  EXPECT_TRUE(std::string(tcp_status.message()).contains(std::to_string(port))) << tcp_status;
  const test::TempDir folder;
  const Status unix_status = dial({.unix_path = folder.file("none.sock")}).status();
  EXPECT_TRUE(absl::IsUnavailable(unix_status)) << unix_status;
  const Status name_status = dial({.host = "no-such-host.invalid", .port = port}).status();
  EXPECT_TRUE(absl::IsUnavailable(name_status)) << name_status;
}

TEST_F(TargetDial, WhoeverNeitherTakesNorRefusesIsGivenUpInTime) {
  tcp::acceptor listener(loop_, {asio::ip::address_v4::loopback(), 0});
  listener.listen(0);  // one may wait to be accepted; nobody accepts
  const Target target{.host = "127.0.0.1", .port = listener.local_endpoint().port()};
  std::vector<net::StreamSocket> waiting;
  Status last;
  for (int at = 0; at < 8 && last.ok(); ++at) {
    Result<net::StreamSocket> socket = dial(target, milliseconds(200));
    last = socket.status();
    if (socket.ok()) waiting.push_back(*std::move(socket));
  }
  EXPECT_TRUE(absl::IsDeadlineExceeded(last)) << last;
}

}  // namespace
}  // namespace holdfast::tunnel
