// How long a cache waits before it tries again. The first wait is anything up to a 16th of the
// longest, so that a crowd that lost its server at one moment does not come back at one moment;
// then they double from there, each drawn from its upper half.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "base/rng.h"

namespace holdfast::cache {

class RetryDelay {
 public:
  RetryDelay(Duration longest, uint64_t seed) : longest_(longest), rng_(seed) {}

  Duration next() {
    const int failures = failures_++;
    if (failures == 0) return rng_.below(longest_ / 16);
    return upper_half(longest_ / 16 * (int64_t{1} << std::min(failures - 1, 4)));
  }
  // For what will hardly change soon.
  Duration slow() { return upper_half(longest_); }
  void reset() { failures_ = 0; }

 private:
  Duration upper_half(Duration step) { return step / 2 + rng_.below(step - step / 2); }

  Duration longest_;
  Rng rng_;
  int failures_ = 0;
};

}  // namespace holdfast::cache
