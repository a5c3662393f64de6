#include "events/pace.h"

#include <gtest/gtest.h>

namespace holdfast::events {
namespace {

using namespace std::chrono_literals;

TEST(Pace, TheFirstRoundAndOneAfterAQuietTimeStartAtOnce) {
  Pace pace({.rest_factor = 3, .max_rest = 100ms});
  const Time start = Time(1s);

  EXPECT_EQ(pace.next_round(start), start);
  pace.round_done(start, start + 1ms);
  EXPECT_EQ(pace.next_round(start + 1s), start + 1s);
}

TEST(Pace, TheRestIsAsLongAsTheRoundWasCostly) {
  Pace pace({.rest_factor = 3, .max_rest = 100ms});
  const Time start = Time(1s);

  pace.round_done(start, start + 10ms);

  EXPECT_EQ(pace.next_round(start + 10ms), start + 40ms);
}

TEST(Pace, TheRestIsBounded) {
  Pace pace({.rest_factor = 3, .max_rest = 100ms});
  const Time start = Time(1s);

  pace.round_done(start, start + 5s);

  EXPECT_EQ(pace.next_round(start + 5s), start + 5s + 100ms);
}

}  // namespace
}  // namespace holdfast::events
