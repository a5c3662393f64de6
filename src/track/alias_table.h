// Weights as an alias table: one random number finds a column, a coin decides between the column's
// own backend and one other. A choice costs the same however many backends there are, and is exact
// to 1 in 2^32 per column.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::track {

struct AliasColumn {
  uint32_t threshold = 0;  // the own one if the coin is not above it
  uint16_t alias = 0;
  bool operator==(const AliasColumn&) const = default;
};

// One column per weight. Requires: 1 to 65,535 weights, each above zero.
std::vector<AliasColumn> make_alias_table(std::span<const uint32_t> weights);

}  // namespace holdfast::track
