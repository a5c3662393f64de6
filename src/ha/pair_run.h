// One seed of the simulated pair: chaos, then all heals and it must converge.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ha/pair_chaos.h"

namespace holdfast::ha::sim {

struct Totals {
  uint64_t acks = 0;
  uint64_t reads = 0;
  uint64_t switches = 0;
  uint64_t faults = 0;
  uint64_t copies = 0;
  uint64_t quarantined = 0;
  Duration longest_heal{};
};

// What one seed came to.
struct Run {
  std::vector<std::string> failures;
  uint64_t trace = 0;
};

struct RunOptions {
  Bug bug = Bug::None;
  bool verbose = false;
};

Run run(uint64_t seed, const RunOptions& how, Totals& totals);
// What must hold once nothing goes wrong any more: one active half, the other in sync with the same
// chain, clients that write, and no more copies than were needed.
void heal(World& world, Totals& totals);

}  // namespace holdfast::ha::sim
