// What the kernel counts, as metrics: connections by service and zone (connection_metrics.h), what
// audits found, and the kernel's own numbers. Zones that are not listed are not counted, so they
// have no rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "metrics/metrics.h"
#include "track/audit.h"
#include "track/connection_metrics.h"
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
      : registry_(registry), connections_(registry, most_rows) {}

  // After each reading of the counters.
  void show(const std::map<Key, TotalsRow>& rows, const Names& names);
  // After each reading of the kernel's own numbers, which never fall.
  void show(const hf_stats& stats);
  // After each audit: what it found, which it has mended.
  void show(const std::vector<Drift>& drifts);

 private:
  metrics::Registry& registry_;
  ConnectionMetrics connections_;
  hf_stats told_{};
};

}  // namespace holdfast::track
