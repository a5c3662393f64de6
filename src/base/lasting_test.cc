#include "base/lasting.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(Lasting, BeginsAtOnceAndOutlastsAMoment) {
  Lasting lasting(400ms);
  EXPECT_FALSE(lasting.holds());
  lasting.note(true, Time(1s));
  EXPECT_TRUE(lasting.holds());

  lasting.note(false, Time(2s));
  lasting.note(false, Time(2s + 399ms));
  EXPECT_TRUE(lasting.holds());
  lasting.note(true, Time(2s + 400ms));
  EXPECT_TRUE(lasting.holds());
}

TEST(Lasting, EndsWhenItWasGoneForSoLong) {
  Lasting lasting(400ms);
  lasting.note(true, Time(1s));
  lasting.note(false, Time(2s));
  lasting.note(false, Time(2s + 400ms));
  EXPECT_FALSE(lasting.holds());

  lasting.note(true, Time(3s));
  EXPECT_TRUE(lasting.holds());
}

// Who was asleep has not seen it gone for all that time.
TEST(Lasting, CountsFromWhenItsAbsenceWasFirstSeen) {
  Lasting lasting(400ms);
  lasting.note(true, Time(1s));

  lasting.note(false, Time(60s));
  EXPECT_TRUE(lasting.holds());
}

TEST(Lasting, HasNoMomentBeforeItBeganOrAfterItsEnd) {
  Lasting lasting(400ms);
  lasting.note(false, Time(1s));
  EXPECT_FALSE(lasting.holds());

  lasting.note(true, Time(2s));
  lasting.end();
  lasting.note(false, Time(2s));
  EXPECT_FALSE(lasting.holds());
}

}  // namespace
}  // namespace holdfast
