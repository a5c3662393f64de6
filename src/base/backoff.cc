#include "base/backoff.h"

#include <algorithm>

namespace holdfast {

Duration Backoff::next() {
  constexpr int kMostDoublings = 20;
  const int doublings = std::min(failures_, kMostDoublings);
  failures_ += 1;
  const Duration step = std::min(options_.cap, options_.first * (int64_t{1} << doublings));
  return step / 2 + rng_.below(step - step / 2);
}

}  // namespace holdfast
