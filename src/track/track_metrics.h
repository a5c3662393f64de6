// Connection counts as metrics, with the seed's labels:
//
//   holdfast_opened_connections_total{src_zone,dst_zone,svc_ip,svc_port,svc_proto}
//   holdfast_closed_connections_total{...}   holdfast_failed_connections_total{...,cause}
//   holdfast_active_connections{...}         and what is beside the counts of connections
//
// Only the busiest rows are shown (series.h); how many are hidden is a metric too. Zones that are
// not listed are not counted, so they have no rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "metrics/metrics.h"
#include "track/audit.h"
#include "track/series.h"
#include "track/totals.h"

namespace holdfast::track {

class TrackMetrics {
 public:
  // Names of what rows have numbers for. A row without a name is not shown.
  struct Names {
    std::string src_zone{};
    std::map<uint8_t, std::string> dst_zones{};
    std::map<uint16_t, Vip> services{};
  };

  TrackMetrics(metrics::Registry& registry, size_t most_rows)
      : registry_(registry), choice_(most_rows) {}

  // After each reading of the counters.
  void show(const std::map<Key, TotalsRow>& rows, const Names& names);
  // After each reading of the kernel's own numbers, which never fall.
  void show(const hf_stats& stats);
  // After each audit: what it found, which it has mended.
  void show(const std::vector<Drift>& drifts);

 private:
  struct Shown {
    metrics::Labels labels;
    TotalsRow told;
  };

  void hide_all_but(const std::map<Key, TotalsRow>& rows);
  void show_row(const TotalsRow& row, Shown& shown);
  void show_failures(const FailureTotals& now, Shown& shown);
  void remove(const Shown& shown);
  void count(const std::string& name, const std::string& help, uint64_t total, uint64_t& told);

  metrics::Registry& registry_;
  SeriesChoice choice_;
  std::map<Key, Shown> shown_;
  hf_stats told_{};
  uint64_t replaced_told_ = 0;
};

}  // namespace holdfast::track
