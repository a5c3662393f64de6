#include "probe/prober_service.h"

#include <boost/asio/this_coro.hpp>

#include <optional>

#include "probe/connection_service.h"
#include "probe/deadline_service.h"
#include "probe/grpc_prober_service.h"
#include "probe/http_check.h"
#include "probe/http_prober_service.h"

namespace holdfast::probe {
namespace {

asio::awaitable<Outcome> probe_tcp(Connection& connection, const Probe& probe,
                                   const ProbeWays& ways) {
  const std::string& host = probe.host.empty() ? ways.address : probe.host;
  const Status opened = co_await connection.open({host, probe.port, ways.source});
  if (!opened.ok()) co_return judge_failure(opened);
  co_return Outcome{.healthy = true, .reason = "connected"};
}

}  // namespace

struct ProberService::Shared {
  Shared(const asio::any_io_executor& executor, ProberOptions given)
      : loop(executor), options(std::move(given)), deadlines(executor) {}

  asio::awaitable<Outcome> carry_out(Connection& connection, const Probe& probe,
                                     const ProbeWays& ways) {
    if (const auto* http = std::get_if<HttpGet>(&probe.action)) {
      return probe_http(connection, probe, *http, ways);
    }
    if (const auto* grpc = std::get_if<Grpc>(&probe.action)) {
      return probe_grpc(connection, probe, *grpc, ways);
    }
    return probe_tcp(connection, probe, ways);
  }
  void count(const Outcome& outcome, bool cancelled) {
    stats.running -= 1;
    stats.healthy += outcome.healthy ? 1 : 0;
    stats.cancelled += cancelled ? 1 : 0;
    stats.errors += outcome.error ? 1 : 0;
    stats.failed += outcome.healthy || outcome.error || cancelled ? 0 : 1;
  }

  asio::any_io_executor loop;
  ProberOptions options;
  Deadlines deadlines;
  UnverifiedTls tls;
  ProberStats stats;
};

ProberService::ProberService(const asio::any_io_executor& loop, ProberOptions options)
    : shared_(std::make_unique<Shared>(loop, std::move(options))) {}

ProberService::~ProberService() = default;

const ProberStats& ProberService::stats() const {
  return shared_->stats;
}

asio::awaitable<Outcome> ProberService::run(const Probe& probe, Closing closing) {
  Shared& shared = *shared_;
  shared.stats.started += 1;
  if (shared.stats.running >= shared.options.max_running) {
    shared.stats.refused_full += 1;
    co_return judge_failure(absl::ResourceExhaustedError("too many probes run at once"));
  }
  shared.stats.running += 1;
  // Cancelled, what is waited for ends with an error, and the outcome says so.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  const ProberOptions& options = shared.options;
  std::optional<Connection> connection(std::in_place, shared.loop, shared.deadlines,
                                       probe.hook ? options.hook_timeout : probe.timeout);
  const ProbeWays ways{options.address, options.source, shared.tls,
                       probe.hook ? options.hook_user_agent : options.user_agent};
  Outcome outcome = co_await shared.carry_out(*connection, probe, ways);
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  const bool cancelled = state.cancelled() != asio::cancellation_type::none;
  if (closing == Closing::Soon && !cancelled) connection->close_soon();
  connection.reset();
  if (cancelled) outcome = judge_failure(absl::CancelledError("cancelled"));
  shared.count(outcome, cancelled);
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return outcome;
}

}  // namespace holdfast::probe
