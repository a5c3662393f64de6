// Carries out one gRPC probe. A server that refuses, or does not speak HTTP/2, is tried again until
// the time is over: that is how the kubelet's gRPC connects.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "probe/connection_service.h"
#include "probe/http_prober_service.h"
#include "probe/probe.h"

namespace holdfast::probe {

asio::awaitable<Outcome> probe_grpc(Connection& connection, const Probe& probe, const Grpc& grpc,
                                    const ProbeWays& ways);

}  // namespace holdfast::probe
