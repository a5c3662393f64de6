// Connection counts as metrics, with the seed's labels, wherever they were counted: in the kernel
// or by a proxy.
//
//   holdfast_opened_connections_total{src_zone,dst_zone,svc_ip,svc_port,svc_proto}
//   holdfast_closed_connections_total{...}   holdfast_failed_connections_total{...,cause}
//   holdfast_active_connections{...}
//
// Only the busiest rows are shown (series.h); how many are hidden is a metric too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "metrics/metrics.h"
#include "track/series.h"
#include "track/totals.h"

namespace holdfast::track {

// Whose connections a row counts.
struct ConnectionNames {
  std::string src_zone{};
  std::string dst_zone{};
  std::string svc_ip{};
  uint32_t svc_port = 0;
  std::string svc_proto{};  // "tcp" or "udp"
};
metrics::Labels connection_labels(const ConnectionNames& names);

class ConnectionMetrics {
 public:
  using Rows = std::map<metrics::Labels, TotalsRow>;

  ConnectionMetrics(metrics::Registry& registry, size_t most_rows)
      : registry_(registry), choice_(most_rows) {}

  // All rows there are, after each reading of the counters.
  void show(const Rows& rows);

 private:
  void hide_all_but(const Rows& rows);
  void show_row(const metrics::Labels& labels, const TotalsRow& row, TotalsRow& told);
  void show_failures(const metrics::Labels& labels, const FailureTotals& now,
                     const FailureTotals& told);
  void remove(const metrics::Labels& labels);

  metrics::Registry& registry_;
  SeriesChoice choice_;
  std::map<metrics::Labels, TotalsRow> told_;  // of those that are shown
  uint64_t replaced_told_ = 0;
};

}  // namespace holdfast::track
