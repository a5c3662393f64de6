// Takes the TCP connections of a gRPC server and hands them on. gRPC can do that itself, but it
// neither counts connections nor knows a limit, and one peer could take every descriptor there is.
// Limits hold for all of them and for each address; what is beyond is closed as it comes.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <sys/types.h>

#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/connection_limits.h"
#include "net/task_group.h"

namespace holdfast::api {

namespace asio = boost::asio;

struct ListenerStats {
  uint64_t accepted = 0;
  // By the limit that was reached.
  std::map<std::string_view, uint64_t> refused{
      {"connections", 0}, {"address", 0}, {"descriptors", 0}};
};

class GrpcListener {
 public:
  // Owns the socket, which does not block, from then on.
  using HandOver = std::function<void(int socket)>;
  GrpcListener(const asio::any_io_executor& loop, const net::ConnectionBounds& bounds,
               HandOver hand_over);

  // The port it got; connections wait. kInvalidArgument if it is not an address, kUnavailable
  // HF1106 if it cannot be had.
  Result<int> bind(const std::string& address);
  // Takes connections until stop().
  void start();
  asio::awaitable<void> stop();

  const ListenerStats& stats() const { return stats_; }
  // Connections that were open half a second ago, and those that came since.
  size_t open() const { return open_.size(); }

 private:
  using Protocol = asio::generic::stream_protocol;
  using Acceptor = asio::basic_socket_acceptor<Protocol>;
  // A descriptor that was handed on is not ours to ask: its number may be another file by now. The
  // inode tells.
  struct Connection {
    int descriptor;
    ino_t inode;
    net::ConnectionSlot slot;
  };

  asio::awaitable<void> accept(Acceptor& acceptor);
  void take(Protocol::socket socket, const Protocol::endpoint& peer);
  asio::awaitable<void> sweep();

  asio::any_io_executor loop_;
  net::ConnectionSlot::Limits limits_;
  HandOver hand_over_;
  std::list<Acceptor> acceptors_;
  std::vector<Connection> open_;
  ListenerStats stats_;
  bool stopping_ = false;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::api
