// A TCP listener of a proxy: the agents' or the peers'.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/http_stream.h"

namespace holdfast::tunnel {

namespace asio = boost::asio;

class Listener {
 public:
  explicit Listener(const asio::any_io_executor& loop) : acceptor_(loop) {}

  // HOST:PORT as it listens, with the port it got. kInvalidArgument if it is no address,
  // kUnavailable HF1106 if it cannot be had.
  Result<std::string> listen(const std::string& address);
  struct Came {
    net::StreamSocket socket;
    std::string counted_as;  // net::counted_address()
  };
  // kUnavailable: no descriptors or memory for now; kCancelled: closed.
  asio::awaitable<Result<Came>> accept();
  void close();

 private:
  asio::basic_socket_acceptor<asio::generic::stream_protocol> acceptor_;
};

}  // namespace holdfast::tunnel
