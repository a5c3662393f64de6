#include "tunnel/secure_connection_service.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/reason.h"
#include "net/as_value.h"
#include "net/http_address.h"
#include "net/http_dial.h"
#include "net/within.h"

namespace holdfast::tunnel {
namespace {

using absl::StatusCode;
using Connection = std::unique_ptr<SecureConnection>;

using net::kAsValue;

Status handshake_late() {
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

// What SecureOptions::judge says in the middle of a handshake, kept for its end.
struct Judgement {
  const SecureOptions& options;
  Status verdict{};
};

Result<identity::Identity> named_in(X509* certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(BIO_new(BIO_s_mem()), BIO_free);
  if (!text || PEM_write_bio_X509(text.get(), certificate) != 1) {
    return absl::ResourceExhaustedError("no memory for a certificate");
  }
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return identity::identity_of(std::string(bytes, static_cast<size_t>(size)));
}

// OpenSSL calls it for each certificate of the chain, the peer's own last.
int judge_peer(int verified, X509_STORE_CTX* store) {
  if (verified != 1 || X509_STORE_CTX_get_error_depth(store) != 0) return verified;
  const auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* judgement = static_cast<Judgement*>(SSL_get_app_data(ssl));
  const Result<identity::Identity> peer = named_in(X509_STORE_CTX_get_current_cert(store));
  // Who cannot be named is refused after the handshake, with its reason.
  if (!peer.ok()) return 1;
  judgement->verdict = judgement->options.judge(*peer);
  if (judgement->verdict.ok()) return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

// Why OpenSSL did not believe the certificate that the dialled side showed.
Status unbelieved(long why) {
  const std::string text = X509_verify_cert_error_string(why);
  switch (why) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_INVALID_PURPOSE:
      return coded(StatusCode::kUnauthenticated, "HF2022",
                   "whoever answered has no certificate of a proxy");
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return coded(StatusCode::kUnauthenticated, "HF5003", text);
    default:
      return coded(StatusCode::kUnauthenticated, "HF5004", text);
  }
}

asio::awaitable<Status> shake_hands_judging(SecureConnection& connection,
                                            const SecureOptions& options) {
  Judgement judgement{.options = options};
  if (options.judge) {
    SSL_set_app_data(connection.ssl.get(), &judgement);
    SSL_set_verify(connection.ssl.get(), SSL_VERIFY_PEER, judge_peer);
  }
  const Status shaken = co_await shake_hands(connection);
  SSL_set_verify(connection.ssl.get(), SSL_VERIFY_PEER, nullptr);
  SSL_set_app_data(connection.ssl.get(), nullptr);
  if (!judgement.verdict.ok()) co_return judgement.verdict;
  const long believed = SSL_get_verify_result(connection.ssl.get());
  if (!shaken.ok() && believed != X509_V_OK) co_return unbelieved(believed);
  co_return shaken;
}

asio::awaitable<Secured> connect_to(std::string address, SecureParts parts, SecureOptions options) {
  Result<net::StreamSocket> socket =
      co_await net::dial_socket({.address = address, .timeout = options.timeout});
  if (!socket.ok()) {
    co_return coded(StatusCode::kUnavailable, "HF2020", std::string(socket.status().message()));
  }
  Connection made = make_connection(*std::move(socket), options);
  made->ssl = options.context->connect_on(made->socket.native_handle(), address);
  CO_TRY_OK(co_await shake_hands_judging(*made, options));
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
                                 handshake_late());
}

asio::awaitable<Secured> secure_connect(std::string address, SecureParts parts,
                                        SecureOptions options) {
  const Duration timeout = options.timeout;
  co_return co_await net::within(timeout, connect_to(std::move(address), parts, std::move(options)),
                                 handshake_late());
}

}  // namespace holdfast::tunnel
