// A gRPC health check as a request of HTTP/2, and what its answer means.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "probe/h2_exchange.h"
#include "probe/probe.h"

namespace holdfast::probe {

struct GrpcCall {
  std::string authority{};  // "10.0.0.7:9090", "[::1]:9090"
  std::string user_agent{};
  Duration time_left{};
};
H2Request health_request(const Grpc& grpc, const GrpcCall& call);

// SERVING is healthy; every other status, and every failure of the call, is not.
Outcome judge_health(const H2Answer& answer);

// "SERVING"; empty for one that no version of the protocol has.
std::string_view health_name(int status);

// What a call carries: the message behind its length, not compressed.
std::string frame_message(std::string_view message);
// As "grpc-timeout" has it, in the finest unit that needs at most eight digits: "999000u".
std::string timeout_text(Duration left);

}  // namespace holdfast::probe
