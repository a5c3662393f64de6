#include "probe/grpc_prober_service.h"

#include <algorithm>

#include "net/http_address.h"
#include "probe/grpc_check.h"
#include "probe/h2_service.h"
#include "probe/http_check.h"

namespace holdfast::probe {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstPause = milliseconds(50);
constexpr Duration kLongestPause = milliseconds(1000);

struct Attempt {
  bool settled = false;  // it is of no use to try again
  Outcome outcome{};
};

asio::awaitable<Status> open_grpc(Connection& connection, const Probe& probe, const Grpc& grpc,
                                  const ProbeWays& ways) {
  const std::string& host = probe.host.empty() ? ways.address : probe.host;
  CO_TRY_OK(co_await connection.open({host, probe.port, ways.source}));
  if (!grpc.tls) co_return absl::OkStatus();
  co_return co_await connection.secure(ways.tls, host, Offer::Http2);
}

asio::awaitable<Attempt> attempt(Connection& connection, const Probe& probe, const Grpc& grpc,
                                 const ProbeWays& ways) {
  const Status opened = co_await open_grpc(connection, probe, grpc, ways);
  const std::string& host = probe.host.empty() ? ways.address : probe.host;
  const bool over = absl::IsDeadlineExceeded(opened) || absl::IsCancelled(opened);
  if (!opened.ok()) co_return Attempt{over, judge_failure(opened)};
  const GrpcCall call{.authority = net::join_host_port(host, std::to_string(probe.port)),
                      .user_agent = ways.user_agent + " grpc-holdfast/1.0",
                      .time_left = connection.time_left()};
  H2Exchange exchange(health_request(grpc, call));
  const H2Answer& answer = exchange.answer();
  const Status went = co_await talk_h2(connection, exchange, [&] { return answer.ended; });
  if (answer.ended) co_return Attempt{true, judge_health(answer)};
  const bool late = absl::IsDeadlineExceeded(went) || absl::IsCancelled(went);
  co_return Attempt{late || exchange.peer_ready(), judge_failure(went)};
}

}  // namespace

asio::awaitable<Outcome> probe_grpc(Connection& connection, const Probe& probe, const Grpc& grpc,
                                    const ProbeWays& ways) {
  Duration wait = kFirstPause;
  for (;;) {
    Attempt tried = co_await attempt(connection, probe, grpc, ways);
    if (tried.settled) co_return tried.outcome;
    const bool again = co_await connection.pause(wait);
    if (!again) co_return tried.outcome;
    wait = std::min(wait * 2, kLongestPause);
  }
}

}  // namespace holdfast::probe
