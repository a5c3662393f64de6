// Carries the bytes of an HTTP/2 exchange over a connection.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>

#include "probe/connection_service.h"
#include "probe/h2_exchange.h"

namespace holdfast::probe {

// Until it is so, or until it cannot be any more. Requires: the arguments outlive it.
asio::awaitable<Status> talk_h2(Connection& connection, H2Exchange& exchange,
                                std::function<bool()> so);

}  // namespace holdfast::probe
