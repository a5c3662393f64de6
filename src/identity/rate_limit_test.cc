#include "identity/rate_limit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace holdfast::identity {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Time kStart(seconds(1000));
constexpr RateLimitOptions kTenASecond{.per_second = 10, .burst = 20, .max_callers = 3};

int admitted_at(RateLimit& limit, const std::string& caller, Time now, int asked = 1000) {
  int admitted = 0;
  for (int i = 0; i < asked; ++i) admitted += limit.admit(caller, now) ? 1 : 0;
  return admitted;
}

TEST(RateLimit, AllowsABurstAndThenTheRate) {
  RateLimit limit(kTenASecond);

  EXPECT_EQ(admitted_at(limit, "a", kStart), 20);
  EXPECT_EQ(admitted_at(limit, "a", kStart + milliseconds(99)), 0);
  EXPECT_EQ(admitted_at(limit, "a", kStart + milliseconds(101)), 1);
  EXPECT_EQ(admitted_at(limit, "a", kStart + milliseconds(1101)), 10);
}

TEST(RateLimit, NeverGathersMoreThanTheBurst) {
  RateLimit limit(kTenASecond);
  limit.admit("a", kStart);

  EXPECT_EQ(admitted_at(limit, "a", kStart + seconds(3600)), 20);
}

TEST(RateLimit, CallersDoNotTakeFromEachOther) {
  RateLimit limit(kTenASecond);
  admitted_at(limit, "a", kStart);

  EXPECT_EQ(admitted_at(limit, "b", kStart), 20);
}

TEST(RateLimit, CountsWhatItRefuses) {
  RateLimit limit(kTenASecond);

  admitted_at(limit, "a", kStart, 25);

  EXPECT_EQ(limit.refused(), 5u);
}

TEST(RateLimit, OverAnHourTheRateHolds) {
  RateLimit limit(kTenASecond);
  int admitted = 0;
  for (int i = 0; i < 36'000; ++i) {
    admitted += admitted_at(limit, "a", kStart + milliseconds(100) * i, 3);
  }

  EXPECT_NEAR(admitted, 36'000 + 20, 2);
}

TEST(RateLimit, ForgetsTheLongestUnseenCaller) {
  RateLimit limit(kTenASecond);
  for (const char* caller : {"a", "b", "c"}) admitted_at(limit, caller, kStart);
  EXPECT_FALSE(limit.admit("a", kStart));  // seen again, though refused

  EXPECT_TRUE(limit.admit("d", kStart));  // in place of b

  EXPECT_EQ(limit.size(), 3u);
  EXPECT_FALSE(limit.admit("a", kStart));
  EXPECT_FALSE(limit.admit("c", kStart));
  EXPECT_TRUE(limit.admit("b", kStart));
}

TEST(RateLimit, ManyCallersStayWithinTheLimit) {
  RateLimit limit({.per_second = 1, .burst = 1, .max_callers = 100});
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(limit.admit(fmt::format("c{}", i), kStart));

  EXPECT_EQ(limit.size(), 100u);
}

TEST(RateLimit, TimeThatDoesNotMoveGivesNothing) {
  RateLimit limit(kTenASecond);
  admitted_at(limit, "a", kStart);

  EXPECT_FALSE(limit.admit("a", kStart));
  EXPECT_FALSE(limit.admit("a", kStart - seconds(10)));
  EXPECT_FALSE(limit.admit("a", kStart));
}

}  // namespace
}  // namespace holdfast::identity
