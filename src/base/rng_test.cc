#include "base/rng.h"

#include <gtest/gtest.h>

#include <array>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(Rng, SameSeedSameSequence) {
  Rng a(42), b(42), other(43);

  EXPECT_EQ(a.next(), b.next());
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), other.next());
}

TEST(Rng, BelowStaysBelowAndReachesEverything) {
  Rng rng(7);
  std::array<int, 5> hits{};

  for (int i = 0; i < 1000; ++i) hits.at(rng.below(hits.size()))++;

  for (int count : hits) EXPECT_GT(count, 100);
}

TEST(Rng, DurationsBelowZeroBoundAreZero) {
  Rng rng(7);

  EXPECT_EQ(rng.below(0ns), 0ns);
  EXPECT_EQ(rng.below(-5s), 0ns);
  EXPECT_LT(rng.below(Duration(5s)), 5s);
}

}  // namespace
}  // namespace holdfast
