// The cases that the seed's project has for its own counters, with the values that are right.
#include "track/totals.h"

#include <gtest/gtest.h>

namespace holdfast::track {
namespace {

const Key kTotalsKey = make_key(1, 1);

CounterSample sample(const Key& key, uint32_t opened, uint32_t closed) {
  return {.key = key, .counts = {.opened = opened, .closed = closed}};
}

class TotalsTest : public testing::Test {
 protected:
  TotalsRow after(uint32_t opened, uint32_t closed) {
    totals.update(std::vector{sample(kTotalsKey, opened, closed)});
    return totals.rows().at(kTotalsKey);
  }
  Totals totals;
};

TEST_F(TotalsTest, ANewKeyShowsZero) {
  EXPECT_EQ(after(0, 0), TotalsRow{});
}

TEST_F(TotalsTest, AReadingAddsWhatChanged) {
  after(0, 0);
  after(10, 4);

  EXPECT_EQ(after(25, 5), (TotalsRow{.opened = 25, .closed = 5, .active = 20}));
}

TEST_F(TotalsTest, ARestartedAgentShowsLongLivedConnectionsAtOnce) {
  EXPECT_EQ(after(105, 101).active, 4U);
}

TEST_F(TotalsTest, AWrapAddsExactly) {
  after(UINT32_MAX - 9, UINT32_MAX - 9);

  const TotalsRow row = after(20, 20);

  EXPECT_EQ(row.opened, uint64_t{UINT32_MAX} - 9 + 30);
  EXPECT_EQ(row.active, 0U);
}

TEST_F(TotalsTest, ASecondWrapAddsExactlyToo) {
  after(UINT32_MAX, 0);
  after(0x80000000U, 0);
  after(UINT32_MAX, 0);

  EXPECT_EQ(after(4, 0).opened, uint64_t{UINT32_MAX} + 0x80000001U + 0x7fffffffU + 5);
}

TEST_F(TotalsTest, ActiveIsRightWhenOnlyOneOfTheTwoHasWrapped) {
  EXPECT_EQ(after(5, UINT32_MAX - 4).active, 10U);
}

TEST_F(TotalsTest, MoreClosedThanOpenedShowsAsZero) {
  EXPECT_EQ(after(3, 5).active, 0U);
}

TEST_F(TotalsTest, FailuresAreCountedOnce) {
  CounterSample failing = sample(kTotalsKey, 3, 3);
  failing.failures = {.refused = 2, .timed_out = 1, .reset = 0, .gave_up = 0, .cut = 0};
  totals.update(std::vector{failing});
  totals.update(std::vector{failing});

  EXPECT_EQ(totals.rows().at(kTotalsKey).failures, (FailureTotals{.refused = 2, .timed_out = 1}));
}

TEST_F(TotalsTest, KeysDoNotDisturbEachOther) {
  const Key other = make_key(1, 2);
  totals.update(std::vector{sample(kTotalsKey, 5, 1), sample(other, 7, 7)});
  totals.update(std::vector{sample(kTotalsKey, 6, 1)});

  EXPECT_EQ(totals.rows().at(kTotalsKey).opened, 6U);
  EXPECT_FALSE(totals.rows().contains(other)) << "gone from the maps";
}

TEST_F(TotalsTest, AForgottenKeyStartsAnewInsteadOfWrapping) {
  after(100, 100);
  totals.forget(kTotalsKey);

  EXPECT_EQ(after(1, 0).opened, 1U);
}

TEST(BusyKeys, ConnectionsAndPlacesTakenAreBusy) {
  CounterSample place = sample(make_key(3, 1), 4, 4);
  place.reserved = 1;

  const auto busy =
      busy_keys(std::vector{sample(make_key(1, 1), 2, 2), sample(make_key(2, 1), 3, 2), place});

  EXPECT_EQ(busy, (std::set<Key>{make_key(2, 1), make_key(3, 1)}));
}

}  // namespace
}  // namespace holdfast::track
