#include "tunnel/secure_connection_service.h"

#include <openssl/err.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/reason.h"
#include "net/http_address.h"
#include "net/http_dial.h"
#include "net/within.h"

namespace holdfast::tunnel {
namespace {

using absl::StatusCode;
using Connection = std::unique_ptr<SecureConnection>;

constexpr auto kAsValue = asio::as_tuple(asio::use_awaitable);

Status late() {
  return coded(StatusCode::kDeadlineExceeded, "HF2021", "no secure connection in time");
}

// The first thing OpenSSL complained of, in its words; they hold nothing of the peer's.
Status failed_handshake() {
  const char* text = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return coded(StatusCode::kUnavailable, "HF2021", text == nullptr ? "the connection broke" : text);
}

asio::awaitable<Status> shake_hands(SecureConnection& connection) {
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(connection.ssl.get());
    if (result == 1) co_return absl::OkStatus();
    const int wanted = SSL_get_error(connection.ssl.get(), result);
    if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE) {
      co_return failed_handshake();
    }
    const auto direction = wanted == SSL_ERROR_WANT_READ ? net::StreamSocket::wait_read
                                                         : net::StreamSocket::wait_write;
    const auto [error] = co_await connection.socket.async_wait(direction, kAsValue);
    if (error) co_return coded(StatusCode::kUnavailable, "HF2021", error.message());
  }
}

// Who is there, by the certificate it presented.
Status identify(SecureConnection& connection, SecureParts parts) {
  connection.alpn = net::agreed_protocol(*connection.ssl);
  if (connection.alpn.empty()) {
    return coded(StatusCode::kUnavailable, "HF2021", "the peer does not speak a tunnel's protocol");
  }
  const std::string chain = net::presented_chain(*connection.ssl);
  if (chain.empty()) {
    return coded(StatusCode::kUnauthenticated, "HF5002", "the peer presented no certificate");
  }
  TRY(identity::Peer peer, parts.trust.verify(chain, parts.clock.wall_now()));
  connection.peer = std::move(peer.identity);
  connection.expires = peer.expires;
  return absl::OkStatus();
}

Connection make_connection(net::StreamSocket socket, const SecureOptions& options) {
  boost::system::error_code error;  // both only inform
  socket.native_non_blocking(true, error);
  const auto remote = socket.remote_endpoint(error);
  auto made = std::make_unique<SecureConnection>(std::move(socket), options.context, nullptr);
  if (!error) made->address = net::to_text(remote);
  return made;
}

asio::awaitable<Secured> accept(net::StreamSocket socket, SecureParts parts,
                                SecureOptions options) {
  Connection made = make_connection(std::move(socket), options);
  made->ssl = options.context->accept_on(made->socket.native_handle());
  CO_TRY_OK(co_await shake_hands(*made));
  CO_TRY_OK(identify(*made, parts));
  co_return made;
}

asio::awaitable<Secured> connect(std::string address, SecureParts parts, SecureOptions options) {
  Result<net::StreamSocket> socket =
      co_await net::dial_socket({.address = address, .timeout = options.timeout});
  if (!socket.ok()) {
    co_return coded(StatusCode::kUnavailable, "HF2020", std::string(socket.status().message()));
  }
  Connection made = make_connection(*std::move(socket), options);
  made->ssl = options.context->connect_on(made->socket.native_handle(), address);
  CO_TRY_OK(co_await shake_hands(*made));
  CO_TRY_OK(identify(*made, parts));
  if (made->peer.role != identity::Role::Proxy) {
    co_return coded(StatusCode::kUnauthenticated, "HF2022",
                    "whoever answered is " + to_string(made->peer) + ", not a proxy");
  }
  co_return made;
}

}  // namespace

asio::awaitable<Secured> secure_accept(net::StreamSocket socket, SecureParts parts,
                                       SecureOptions options) {
  const Duration timeout = options.timeout;
  co_return co_await net::within(timeout, accept(std::move(socket), parts, std::move(options)),
                                 late());
}

asio::awaitable<Secured> secure_connect(std::string address, SecureParts parts,
                                        SecureOptions options) {
  const Duration timeout = options.timeout;
  co_return co_await net::within(timeout, connect(std::move(address), parts, std::move(options)),
                                 late());
}

}  // namespace holdfast::tunnel
