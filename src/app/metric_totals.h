// Counters and values of parts that count in plain numbers of their own, as metrics: brought up to
// date now and then, or when someone asks for them.
#pragma once

#include <cstdint>

#include "metrics/metrics.h"

namespace holdfast::app {

class MetricTotals {
 public:
  explicit MetricTotals(metrics::Registry& registry) : registry_(registry) {}

  // `total` so far; the metric moves by the difference.
  void count(const metrics::Description& description, const metrics::Labels& labels,
             uint64_t total);
  void set(const metrics::Description& description, const metrics::Labels& labels, double value);

 private:
  metrics::Registry& registry_;
};

}  // namespace holdfast::app
