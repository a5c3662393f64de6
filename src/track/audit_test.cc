#include "track/audit.h"

#include <gtest/gtest.h>

namespace holdfast::track {
namespace {

const Key kKey = make_key(1, 1);

CounterSample audit_sample(uint32_t opened, uint32_t closed, uint32_t reserved) {
  return {.key = kKey, .counts = {.opened = opened, .closed = closed}, .reserved = reserved};
}

std::vector<hf_live> flows(size_t count, uint32_t state = HF_FLOW_ESTABLISHED) {
  return std::vector<hf_live>(
      count, hf_live{.key = kKey, .state = state, .flags = HF_COUNTED | HF_HOLDS_PLACE});
}

std::vector<Drift> drift(const CounterSample& before, const std::vector<hf_live>& alive,
                         const CounterSample& after) {
  return find_drift(std::vector{before}, alive, std::vector{after});
}

TEST(Audit, CountersThatAreRightHaveNoDrift) {
  EXPECT_TRUE(drift(audit_sample(30, 10, 20), flows(20), audit_sample(30, 10, 20)).empty());
}

TEST(Audit, EndsThatWereMissedAreFoundAndMended) {
  const auto found = drift(audit_sample(30, 10, 20), flows(5), audit_sample(30, 10, 20));

  ASSERT_EQ(found, (std::vector{Drift{.key = kKey, .active = 15, .reserved = 15}}));
  const hf_repair repair = repair_of(found[0]);
  EXPECT_EQ(repair.closed, 15U);
  EXPECT_EQ(repair.opened, 0U);
  EXPECT_EQ(20 + repair.reserved, 5U) << "wrapping";
}

TEST(Audit, BeginningsThatWereMissedAreAddedToOpened) {
  const auto found = drift(audit_sample(30, 30, 0), flows(2), audit_sample(30, 30, 0));

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(repair_of(found[0]).opened, 2U);
  EXPECT_EQ(repair_of(found[0]).reserved, 2U);
}

TEST(Audit, WhatHappensDuringAnAuditIsNoDrift) {
  // 20 at first; 5 opened and 8 closed meanwhile: anything from 12 to 25 may have been seen.
  EXPECT_TRUE(drift(audit_sample(30, 10, 20), flows(12), audit_sample(35, 18, 17)).empty());
  EXPECT_TRUE(drift(audit_sample(30, 10, 20), flows(25), audit_sample(35, 18, 17)).empty());
  EXPECT_EQ(drift(audit_sample(30, 10, 20), flows(11), audit_sample(35, 18, 17))[0].active, 1);
  EXPECT_EQ(drift(audit_sample(30, 10, 20), flows(26), audit_sample(35, 18, 17))[0].active, -1);
}

// 60 at first, 5 opened and 8 closed meanwhile: 52 at least must have been seen.
TEST(Audit, EndsThatWereMissedGiveTheirPlacesBackOnABusyKeyToo) {
  const auto found = drift(audit_sample(100, 40, 60), flows(32), audit_sample(105, 48, 57));

  ASSERT_EQ(found, (std::vector{Drift{.key = kKey, .active = 20, .reserved = 20}}));
  EXPECT_EQ(57 + repair_of(found[0]).reserved, 37U) << "wrapping";
}

TEST(Audit, OnABusyKeyNoPlaceIsGivenBackThatMayBeSomebodys) {
  const CounterSample after = audit_sample(105, 48, 57);

  EXPECT_EQ(drift(audit_sample(100, 40, 45), flows(32), after)[0].reserved, 5) << "fewer are taken";
  EXPECT_EQ(drift(audit_sample(100, 40, 40), flows(32), after)[0].reserved, 0);
  EXPECT_EQ(drift(audit_sample(100, 40, 30), flows(32), after)[0].reserved, 0);
  EXPECT_EQ(drift(audit_sample(100, 40, 90), flows(32), after)[0].reserved, 20)
      << "as many as ends";
  EXPECT_TRUE(drift(audit_sample(100, 40, 90), flows(60), after).empty()) << "no end was missed";
  EXPECT_EQ(drift(audit_sample(100, 40, 90), flows(70), after)[0].reserved, 0) << "beginnings were";
}

TEST(Audit, CountersThatWrapDuringAnAuditAreNoDrift) {
  EXPECT_TRUE(drift(audit_sample(UINT32_MAX, UINT32_MAX - 3, 3), flows(4),
                    audit_sample(1, UINT32_MAX - 3, 5))
                  .empty());
}

TEST(Audit, AChoiceThatIsNotYetAConnectionHoldsAPlaceAndIsNotCounted) {
  EXPECT_TRUE(
      drift(audit_sample(7, 7, 1), flows(1, HF_FLOW_PICKED), audit_sample(7, 7, 1)).empty());
}

}  // namespace
}  // namespace holdfast::track
