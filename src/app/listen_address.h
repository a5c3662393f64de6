// Addresses to listen on, "HOST:PORT", tried out before anything else is started.
#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::app {

// Binds and lets go. kInvalidArgument if it is no address of ours, kUnavailable if it is in use.
Status check_can_listen(const std::string& address);
// The same host with this port.
std::string with_port(const std::string& address, int port);

}  // namespace holdfast::app
