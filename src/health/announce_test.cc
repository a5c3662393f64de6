#include "health/announce.h"

#include <gtest/gtest.h>

namespace holdfast::health {
namespace {

using namespace std::chrono_literals;

TEST(TtlFor, GrowsWithTheSquareRootOfTheFleetUpToItsLimit) {
  const TtlOptions agents{.ttl = 60s, .max_ttl = 360s};
  struct Case {
    size_t count;
    Duration ttl;
  };
  for (const Case& one : {Case{0, 60s},
                          {1, 60s},
                          {1'024, 60s},
                          {4'096, 120s},
                          {9'216, 180s},
                          {36'864, 360s},
                          {36'865, 360s},
                          {10'000'000, 360s}}) {
    EXPECT_EQ(ttl_for(agents, one.count), one.ttl) << one.count;
  }
}

TEST(TtlFor, IsAlwaysTheSameWhenTheLimitIsTheTtl) {
  for (const Duration limit : {30s, 10s, 0s}) {
    for (const size_t count : {0, 1'024, 30'000, 1'000'000}) {
      EXPECT_EQ(ttl_for({.ttl = 30s, .max_ttl = limit}, count), 30s) << count;
    }
  }
}

TEST(TtlFor, NeverShrinksAsTheFleetGrows) {
  Duration before = 0s;
  for (size_t count = 0; count < 100'000; count += 97) {
    const Duration ttl = ttl_for({.ttl = 60s, .max_ttl = 500s}, count);
    ASSERT_GE(ttl, before) << count;
    before = ttl;
  }
}

TEST(AnnouncePeriod, IsHalfTheTtlAndUpToATenthMore) {
  Rng rng(1);
  Duration shortest = 1h;
  Duration longest = 0s;
  for (int i = 0; i < 10'000; ++i) {
    const Duration period = announce_period(60s, rng);
    shortest = std::min(shortest, period);
    longest = std::max(longest, period);
  }

  EXPECT_GE(shortest, 30s);
  EXPECT_LT(shortest, 30s + 10ms) << "the whole span is used";
  EXPECT_LT(longest, 36s);
  EXPECT_GT(longest, 36s - 10ms);
}

TEST(AnnouncePeriod, OfNothingIsNothing) {
  Rng rng(1);
  EXPECT_EQ(announce_period(0s, rng), 0s);
}

}  // namespace
}  // namespace holdfast::health
