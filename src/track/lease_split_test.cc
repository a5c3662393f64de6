#include "track/lease_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/rng.h"

namespace holdfast::track {
namespace {

using testing::ElementsAre;

TEST(LeaseSplit, OnePortHasItAll) {
  EXPECT_THAT(split_lease(7, std::vector<PortDemand>{{.taken = 9, .before = 2}}), ElementsAre(7));
}

TEST(LeaseSplit, WhoHasMoreGetsMoreAndNothingIsLost) {
  EXPECT_THAT(split_lease(10, std::vector<PortDemand>{{.taken = 8}, {.taken = 0}}),
              ElementsAre(9, 1));
  EXPECT_THAT(split_lease(10, std::vector<PortDemand>{{}, {}, {}}), ElementsAre(4, 3, 3));
}

TEST(LeaseSplit, WhatAddsUpStaysWhileNobodyIsShort) {
  const std::vector<PortDemand> ports = {{.taken = 3, .before = 5}, {.taken = 0, .before = 5}};

  EXPECT_THAT(split_lease(10, ports), ElementsAre(5, 5));
}

// The second is short: the first is told less, and only then the second is told more.
TEST(LeaseSplit, MoreIsGivenOnlyAfterItWasTakenAway) {
  std::vector<PortDemand> ports = {{.taken = 1, .before = 8}, {.taken = 2, .before = 2}};

  const std::vector<uint32_t> first = split_lease(10, ports);

  EXPECT_THAT(first, ElementsAre(4, 2));
  ports[0].before = first[0];
  EXPECT_THAT(split_lease(10, ports), ElementsAre(4, 6));
}

TEST(LeaseSplit, NeverMoreThanTheLeaseWhateverHappensBetween) {
  Rng rng(11);
  for (int run = 0; run < 2'000; ++run) {
    std::vector<PortDemand> ports(2 + rng.below(4));
    uint32_t lease = static_cast<uint32_t>(rng.below(40));
    std::vector<uint32_t> limits = split_lease(lease, ports);
    for (int round = 0; round < 12; ++round) {
      // Between two rounds each port takes or gives back what it may.
      uint64_t taken = 0;
      for (size_t i = 0; i < ports.size(); ++i) {
        ports[i].before = limits[i];
        ports[i].taken = static_cast<uint32_t>(rng.below(uint64_t{limits[i]} + 1));
      }
      const std::vector<uint32_t> next = split_lease(lease, ports);
      // The worst moment: a port still has its old limit, the others have their new ones.
      for (size_t i = 0; i < ports.size(); ++i) taken += std::max(limits[i], next[i]);
      ASSERT_LE(taken, lease) << "run " << run << ", round " << round;
      limits = next;
    }
  }
}

TEST(LeaseSplit, AllOfItIsGivenAfterAFewRounds) {
  std::vector<PortDemand> ports = {{.taken = 3, .before = 90}, {.taken = 9, .before = 10}};
  for (int round = 0; round < 3; ++round) {
    const std::vector<uint32_t> limits = split_lease(100, ports);
    for (size_t i = 0; i < ports.size(); ++i) ports[i].before = limits[i];
  }

  EXPECT_EQ(ports[0].before + ports[1].before, 100u);
  EXPECT_GT(ports[1].before, 60u);
}

}  // namespace
}  // namespace holdfast::track
