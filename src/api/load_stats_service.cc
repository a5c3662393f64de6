#include "api/load_stats_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "net/task_group.h"
#include "net/within.h"

namespace holdfast::api {

namespace lrs = envoy::service::load_stats::v3;

namespace {

using Lrs = lrs::LoadReportingService::StubInterface::async_interface;

// How often it is looked whether this controller still deals.
constexpr Duration kLook = std::chrono::seconds(1);
// Of a stream that lasted so long it is not the server's fault that it ended.
constexpr Duration kLasted = std::chrono::minutes(1);
// A server that changes its mind faster is read more slowly.
constexpr Duration kBetweenReads = std::chrono::milliseconds(100);

void set_duration(google::protobuf::Duration& out, Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  out.set_seconds(seconds.count());
  out.set_nanos(static_cast<int32_t>((duration - seconds).count()));
}

// What it may say is from a foreign server: anything.
Duration duration_of(const google::protobuf::Duration& duration) {
  constexpr int64_t kMost = 365 * 24 * 3600;
  const int64_t seconds = std::clamp<int64_t>(duration.seconds(), 0, kMost);
  const int32_t nanos = std::clamp<int32_t>(duration.nanos(), 0, 999'999'999);
  return std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos);
}

}  // namespace

lrs::LoadStatsRequest to_proto(const std::vector<route::ClusterLoad>& clusters) {
  lrs::LoadStatsRequest request;
  for (const route::ClusterLoad& cluster : clusters) {
    lrs::ClusterStats& stats = *request.add_cluster_stats();
    stats.set_cluster_name(cluster.service);
    set_duration(*stats.mutable_load_report_interval(), cluster.interval);
    for (const route::LocalityLoad& load : cluster.localities) {
      lrs::UpstreamLocalityStats& locality = *stats.add_upstream_locality_stats();
      locality.mutable_locality()->set_zone(load.zone);
      // Both are read one after the other where they are counted.
      locality.set_total_successful_requests(load.closed - std::min(load.closed, load.failed));
      locality.set_total_requests_in_progress(load.active);
      locality.set_total_error_requests(load.failed);
      locality.set_total_issued_requests(load.opened);
      locality.set_total_active_connections(load.active);
      locality.set_total_new_connections(load.opened);
      locality.set_total_fail_connections(load.failed);
    }
  }
  return request;
}

route::LoadStats::Asked from_proto(const lrs::LoadStatsResponse& response) {
  route::LoadStats::Asked asked{.all = response.send_all_clusters(),
                                .interval = duration_of(response.load_reporting_interval())};
  if (asked.all) return asked;
  for (const std::string& name : response.clusters()) {
    if (asked.services.size() == route::LoadStats::kMaxNames) break;
    asked.services.insert(name);
  }
  return asked;
}

LoadStatsService::LoadStatsService(const asio::any_io_executor& executor, const Clock& clock,
                                   metrics::Registry& metrics, LoadStatsOptions options,
                                   DealerNow dealer)
    : clock_(clock),
      options_(std::move(options)),
      dealer_(std::move(dealer)),
      backoff_(options_.backoff, options_.seed),
      changed_(executor),
      asked_(metrics
                 .gauge({.name = "holdfast_load_stats_asked",
                         .help = "Whether a management server asks for load (xDS)."})
                 .with({})),
      reports_(metrics
                   .counter({.name = "holdfast_load_stats_reports_total",
                             .help = "Reports of load sent to a management server (xDS)."})
                   .with({})),
      failures_(metrics
                    .counter({.name = "holdfast_load_stats_failures_total",
                              .help = "Streams to a management server (xDS) that ended."})
                    .with({})),
      names_left_out_(metrics
                          .counter({.name = "holdfast_load_stats_names_left_out_total",
                                    .help = "Clusters that a management server (xDS) named beyond "
                                            "those it is told of."})
                          .with({})) {}

asio::awaitable<void> LoadStatsService::run() {
  for (;;) {
    while (dealer_() == nullptr) {
      const bool slept = co_await net::pause(kLook);
      if (!slept) co_return;
    }
    const Time began = clock_.now();
    const Status why = co_await keep_stream();
    const bool cancelled = co_await net::is_cancelled();
    if (cancelled) co_return;
    stats_.on_stream_ended();
    asked_.set(0);
    if (dealer_() == nullptr) continue;  // another deals, and tells
    failures_.add();
    if (clock_.now() - began > kLasted) backoff_.reset();
    const Duration wait = backoff_.next();
    log::warn("no stream of load reports", {{"server", options_.server},
                                            {"why", why.ToString()},
                                            {"again in", to_short_string(wait)}});
    const bool slept = co_await net::pause(wait);
    if (!slept) co_return;
  }
}

asio::awaitable<Status> LoadStatsService::keep_stream() {
  using namespace asio::experimental::awaitable_operators;
  const auto channel = rpc::make_channel(
      options_.server, {.tls = options_.tls, .max_message_bytes = kMaxLoadStatsMessageBytes});
  const auto stub = lrs::LoadReportingService::NewStub(channel);
  Stream stream(co_await asio::this_coro::executor);
  // As long as it lasts: a server that is gone is noticed by pings.
  stream.start(*stub->async(), &Lrs::StreamLoadStats, {.timeout = Duration::zero()});
  Status why = co_await write_in_time(stream, introduction());
  // What is started from here on would not know that all is to end.
  const bool cancelled = co_await net::is_cancelled();
  if (why.ok() && !cancelled) {
    const auto first =
        co_await (net::ending_by_value(read(stream)) || net::ending_by_value(write(stream)) ||
                  net::ending_by_value(while_dealing()));
    std::visit([&](const Status& ended) { why = ended; }, first);
  }
  stream.cancel();
  const Status ended = co_await stream.finish();
  // What we ended ourselves says nothing more.
  co_return absl::IsCancelled(ended) || ended.ok() ? why : ended;
}

lrs::LoadStatsRequest LoadStatsService::introduction() const {
  lrs::LoadStatsRequest request;
  lrs::Node& node = *request.mutable_node();
  node.set_id(options_.node);
  node.set_cluster("holdfast");
  node.mutable_locality()->set_zone(options_.zone);
  node.set_user_agent_name("holdfast");
  node.set_user_agent_version(options_.version);
  node.add_client_features("envoy.lrs.supports_send_all_clusters");
  return request;
}

void LoadStatsService::on_asked(const lrs::LoadStatsResponse& asked, const route::Dealer& dealer) {
  const route::LoadStats::Asked meant = from_proto(asked);
  const auto named = static_cast<size_t>(asked.clusters_size());
  if (!meant.all && named > route::LoadStats::kMaxNames) {
    names_left_out_.add(named - route::LoadStats::kMaxNames);
  }
  stats_.on_dealer(dealer.began());
  stats_.on_asked(meant, dealer.rows(clock_.now()), clock_.now());
  asked_.set(1);
  changed_.cancel();
}

asio::awaitable<Status> LoadStatsService::read(Stream& stream) {
  for (;;) {
    const std::optional<lrs::LoadStatsResponse> asked = co_await stream.read();
    if (!asked) {
      co_return absl::UnavailableError("the server ended the stream, or said what is no message");
    }
    const route::Dealer* dealer = dealer_();
    if (dealer != nullptr) on_asked(*asked, *dealer);
    const bool slept = co_await net::pause(kBetweenReads);
    if (!slept) co_return absl::CancelledError("no longer wanted");
  }
}

asio::awaitable<Status> LoadStatsService::write(Stream& stream) {
  for (;;) {
    const bool slept = co_await until_due();
    if (!slept) co_return absl::CancelledError("no longer wanted");
    const route::Dealer* dealer = dealer_();
    const Time now = clock_.now();
    if (dealer == nullptr || !stats_.due() || *stats_.due() > now) continue;
    stats_.on_dealer(dealer->began());
    CO_TRY_OK(co_await write_in_time(stream, to_proto(stats_.make(dealer->rows(now), now))));
    stats_.sent();
    reports_.add();
    backoff_.reset();
  }
}

// A server that does not read holds up its own reports only, and not for ever.
asio::awaitable<Status> LoadStatsService::write_in_time(Stream& stream,
                                                        lrs::LoadStatsRequest request) {
  const auto taken = [](Stream& to, lrs::LoadStatsRequest message) -> asio::awaitable<Status> {
    const bool ok = co_await to.write(std::move(message));
    co_return ok ? absl::OkStatus() : absl::UnavailableError("the server ended the stream");
  };
  return net::within(options_.write_timeout, taken(stream, std::move(request)),
                     absl::DeadlineExceededError("the server does not read"));
}

asio::awaitable<Status> LoadStatsService::while_dealing() {
  for (;;) {
    const bool slept = co_await net::pause(kLook);
    if (!slept || dealer_() == nullptr)
      co_return absl::CancelledError("this controller does not deal");
  }
}

// Or something else is asked; false if it was cancelled.
asio::awaitable<bool> LoadStatsService::until_due() {
  const bool before = co_await net::is_cancelled();
  if (before) co_return false;
  Duration longest = kLook;
  if (stats_.due()) longest = std::clamp(*stats_.due() - clock_.now(), Duration::zero(), kLook);
  changed_.expires_after(longest);
  co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
  const bool cancelled = co_await net::is_cancelled();
  co_return !cancelled;
}

}  // namespace holdfast::api
