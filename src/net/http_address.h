// Addresses a server listens on or is reached from, as text and as the kernel has them.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/address.hpp>

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::net {

struct ListenAddress {
  boost::asio::generic::stream_protocol::endpoint endpoint;
  std::string socket_file{};  // of a unix socket
};
// "127.0.0.1:8080", "[::1]:0" or "unix:PATH"; kInvalidArgument for anything else, host names too.
Result<ListenAddress> parse_listen_address(std::string_view text);

// "127.0.0.1:8080", "[::1]:8080", or "unix".
std::string to_text(const boost::asio::generic::stream_protocol::endpoint& endpoint);

// "host:port", with brackets around a host that is an IPv6 address.
std::string join_host_port(std::string_view host, std::string_view port);

// Of whom limits per address count: a host with IPv6 has a whole network of 64 bits.
std::string counted_address(const boost::asio::ip::address& address);
// The same of a peer; "unix" if it has none.
std::string counted_address(const boost::asio::generic::stream_protocol::endpoint& peer);

}  // namespace holdfast::net
