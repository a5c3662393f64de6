#include "net/http_address.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <charconv>
#include <cstring>

#include "base/bytes.h"

namespace holdfast::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::string_view kUnix = "unix:";

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
                    quoted(text)));
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
  const int family = endpoint.protocol().family();
  if (family != AF_INET && family != AF_INET6) return "unix";
  tcp::endpoint address;
  address.resize(endpoint.size());
  std::memcpy(address.data(), endpoint.data(), endpoint.size());
  const std::string host = address.address().to_string();
  if (family == AF_INET6) return fmt::format("[{}]:{}", host, address.port());
  return fmt::format("{}:{}", host, address.port());
}

}  // namespace holdfast::net
