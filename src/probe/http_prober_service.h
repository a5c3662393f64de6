// Carries out one HTTP probe: connects, asks, reads the answer, and follows it where it leads.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <string>

#include "probe/connection_service.h"
#include "probe/probe.h"

namespace holdfast::probe {

// What every probe of a prober has in common.
struct ProbeWays {
  const std::string& address;
  const std::string& source;
  const UnverifiedTls& tls;
  const std::string& user_agent;
};

asio::awaitable<Outcome> probe_http(Connection& connection, const Probe& probe, const HttpGet& http,
                                    const ProbeWays& ways);

}  // namespace holdfast::probe
