// The handler's side of HTTP, without a socket: which probe a request asks for, and what its
// outcome is called. Of a request only method and target count: headers and body decide nothing.
//
//   GET a registered path     200 healthy, 503 not; Holdfast-Probe-Status: what the application
//                             said: "404", "NOT_SERVING", "grpc-status 14"; "0" for nothing
//   GET /healthz              200: the handler itself
//   another path, method      404, 405
//   a hook that failed        no answer: the kubelet takes any for a success
#pragma once

#include <expected>
#include <string_view>

#include "net/http_message.h"
#include "probe/registry.h"

namespace holdfast::probe {

// No path of a registry is like it: they begin with a port, "tcp", "grpc" or "hook".
inline constexpr std::string_view kOwnHealthPath = "/healthz";
inline constexpr std::string_view kStatusHeader = "Holdfast-Probe-Status";

// The probe of `registry` that is asked for, or the answer to give at once.
std::expected<const Probe*, net::HttpResponse> look_up(const Registry& registry,
                                                       const net::HttpRequest& request);

net::HttpResponse to_response(const Probe& probe, const Outcome& outcome);

// "http", "tcp", "grpc" or "hook".
std::string_view kind_text(const Probe& probe);

}  // namespace holdfast::probe
