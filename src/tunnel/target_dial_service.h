// Connects to an application.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_stream.h"
#include "tunnel/target.h"

namespace holdfast::tunnel {

namespace asio = boost::asio;

// A non-blocking socket; over TCP without delay and with keepalive. A name's addresses are tried in
// turn, each for its share of the time that is left. kUnavailable: it refuses, or is not there;
// kDeadlineExceeded: it does neither in time.
asio::awaitable<Result<net::StreamSocket>> dial_target(Target target, Duration timeout);

}  // namespace holdfast::tunnel
