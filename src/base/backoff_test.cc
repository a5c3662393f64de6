#include "base/backoff.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DoublesWithinItsUpperHalfUpToTheCap) {
  Backoff backoff({.first = 100ms, .cap = 1s}, 1);

  for (const Duration step : {Duration(100ms), Duration(200ms), Duration(400ms), Duration(800ms),
                              Duration(1s), Duration(1s)}) {
    const Duration delay = backoff.next();
    EXPECT_GE(delay, step / 2);
    EXPECT_LT(delay, step);
  }
}

TEST(Backoff, ResetStartsOver) {
  Backoff backoff({.first = 100ms, .cap = 1s}, 1);
  for (int i = 0; i < 5; ++i) backoff.next();

  backoff.reset();

  EXPECT_LT(backoff.next(), 100ms);
}

TEST(Backoff, NeverOverflowsAfterManyFailures) {
  Backoff backoff({.first = 1s, .cap = 60s}, 1);

  for (int i = 0; i < 200; ++i) {
    const Duration delay = backoff.next();
    EXPECT_GT(delay, 0s);
    EXPECT_LT(delay, 60s);
  }
}

}  // namespace
}  // namespace holdfast
