#include "delays.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

namespace holdfast::bench {

// Sixteen buckets for each doubling of the microseconds.
void DelayHistogram::record(int64_t nanoseconds) {
  const auto sixteenths = static_cast<uint64_t>(std::max<int64_t>(nanoseconds, 1000) * 16 / 1000);
  const int doublings = std::bit_width(sixteenths) - 5;
  const size_t bucket = static_cast<size_t>(doublings) * 16 + (sixteenths >> doublings) - 16;
  buckets_[std::min(bucket, buckets_.size() - 1)].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
}

double DelayHistogram::percentile_ms(double share) const {
  const auto wanted = static_cast<uint64_t>(share * static_cast<double>(count_.load()));
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i].load();
    if (seen < wanted) continue;
    return std::ldexp(1.0 + static_cast<double>(i % 16) / 16, static_cast<int>(i / 16)) / 1e3;
  }
  return 0;
}

int64_t now_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace holdfast::bench
