// How long things took: a histogram that every thread may add to.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace holdfast::bench {

// Delays in buckets 6 % wide; counted from any thread.
class DelayHistogram {
 public:
  void record(int64_t nanoseconds);
  double percentile_ms(double share) const;
  uint64_t count() const { return count_.load(); }

 private:
  std::array<std::atomic<uint32_t>, 512> buckets_{};
  std::atomic<uint64_t> count_ = 0;
};

int64_t now_nanoseconds();

}  // namespace holdfast::bench
