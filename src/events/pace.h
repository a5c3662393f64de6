// When the next round of deliveries may start. A round costs time in proportion to its watchers, so
// the rest after it does too: few watchers are served at once, many are served in fewer, larger
// messages, and writers are never starved by watchers.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace holdfast::events {

struct PaceOptions {
  int rest_factor = 3;  // rest after a round, in units of its length
  Duration max_rest = std::chrono::milliseconds(100);
};

class Pace {
 public:
  explicit Pace(PaceOptions options) : options_(options) {}

  Time next_round(Time now) const { return std::max(now, earliest_); }
  void round_done(Time start, Time end) {
    earliest_ = end + std::min<Duration>(options_.max_rest, (end - start) * options_.rest_factor);
  }

 private:
  PaceOptions options_;
  Time earliest_{};
};

}  // namespace holdfast::events
