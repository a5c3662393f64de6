// What clients of a pair saw, from any thread: every call on its registers, and which half answered
// in which epoch.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "support/linear.h"

namespace holdfast::test {

// An answer that was given, not a refusal.
struct EpochSighting {
  std::string half{};
  uint64_t epoch = 0;
  Time called{};
  Time returned{};
};

// What is wrong about them, in words; empty: nothing. No epoch is of two halves; and nobody who
// asks after an answer of one epoch is given one of an earlier epoch.
std::vector<std::string> wrong_epochs(std::vector<EpochSighting> sightings);

class PairHistory {
 public:
  void add(RegisterCall call);
  void add(EpochSighting sighting);

  std::vector<RegisterCall> calls() const;
  std::vector<EpochSighting> sightings() const;
  size_t acknowledged_writes() const;
  // Acknowledged writes whose call began at `begin` or later.
  size_t acknowledged_writes_since(Time begin) const;

 private:
  mutable std::mutex mutex_;
  std::vector<RegisterCall> calls_;
  std::vector<EpochSighting> sightings_;
  size_t acknowledged_writes_ = 0;
};

}  // namespace holdfast::test
