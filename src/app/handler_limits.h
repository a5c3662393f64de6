// What the machine leaves to a probe handler: a role of its own, or inside an agent.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "net/http_server.h"

namespace holdfast::app {

// A machine without IPv6 cannot listen on [::], and 0.0.0.0 is all that is meant by it there.
std::string handler_address(const std::string& wanted);
std::string handler_address(const std::string& wanted, bool ipv6);

// As configured, with fewer connections if the limit of open files holds; logs that.
net::HttpServerOptions handler_options(const config::ProbeSection& config);
// How many of the connections that are wanted fit into so many open files.
uint64_t fitting_connections(uint64_t wanted, uint64_t open_files);

}  // namespace holdfast::app
