// Whether the counters are true: what they say is compared with the sockets that are alive. The
// counters are read before and after the sockets are listed; what opened or closed meanwhile makes
// the comparison a range, and only what lies outside it is drift. On a quiet node the range is one
// number and the comparison exact.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "track/totals.h"

namespace holdfast::track {

struct Drift {
  Key key{};
  int64_t active = 0;    // counted and not alive; negative: alive and not counted
  int64_t reserved = 0;  // places taken by nobody; negative: held and not taken
  bool operator==(const Drift&) const = default;
};

// The keys that are not right, with how far at least.
std::vector<Drift> find_drift(std::span<const CounterSample> before, std::span<const hf_live> alive,
                              std::span<const CounterSample> after);

// What makes it right: missed ends are added to `closed`, missed beginnings to `opened`.
hf_repair repair_of(const Drift& drift);

}  // namespace holdfast::track
