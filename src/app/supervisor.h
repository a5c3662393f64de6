// Telling the supervisor of a daemon how it is, as far as there is one: what every role does.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <string_view>

#include "base/clock.h"

namespace holdfast::app {

namespace asio = boost::asio;

// As sd_notify(); a failure is logged.
void tell_systemd(std::string_view state);
// As long as the loop runs.
asio::awaitable<void> feed_watchdog(Duration period);

}  // namespace holdfast::app
