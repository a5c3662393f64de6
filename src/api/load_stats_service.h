// Tells a management server of another control plane about load, as an xDS client does
// (envoy.service.load_stats.v3): a stream to it, the counts it asks for, and a new stream when one
// ends. Only the controller that deals has the counts.
//
//   LoadStats (core) ◄── asked ── stream ──► server
//        └── make(rows) ── ClusterStats ──┘
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"
#include "envoy/service/load_stats/v3/lrs.grpc.pb.h"
#include "metrics/metrics.h"
#include "route/load_stats.h"
#include "rpc/bidi_stream.h"
#include "rpc/channel.h"

namespace holdfast::api {

namespace asio = boost::asio;

struct LoadStatsOptions {
  std::string server{};  // HOST:PORT
  std::optional<rpc::TlsOptions> tls{};
  std::string node{};  // who we say that we are
  std::string zone{};
  std::string version{};
  BackoffOptions backoff{.first = std::chrono::seconds(1), .cap = std::chrono::seconds(30)};
  Duration write_timeout = std::chrono::seconds(20);  // for a report to be taken
  uint64_t seed = 1;
};

// What a server may say at once, and we.
inline constexpr size_t kMaxLoadStatsMessageBytes = 1 << 20;

// What is sent, of what the core has made.
envoy::service::load_stats::v3::LoadStatsRequest to_proto(
    const std::vector<route::ClusterLoad>& clusters);
// What a server asks for, anything may be: of names at most LoadStats::kMaxNames.
route::LoadStats::Asked from_proto(
    const envoy::service::load_stats::v3::LoadStatsResponse& response);

class LoadStatsService {
 public:
  // Null while another controller deals.
  using DealerNow = std::function<const route::Dealer*()>;

  LoadStatsService(const asio::any_io_executor& executor, const Clock& clock,
                   metrics::Registry& metrics, LoadStatsOptions options, DealerNow dealer);

  // Until it is cancelled.
  asio::awaitable<void> run();

 private:
  using Stream = rpc::BidiStream<envoy::service::load_stats::v3::LoadStatsRequest,
                                 envoy::service::load_stats::v3::LoadStatsResponse>;
  asio::awaitable<Status> keep_stream();
  asio::awaitable<Status> read(Stream& stream);
  asio::awaitable<Status> write(Stream& stream);
  asio::awaitable<Status> write_in_time(Stream& stream,
                                        envoy::service::load_stats::v3::LoadStatsRequest request);
  asio::awaitable<Status> while_dealing();
  asio::awaitable<bool> until_due();
  void on_asked(const envoy::service::load_stats::v3::LoadStatsResponse& asked,
                const route::Dealer& dealer);
  envoy::service::load_stats::v3::LoadStatsRequest introduction() const;

  const Clock& clock_;
  LoadStatsOptions options_;
  DealerNow dealer_;
  route::LoadStats stats_;
  Backoff backoff_;
  asio::steady_timer changed_;  // what is asked
  metrics::Gauge asked_;
  metrics::Counter reports_;
  metrics::Counter failures_;
  metrics::Counter names_left_out_;
};

}  // namespace holdfast::api
