// The controller's counters as metrics: brought up to date when someone asks for them, since the
// parts count in plain numbers of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "health/health.h"
#include "holdfast/v1/node.pb.h"
#include "metrics/metrics.h"

namespace holdfast::app {

class ControllerMetrics {
 public:
  explicit ControllerMetrics(metrics::Registry& registry) : registry_(registry) {}

  // `total` so far; the metric moves by the difference.
  void count(const metrics::Description& description, const metrics::Labels& labels,
             uint64_t total);
  void set(const metrics::Description& description, const metrics::Labels& labels, double value);
  // State of the process and its components, nodes, revision, certificates.
  void set_status(const v1::GetStatusResponse& status);

 private:
  metrics::Registry& registry_;
};

}  // namespace holdfast::app
