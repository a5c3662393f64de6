// Opens a connection for a client: TCP or a unix socket, plain or under TLS.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_stream.h"
#include "net/tls_context.h"

namespace holdfast::net {

struct DialOptions {
  std::string address{};                    // "HOST:PORT", "[::1]:8080" or "unix:PATH"
  std::shared_ptr<const TlsContext> tls{};  // a client's; null: plain
  // To find the host's addresses, and then for each of them, TLS included.
  Duration timeout = std::chrono::seconds(2);
};

// kInvalidArgument if it is no address; else kUnavailable, naming it, with what the last of the
// host's addresses failed with. A name that cannot be looked up in time is given up, too.
asio::awaitable<Result<std::unique_ptr<HttpStream>>> dial(DialOptions options);

// The same without TLS (`tls` is not used), as the socket itself: non-blocking, without delay.
asio::awaitable<Result<StreamSocket>> dial_socket(DialOptions options);

}  // namespace holdfast::net
