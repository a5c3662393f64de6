// A token bucket per caller, bounded in number: what one identity may ask in a second.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace holdfast::identity {

struct RateLimitOptions {
  double per_second = 200;
  double burst = 400;
  size_t max_callers = 65'536;  // the longest unseen is forgotten
};

class RateLimit {
 public:
  explicit RateLimit(RateLimitOptions options) : options_(options) {}
  // Whether `caller` may go on; takes one from its bucket if so.
  bool admit(const std::string& caller, Time now);
  uint64_t refused() const { return refused_; }
  size_t size() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::string caller;
    double tokens;
    Time filled;
  };
  RateLimitOptions options_;
  std::list<Bucket> by_use_;  // the last used first
  std::unordered_map<std::string, std::list<Bucket>::iterator> buckets_;
  uint64_t refused_ = 0;
};

}  // namespace holdfast::identity
