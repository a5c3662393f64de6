#include "track/alias_table.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/rng.h"

namespace holdfast::track {
namespace {

// The share of each that the table gives, in parts of 1.
std::vector<double> shares(const std::vector<AliasColumn>& columns) {
  std::vector<double> sums(columns.size(), 0);
  for (size_t i = 0; i < columns.size(); ++i) {
    const double own = (columns[i].threshold + 1.0) / 4294967296.0;
    sums[i] += own / static_cast<double>(columns.size());
    sums[columns[i].alias] += (1 - own) / static_cast<double>(columns.size());
  }
  return sums;
}

TEST(AliasTable, EqualWeightsNeedNoCoin) {
  for (const AliasColumn& column : make_alias_table(std::vector<uint32_t>{5, 5, 5})) {
    EXPECT_EQ(column.threshold, UINT32_MAX);
  }
}

TEST(AliasTable, SharesAreTheWeightsForAnyWeights) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint32_t> weights(1 + rng.below(uint64_t{64}));
    for (uint32_t& weight : weights) weight = 1 + static_cast<uint32_t>(rng.below(uint64_t{1000}));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);

    const std::vector<double> found = shares(make_alias_table(weights));

    for (size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(found[i], weights[i] / sum, 1e-6);
  }
}

TEST(AliasTable, TheLargestWeightsDoNotOverflow) {
  const std::vector<double> found = shares(make_alias_table(std::vector<uint32_t>{UINT32_MAX, 1}));

  EXPECT_NEAR(found[0], 1, 1e-8);
}

}  // namespace
}  // namespace holdfast::track
