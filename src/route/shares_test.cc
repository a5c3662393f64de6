#include "route/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "route/load.h"

namespace holdfast::route {
namespace {

struct Filled {
  uint64_t level;
  uint64_t rest;
  bool operator==(const Filled&) const = default;
};

Filled filled(const std::vector<uint64_t>& wishes, uint64_t rest) {
  const uint64_t level = fill(wishes, rest);
  return {level, rest};
}

TEST(SharesTest, WishesThatFitAreFilledWhole) {
  EXPECT_EQ(filled({3, 0, 4}, 10), (Filled{kNoLimit, 3}));
  EXPECT_EQ(filled({3, 4}, 7), (Filled{kNoLimit, 0}));
  EXPECT_EQ(filled({}, 7), (Filled{kNoLimit, 7}));
}

TEST(SharesTest, WishesThatDoNotFitAreFilledEvenly) {
  EXPECT_EQ(filled({10, 10, 10}, 15), (Filled{5, 0}));
  EXPECT_EQ(filled({1, 10, 10}, 15), (Filled{7, 0}));
  EXPECT_EQ(filled({1, 1, 100}, 52), (Filled{50, 0}));
  EXPECT_EQ(filled({4, 4, 4}, 2), (Filled{0, 0}));
  EXPECT_EQ(filled({4}, 0), (Filled{0, 0}));
}

TEST(SharesTest, BeyondTheFirstPlaceWeightsDecide) {
  const Sharing sharing{.capacity = 120, .holders = 20, .weights = 10};

  EXPECT_EQ(fixed_share(sharing, 0), 1u);
  EXPECT_EQ(fixed_share(sharing, 0.25), 1u + 2);
  EXPECT_EQ(fixed_share(sharing, 5), 1u + 50);
  EXPECT_EQ(fixed_share(sharing, 99), 1u + 100);
}

TEST(SharesTest, FixedSharesAreNeverNothingAndNeverMoreThanThereIs) {
  Rng rng(1);
  for (int run = 0; run < 2000; ++run) {
    std::vector<double> weights(1 + rng.below(30));
    for (double& weight : weights) weight = static_cast<double>(rng.below(1000)) / 7;
    Sharing sharing{.capacity = rng.below(200), .holders = weights.size()};
    sharing.weights = std::accumulate(weights.begin(), weights.end(), 0.1);

    uint64_t sum = 0;
    for (const double weight : weights) {
      const uint64_t share = fixed_share(sharing, weight);
      EXPECT_EQ(share == 0, sharing.capacity == 0);
      sum += share;
    }
    EXPECT_LE(sum, sharing.capacity == 0 ? 0 : std::max(sharing.capacity, weights.size()));
  }
}

}  // namespace
}  // namespace holdfast::route
