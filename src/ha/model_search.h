// Looks at every state that the model can reach, nearest first, so that what is found to be wrong
// comes with the shortest way there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ha/model_space.h"

namespace holdfast::ha::model {

struct Limits {
  uint64_t max_states = 4'000'000;
  bool heal = true;  // every state must heal
};

struct Found {
  uint64_t states = 0;
  uint64_t transitions = 0;
  uint32_t depth = 0;                // steps from the start to the farthest
  bool complete = false;             // there are no more states within the bounds
  std::string wrong{};               // empty: nothing
  std::vector<std::string> steps{};  // to what is wrong
};

Found search(const Options& options, const Limits& limits);

// `walks` ways of `steps` steps each, drawn from `seed`: deeper than a search gets where there is
// much of everything. Found::states are those that were met, some more than once.
struct Walks {
  uint64_t seed = 1;
  uint32_t walks = 0;
  uint32_t steps = 0;
};
Found walk(const Options& options, const Walks& walks);

}  // namespace holdfast::ha::model
