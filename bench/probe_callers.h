// Callers of the handler that cost as little as callers can: one thread, plain system calls, so
// that what is measured is the handler.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "probe_load.h"

namespace holdfast::bench {

struct CallerLoad {
  uint16_t port = 0;
  std::string target{};
  int at_once = 1;
  bool kept = false;  // connections are used again; the kubelet makes a new one each time
  Duration time = std::chrono::hours(24);
  uint64_t count = UINT64_MAX;
};

ProbeTimes call_handler(const CallerLoad& load);

}  // namespace holdfast::bench
