// The kernel's 32-bit counters, which wrap, as totals that do not. Each reading adds what changed
// since the one before; the first reading of a key counts whole, so that a restarted agent shows
// long-lived connections at once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "track/address.h"

namespace holdfast::track {

// One key of the maps, read in one go.
struct CounterSample {
  Key key{};
  hf_counts counts{};
  hf_failures failures{};
  uint32_t reserved = 0;
};

// Connections now. A count below zero cannot be true and shows as zero; the audit will find it.
uint32_t active(const hf_counts& counts);

struct FailureTotals {
  uint64_t refused = 0;
  uint64_t timed_out = 0;
  uint64_t reset = 0;
  uint64_t gave_up = 0;
  uint64_t cut = 0;
  bool operator==(const FailureTotals&) const = default;
};

struct TotalsRow {
  uint64_t opened = 0;
  uint64_t closed = 0;
  uint32_t active = 0;
  FailureTotals failures{};
  bool operator==(const TotalsRow&) const = default;
};

class Totals {
 public:
  // A whole reading of the maps: keys that are not in it are forgotten.
  void update(std::span<const CounterSample> samples);
  // The key was removed from the maps; if it comes back it starts at zero.
  void forget(const Key& key);

  const std::map<Key, TotalsRow>& rows() const { return rows_; }

 private:
  std::map<Key, CounterSample> last_;
  std::map<Key, TotalsRow> rows_;
};

// Keys with connections, or with places of the lease taken: their services cannot be removed yet.
std::set<Key> busy_keys(std::span<const CounterSample> samples);

}  // namespace holdfast::track
