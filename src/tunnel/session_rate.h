// So many a second and no more.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace holdfast::tunnel {

class RateLimit {
 public:
  explicit RateLimit(uint32_t most_per_second) : most_(most_per_second) {}

  // Counts one; false if it is one too many.
  bool allow(Time now) {
    if (now - since_ >= std::chrono::seconds(1)) {
      since_ = now;
      count_ = 0;
    }
    count_ += 1;
    return count_ <= most_;
  }

 private:
  uint32_t most_;
  uint32_t count_ = 0;
  Time since_{};
};

}  // namespace holdfast::tunnel
