// How long to wait before the next try: doubling up to a cap, each delay drawn from its upper half
// so that a crowd does not come back in step. Arithmetic only; the caller waits.
#pragma once

#include "base/clock.h"
#include "base/rng.h"

namespace holdfast {

struct BackoffOptions {
  Duration first = std::chrono::milliseconds(100);
  Duration cap = std::chrono::seconds(10);
};

class Backoff {
 public:
  Backoff(BackoffOptions options, uint64_t seed) : options_(options), rng_(seed) {}

  // The next delay: in [step/2, step), step doubling with each call up to the cap.
  Duration next();
  void reset() { failures_ = 0; }
  int failures() const { return failures_; }

 private:
  BackoffOptions options_;
  Rng rng_;
  int failures_ = 0;
};

}  // namespace holdfast
