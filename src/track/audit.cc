#include "track/audit.h"

#include <algorithm>

namespace holdfast::track {
namespace {

struct Alive {
  int64_t counted = 0;
  int64_t places = 0;
};

std::map<Key, Alive> by_key(std::span<const hf_live> alive) {
  std::map<Key, Alive> keys;
  for (const hf_live& flow : alive) {
    Alive& sum = keys[flow.key];
    const bool open = flow.state == HF_FLOW_OPEN || flow.state == HF_FLOW_ESTABLISHED;
    if (open && (flow.flags & HF_COUNTED) != 0) sum.counted += 1;
    if ((flow.flags & HF_HOLDS_PLACE) != 0) sum.places += 1;
  }
  return keys;
}

int64_t signed_difference(uint32_t one, uint32_t other) {
  return static_cast<int32_t>(one - other);
}

// How far `value` is outside [low, high]: positive if the range lies above it.
int64_t outside(int64_t value, int64_t low, int64_t high) {
  if (value < low) return low - value;
  if (value > high) return high - value;
  return 0;
}

Drift compare(const CounterSample& before, const Alive& alive, const CounterSample& after) {
  const int64_t opened = signed_difference(after.counts.opened, before.counts.opened);
  const int64_t closed = signed_difference(after.counts.closed, before.counts.closed);
  const int64_t counted = signed_difference(before.counts.opened, before.counts.closed);
  Drift drift{.key = before.key};
  drift.active = outside(alive.counted, counted - closed, counted + opened);
  // A place is taken shortly before the connection is counted, and may be given back without one:
  // with traffic there is no bound, so it is judged on its own only when nothing moved. But an end
  // gives back the place with the count: those that were missed left their places behind, and no
  // more of them than are taken and by nobody who was there.
  const int64_t left = signed_difference(before.reserved, 0) - alive.places;
  if (opened == 0 && closed == 0 && before.reserved == after.reserved) {
    drift.reserved = left;
  } else if (drift.active > 0) {
    drift.reserved = std::clamp<int64_t>(left - closed, 0, drift.active);
  }
  return drift;
}

}  // namespace

std::vector<Drift> find_drift(std::span<const CounterSample> before, std::span<const hf_live> alive,
                              std::span<const CounterSample> after) {
  const std::map<Key, Alive> sums = by_key(alive);
  std::map<Key, const CounterSample*> later;
  for (const CounterSample& sample : after) later[sample.key] = &sample;
  std::vector<Drift> drifts;
  for (const CounterSample& sample : before) {
    const auto again = later.find(sample.key);
    if (again == later.end()) continue;
    const auto sum = sums.find(sample.key);
    const Drift drift = compare(sample, sum == sums.end() ? Alive{} : sum->second, *again->second);
    if (drift.active != 0 || drift.reserved != 0) drifts.push_back(drift);
  }
  return drifts;
}

hf_repair repair_of(const Drift& drift) {
  hf_repair repair{.key = drift.key};
  if (drift.active > 0) repair.closed = static_cast<uint32_t>(drift.active);
  if (drift.active < 0) repair.opened = static_cast<uint32_t>(-drift.active);
  repair.reserved = static_cast<uint32_t>(-drift.reserved);
  return repair;
}

}  // namespace holdfast::track
