// The seeds a simulation runs, from the environment:
//
//   HF_SIM_SEED=N    this seed alone, and the simulation prints its steps
//   HF_SIM_SEEDS=N   how many seeds
//   HF_SIM_FIRST=N   the first of them; `make test` derives it from the commit, so seeds rotate
#pragma once

#include <cstdint>

namespace holdfast::test {

struct Seeds {
  uint64_t first = 1;
  uint64_t count = 1;
  bool alone = false;  // HF_SIM_SEED was given

  uint64_t end() const { return first + count; }
};

// `count` seeds unless the environment says otherwise.
Seeds seeds_from_environment(uint64_t count);

// The number in an environment variable, or `otherwise` if it is not set.
uint64_t number_from(const char* variable, uint64_t otherwise);

}  // namespace holdfast::test
