// The handshake of a tunnel: TLS 1.3 both ways, and who the other side is by its certificate. The
// accepting side takes any certificate in the handshake and judges it right after, by the trust of
// that moment; the dialling side also lets OpenSSL verify chain and server name.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "identity/certificate.h"
#include "net/http_stream.h"
#include "net/tls_context.h"

namespace holdfast::tunnel {

namespace asio = boost::asio;

inline constexpr std::string_view kTunnelProtocol = "holdfast-tunnel/1";  // ALPN: agent to proxy
inline constexpr std::string_view kPeerProtocol = "holdfast-peer/1";      // proxy to proxy

// A handshake that succeeded: who is there, and the connection.
struct SecureConnection {
  net::StreamSocket socket;
  std::shared_ptr<const net::TlsContext> context;  // outlives ssl
  std::unique_ptr<SSL, net::TlsContext::Free> ssl;
  identity::Identity peer{};
  WallTime expires{};     // the peer's certificate does
  std::string alpn{};     // what both speak
  std::string address{};  // the peer's, "10.0.0.7:51234"
};
using Secured = Result<std::unique_ptr<SecureConnection>>;

// Everything outlives the handshake.
struct SecureParts {
  identity::Trust& trust;
  const Clock& clock;
};

struct SecureOptions {
  std::shared_ptr<const net::TlsContext> context{};  // TlsContext::make_tunnel_*()
  Duration timeout = std::chrono::seconds(10);       // for all of it
  // Of the dialling side: asked as soon as the other's certificate is verified, before our own is
  // sent. An error ends the handshake there and is returned.
  std::function<Status(const identity::Identity& peer)> judge{};
};

// The dialled side. HF2021: no TLS of ours (kUnavailable), or too late (kDeadlineExceeded);
// kUnauthenticated: HF5002 without a certificate, else as identity::Trust says. The socket is
// closed on failure and on cancellation.
asio::awaitable<Secured> secure_accept(net::StreamSocket socket, SecureParts parts,
                                       SecureOptions options);

// The dialling side: looks `address` ("HOST:PORT") up, connects and shakes hands with the first of
// its addresses that answers. kUnavailable HF2020: no connection; else as above. HF2022: whoever
// answered is not a proxy.
asio::awaitable<Secured> secure_connect(std::string address, SecureParts parts,
                                        SecureOptions options);

}  // namespace holdfast::tunnel
