#include "app/listen_address.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/reason.h"

namespace holdfast::app {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

Result<tcp::endpoint> parse(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool number = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos &&
                      std::stoi(port) <= 65535;
  boost::system::error_code error;
  const asio::ip::address parsed = asio::ip::make_address(host, error);
  if (!number || error) {
    return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                 fmt::format("--listen {}: use IP:PORT, as 0.0.0.0:7443 or [::]:7443; PORT is 0 to "
                             "65535",
                             address));
  }
  return tcp::endpoint(parsed, static_cast<uint16_t>(std::stoi(port)));
}

}  // namespace

Status check_can_listen(const std::string& address) {
  TRY(const tcp::endpoint endpoint, parse(address));
  asio::io_context unused;
  tcp::acceptor acceptor(unused);
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(1, error);
  if (!error) return absl::OkStatus();
  return coded(absl::StatusCode::kUnavailable, "HF1106",
               fmt::format("cannot listen on {}: {}", address, error.message()));
}

std::string with_port(const std::string& address, int port) {
  return fmt::format("{}:{}", address.substr(0, address.rfind(':')), port);
}

}  // namespace holdfast::app
