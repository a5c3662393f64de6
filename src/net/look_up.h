// The addresses of a host, looked up away from the loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::net {

namespace asio = boost::asio;

using StreamEndpoint = asio::generic::stream_protocol::endpoint;

// Where "HOST:PORT", "[::1]:8080" or "unix:PATH" leads: at most eight, the families in turns, so
// that one which leads nowhere does not come before all of the other. Asks nobody for an address
// that is one already. kInvalidArgument if it is no address; kUnavailable if the name is not found,
// or not in time; kResourceExhausted if 256 other names are looked up already. Who asks for the
// same name at the same time shares the answer, and what nobody waits for any more is given up.
asio::awaitable<Result<std::vector<StreamEndpoint>>> look_up(std::string address, Duration timeout);

struct HostPort {
  std::string host;  // without brackets
  std::string port;
};
// kInvalidArgument unless it is HOST:PORT.
Result<HostPort> split_host_port(std::string_view address);

}  // namespace holdfast::net
