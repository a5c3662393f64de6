// Seeded randomness (SplitMix64): the same seed gives the same run, on every machine. Not for
// secrets.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/clock.h"

namespace holdfast {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  // Uniform in [0, bound). Requires: bound > 0.
  uint64_t below(uint64_t bound) {
    HF_CHECK(bound > 0, "a bound above zero");
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

  // Uniform in [0, bound); zero for a bound of zero or less.
  Duration below(Duration bound) {
    if (bound <= Duration::zero()) return Duration::zero();
    return Duration(below(static_cast<uint64_t>(bound.count())));
  }

 private:
  uint64_t state_;
};

}  // namespace holdfast
