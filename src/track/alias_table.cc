#include "track/alias_table.h"

#include <numeric>

#include "base/check.h"

namespace holdfast::track {

// Whole numbers throughout: each weight times the number of columns, poured into columns that hold
// the sum of all weights. A column short of that takes the rest from one that has too much.
std::vector<AliasColumn> make_alias_table(std::span<const uint32_t> weights) {
  HF_CHECK(!weights.empty() && weights.size() <= UINT16_MAX, "1 to 65,535 weights");
  const uint64_t full = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  std::vector<uint64_t> rest;
  std::vector<uint16_t> small;
  std::vector<uint16_t> large;
  for (const uint32_t weight : weights) {
    HF_CHECK(weight > 0, "weights above zero");
    const auto index = static_cast<uint16_t>(rest.size());
    rest.push_back(weight * uint64_t{weights.size()});
    (rest.back() < full ? small : large).push_back(index);
  }
  std::vector<AliasColumn> columns(weights.size());
  for (uint16_t i = 0; i < columns.size(); ++i) columns[i] = {.threshold = UINT32_MAX, .alias = i};
  while (!small.empty() && !large.empty()) {
    const uint16_t needy = small.back();
    const uint16_t giver = large.back();
    small.pop_back();
    const auto share = (static_cast<unsigned __int128>(rest[needy]) << 32) / full;
    columns[needy] = {.threshold = static_cast<uint32_t>(share == 0 ? 0 : share - 1),
                      .alias = giver};
    rest[giver] -= full - rest[needy];
    if (rest[giver] >= full) continue;
    large.pop_back();
    small.push_back(giver);
  }
  return columns;
}

}  // namespace holdfast::track
