#include "net/http_address.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/bytes.h"

namespace holdfast::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::string_view kUnix = "unix:";

std::optional<tcp::endpoint> to_tcp(const asio::generic::stream_protocol::endpoint& endpoint) {
  const int family = endpoint.protocol().family();
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  tcp::endpoint address;
  address.resize(endpoint.size());
  std::memcpy(address.data(), endpoint.data(), endpoint.size());
  return address;
}

Result<ListenAddress> parse_unix(std::string_view path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path) || path.starts_with('\0')) {
    return absl::InvalidArgumentError(
        fmt::format("unix:{}: the path of a socket is 1 to 107 bytes", path));
  }
  return ListenAddress{.endpoint = asio::local::stream_protocol::endpoint(std::string(path)),
                       .socket_file = std::string(path)};
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_unix(text.substr(kUnix.size()));
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        fmt::format("{} is no address to listen on; use 127.0.0.1:8080, [::1]:8080 or unix:PATH",
                    in_quotes(text)));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  uint16_t port = 0;
  const auto [end, failed] =
      std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(std::string(host), error);
  if (error || address.is_v6() != bracketed || failed != std::errc() || port_text.empty() ||
      end != port_text.data() + port_text.size()) {
    return wrong();
  }
  return ListenAddress{.endpoint = tcp::endpoint(address, port)};
}

std::string to_text(const asio::generic::stream_protocol::endpoint& endpoint) {
  const std::optional<tcp::endpoint> address = to_tcp(endpoint);
  if (!address) return "unix";
  return join_host_port(address->address().to_string(), std::to_string(address->port()));
}

std::string join_host_port(std::string_view host, std::string_view port) {
  const bool is_bare_v6 = host.contains(':') && !host.starts_with('[');
  std::string out;
  out.reserve(host.size() + port.size() + 3);
  if (is_bare_v6) {
    out.append("[").append(host).append("]");
  } else {
    out.append(host);
  }
  return out.append(":").append(port);
}

std::string counted_address(const asio::ip::address& address) {
  if (address.is_v4()) return address.to_string();
  const asio::ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return make_address_v4(asio::ip::v4_mapped, v6).to_string();
  asio::ip::address_v6::bytes_type bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return asio::ip::address_v6(bytes).to_string();
}

std::string counted_address(const asio::generic::stream_protocol::endpoint& peer) {
  const std::optional<tcp::endpoint> address = to_tcp(peer);
  return address ? counted_address(address->address()) : "unix";
}

}  // namespace holdfast::net
