// Two links with real TLS between them over loopback, each on a loop of its own so that one can be
// made to stand still, and sockets at the ends of their streams.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/task_group.h"
#include "tunnel/link_service.h"
#include "tunnel/secure_connection_service.h"
#include "tunnel/socket_end_service.h"

namespace holdfast::tunnel {

using namespace std::chrono_literals;

struct TestIdentity {
  std::string certificate_pem;
  std::string private_key_pem;
};
// Certificates of one cluster, "test".
class TestAuthority {
 public:
  TestAuthority();
  TestIdentity issue(identity::Role role, const std::string& name) const;
  const std::string& ca_pem() const { return ca_.certificate_pem; }

 private:
  identity::SigningKey ca_;
};

// A socket of the test's own, blocking never.
class TestSocket {
 public:
  explicit TestSocket(int socket = -1) : socket_(socket) {}
  TestSocket(TestSocket&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  TestSocket& operator=(TestSocket&& other) noexcept;
  ~TestSocket() { close(); }
  void close();
  void cut();                            // with RST
  size_t write(std::string_view bytes);  // how many went
  std::string read();                    // all that is there
  void end();                            // of what it writes
  bool ended = false;                    // read() met the end
  bool was_reset = false;                // read() met a reset

 private:
  int socket_;
};
struct SocketPair {
  net::StreamSocket inner;
  TestSocket outer;
};
SocketPair make_unix_pair(const asio::any_io_executor& loop);
SocketPair make_tcp_pair(const asio::any_io_executor& loop);

// One side: a loop with a link on it.
class LinkSide : public LinkOwner {
 public:
  LinkSide() : tasks(loop.get_executor()) {}
  ~LinkSide() override;

  void on_open(Link& link, StreamId stream, std::string_view payload) override;
  Status on_message(Link& link, std::string_view payload) override;
  void on_goodbye(Link& /*link*/, std::string_view why) override { goodbyes.emplace_back(why); }

  void start(std::unique_ptr<SecureConnection> connection, LinkOptions options);
  // An end over one half of a pair of sockets; the test has the other.
  std::unique_ptr<StreamEnd> make_end(TestSocket& outer);
  // open(), its outcome in opened[payload].
  void open(const std::string& payload, std::unique_ptr<StreamEnd> end, Duration timeout = 5s);

  asio::io_context loop{1};
  SystemClock clock;
  LinkBuffers buffers;
  net::TaskGroup tasks;
  std::unique_ptr<Link> link;
  std::optional<Status> ended;                                    // what run() returned
  bool uses_tcp = false;                                          // at the ends
  std::function<void(Link&, StreamId, std::string_view)> answer;  // instead of accepting
  std::map<std::string, TestSocket> apps;                         // of accepted streams, by payload
  std::map<std::string, Status> opened;
  std::vector<std::string> messages, goodbyes;
  int living_ends = 0;
  std::vector<EndReport> reports;

 private:
  asio::awaitable<void> run_link();
  asio::awaitable<void> run_open(std::string payload, std::unique_ptr<StreamEnd> end,
                                 Duration timeout);
};

class LinkTest : public testing::Test {
 protected:
  LinkTest();
  ~LinkTest() override { TearDown(); }
  void TearDown() override;  // ends both links; may be repeated
  // The two sides of a handshake that succeeded.
  struct Connected {
    std::unique_ptr<SecureConnection> proxy, agent;
  };
  // With small buffers in the kernel, if asked for.
  Connected connect(int buffer_bytes = 0);
  void start(LinkOptions options = {});
  void start_sides(Connected connected, LinkOptions options);
  // Both loops run until it is so; false after ten seconds.
  bool run_until(const std::function<bool()>& condition, bool with_agent = true);
  // Opens a stream from the proxy and waits for it: its client's socket.
  TestSocket open(const std::string& payload);

  TestAuthority authority_;
  identity::Trust trust_;
  LinkSide proxy_, agent_;
};

}  // namespace holdfast::tunnel
