#include "tunnel/listener_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

#include "base/reason.h"
#include "net/http_address.h"

namespace holdfast::tunnel {
namespace {

// What the admission does not take yet waits there: a proxy that comes back meets all its agents.
constexpr int kBacklog = 4'096;

}  // namespace

Result<std::string> Listener::listen(const std::string& address) {
  TRY(const net::ListenAddress where, net::parse_listen_address(address));
  boost::system::error_code error;
  acceptor_.open(where.endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(where.endpoint, error);
  if (!error) acceptor_.listen(kBacklog, error);
  if (error) {
    close();
    return coded(absl::StatusCode::kUnavailable, "HF1106",
                 fmt::format("cannot listen on {}: {}", address, error.message()));
  }
  return net::to_text(acceptor_.local_endpoint(error));
}

asio::awaitable<Result<Listener::Came>> Listener::accept() {
  for (;;) {
    asio::generic::stream_protocol::endpoint peer;
    auto [error, socket] =
        co_await acceptor_.async_accept(peer, asio::as_tuple(asio::use_awaitable));
    if (error == asio::error::connection_aborted) continue;
    if (!acceptor_.is_open() || error == asio::error::operation_aborted) {
      co_return absl::CancelledError("no longer listening");
    }
    if (error) co_return absl::UnavailableError(error.message());
    boost::system::error_code ignored;  // a connection that is gone already is noticed later
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket.native_non_blocking(true, ignored);
    co_return Came{.socket = std::move(socket), .counted_as = net::counted_address(peer)};
  }
}

void Listener::close() {
  boost::system::error_code ignored;  // closed either way
  acceptor_.close(ignored);
}

}  // namespace holdfast::tunnel
