// Probes made again and again by our own prober, some at once, on one loop: how many, how long.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "probe/probe.h"

namespace holdfast::bench {

struct ProbeLoad {
  probe::Probe probe{};
  int at_once = 1;
  // Ends with whichever comes first.
  Duration time = std::chrono::hours(24);
  uint64_t count = UINT64_MAX;
};

struct ProbeTimes {
  double per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
  uint64_t made = 0;
  uint64_t unhealthy = 0;
};

ProbeTimes run_load(const ProbeLoad& load);

}  // namespace holdfast::bench
