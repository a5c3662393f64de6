// Applications behind an agent, and clients before a proxy, for tests of tunnels.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_stream.h"
#include "net/task_group.h"
#include "tunnel/link_service.h"

namespace holdfast::test {

namespace asio = boost::asio;

// Listens at "127.0.0.1:0" or "unix:PATH" and sends back whatever comes; with `reads` false it
// takes connections and never reads from them.
class EchoApp {
 public:
  EchoApp(asio::io_context& loop, const std::string& address, bool reads = true);

  const std::string& address() const { return address_; }
  size_t connections() const { return connections_; }  // ever
  asio::awaitable<void> stop();

 private:
  using Protocol = asio::generic::stream_protocol;
  asio::awaitable<void> accept();
  asio::awaitable<void> echo(net::StreamSocket socket);

  asio::basic_socket_acceptor<Protocol> acceptor_;
  std::string address_;
  bool reads_;
  size_t connections_ = 0;
  net::TaskGroup tasks_;
};

// The client's side of a stream: a pair of sockets, one of them the stream's end.
class RawClient {
 public:
  explicit RawClient(asio::io_context& loop);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // Once: for Link::open().
  std::unique_ptr<tunnel::StreamEnd>& end() { return end_; }
  // How many bytes went; does not wait.
  size_t send(std::string_view bytes);
  void finish();
  // Adds what has come to received(); does not wait.
  const std::string& received();
  bool ended() const { return ended_; }    // the other side sends no more
  bool broken() const { return broken_; }  // or was cut

 private:
  int socket_ = -1;
  std::unique_ptr<tunnel::StreamEnd> end_;
  std::string received_;
  bool ended_ = false;
  bool broken_ = false;
};

}  // namespace holdfast::test
