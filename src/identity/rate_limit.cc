#include "identity/rate_limit.h"

#include <algorithm>

namespace holdfast::identity {

bool RateLimit::admit(const std::string& caller, Time now) {
  const auto known = buckets_.find(caller);
  if (known == buckets_.end()) {
    if (!by_use_.empty() && buckets_.size() >= options_.max_callers) {
      buckets_.erase(by_use_.back().caller);
      by_use_.pop_back();
    }
    by_use_.push_front({.caller = caller, .tokens = options_.burst, .filled = now});
    buckets_.emplace(caller, by_use_.begin());
  } else {
    by_use_.splice(by_use_.begin(), by_use_, known->second);
  }
  Bucket& bucket = by_use_.front();
  if (now > bucket.filled) {
    const std::chrono::duration<double> passed = now - bucket.filled;
    bucket.tokens = std::min(options_.burst, bucket.tokens + passed.count() * options_.per_second);
    bucket.filled = now;
  }
  if (bucket.tokens < 1) {
    refused_ += 1;
    return false;
  }
  bucket.tokens -= 1;
  return true;
}

}  // namespace holdfast::identity
