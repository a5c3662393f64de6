#include "base/clock.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(Clock, ManualHandsMoveTogetherAndOnlyWhenTold) {
  ManualClock clock;
  const Time before = clock.now();
  const WallTime wall_before = clock.wall_now();

  clock.advance(1500ms);

  EXPECT_EQ(clock.now() - before, 1500ms);
  EXPECT_EQ(clock.wall_now() - wall_before, 1500ms);
}

TEST(Clock, SystemClockNeverGoesBack) {
  const SystemClock clock;
  const Time first = clock.now();

  EXPECT_GE(clock.now(), first);
}

TEST(Clock, PrintsRfc3339InUtc) {
  EXPECT_EQ(to_rfc3339(WallTime(0ms)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(WallTime(1'700'000'000'250ms)), "2023-11-14T22:13:20.250Z");
  EXPECT_EQ(to_rfc3339(WallTime(-1ms)), "1969-12-31T23:59:59.999Z");
}

TEST(Clock, ClampsYearsThatHaveNoFourDigits) {
  EXPECT_EQ(to_rfc3339(WallTime::max()), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(to_rfc3339(WallTime::min()), "0000-01-01T00:00:00.000Z");
}

TEST(Clock, ShortStringsHaveAtMostTwoUnits) {
  EXPECT_EQ(to_short_string(850ms), "850ms");
  EXPECT_EQ(to_short_string(2s), "2s");
  EXPECT_EQ(to_short_string(192s), "3m12s");
  EXPECT_EQ(to_short_string(4h + 5min), "4h05m");
  EXPECT_EQ(to_short_string(146h), "6d2h");
  EXPECT_EQ(to_short_string(-2s), "-2s");
}

}  // namespace
}  // namespace holdfast
