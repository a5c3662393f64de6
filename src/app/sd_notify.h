// Telling systemd how a service is, for units of Type=notify: one datagram to the socket that the
// environment names. Nothing happens where nobody asked to be told.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::app {

// As "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=serving", or "RELOADING=1"; several with line
// ends between.
Status sd_notify(std::string_view state);

// How often systemd wants to hear WATCHDOG=1: half of what it allows. Nothing if it does not.
std::optional<Duration> watchdog_period();

}  // namespace holdfast::app
