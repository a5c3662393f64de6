#include "support/seeds.h"

#include <cstdlib>

namespace holdfast::test {

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Seeds seeds_from_environment(uint64_t count) {
  if (const uint64_t seed = number_from("HF_SIM_SEED", 0); seed != 0) {
    return {.first = seed, .count = 1, .alone = true};
  }
  return {.first = number_from("HF_SIM_FIRST", 1), .count = number_from("HF_SIM_SEEDS", count)};
}

}  // namespace holdfast::test
