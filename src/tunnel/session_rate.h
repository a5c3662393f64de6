// So many a second and no more.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace holdfast::tunnel {

class RateLimit {
 public:
  explicit RateLimit(uint32_t most_per_second) : most_(most_per_second) {}

  // Counts one; false if it is one too many.
  bool allow(Time now) {
    if (now - since_ >= kSecond) {
      since_ = now;
      count_ = 0;
    }
    count_ += 1;
    return count_ <= most_;
  }
  // Whether the next one would be one too many.
  bool is_used_up(Time now) const { return count_ >= most_ && now - since_ < kSecond; }

 private:
  static constexpr Duration kSecond = std::chrono::seconds(1);

  uint32_t most_;
  uint32_t count_ = 0;
  Time since_{};
};

// So many a second for as long as one likes, and so many more at once.
class BurstLimit {
 public:
  BurstLimit(uint32_t per_second, uint64_t burst)
      : per_second_(per_second), burst_(static_cast<double>(burst)), left_(burst_) {}

  // Counts one; false if it is one too many.
  bool allow(Time now) {
    const double passed = std::chrono::duration<double>(now - since_).count();
    if (passed > 0) left_ = std::min(burst_, left_ + passed * per_second_);
    since_ = std::max(since_, now);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  double per_second_;
  double burst_;
  double left_;
  Time since_{};
};

}  // namespace holdfast::tunnel
