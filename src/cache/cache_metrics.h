// What a cache counts, as metrics. Brought up to date when describe() changes and when someone asks
// for them; the parts count in plain numbers of their own.
#pragma once

#include <cstdint>
#include <map>

#include "base/clock.h"
#include "base/result.h"
#include "cache/cache.h"
#include "metrics/metrics.h"

namespace holdfast::cache {

class CacheMetrics {
 public:
  explicit CacheMetrics(metrics::Registry& registry) : registry_(registry) {}

  // What the service's parts have counted so far.
  struct Numbers {
    uint64_t reads_from_table = 0;
    uint64_t reads_from_last_good = 0;
    std::map<absl::StatusCode, uint64_t> upstream_reads;
    uint64_t memo_hits = 0;
    uint64_t memo_dropped = 0;
    uint64_t listings_dropped = 0;
    uint64_t copy_saves = 0;
    uint64_t copy_failed_saves = 0;
    uint64_t copy_failed_loads = 0;
  };
  void update(const Cache& cache, const Numbers& numbers, WallTime now);

 private:
  void count(const metrics::Description& description, const metrics::Labels& labels,
             uint64_t total);
  void set(const metrics::Description& description, const metrics::Labels& labels, double value);
  void show_kinds(const Cache& cache, WallTime now);
  void show_stats(const CacheStats& stats);
  void show_reads(const Numbers& numbers);

  metrics::Registry& registry_;
};

}  // namespace holdfast::cache
