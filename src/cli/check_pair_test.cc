// What `holdfast check` makes of a pair of controllers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/check_rules.h"
#include "cli/reasons.h"

namespace holdfast::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

v1::PairHalf checked_half(const char* name, v1::PairState state) {
  v1::PairHalf half;
  half.set_name(name);
  half.set_state(state);
  half.set_connected(true);
  half.set_epoch(7);
  return half;
}

// Asked at the active half, by a socket.
Findings at_the_active_half() {
  Findings found;
  v1::GetStatusResponse status;
  status.set_cluster("prod");
  status.add_components()->set_name("pair");
  found.status = status;
  found.authority = v1::Authority();
  v1::PairStatus pair;
  pair.set_paired(true);
  pair.set_mode(v1::PAIR_MODE_WITNESS);
  pair.set_in_sync(true);
  *pair.mutable_self() = checked_half("ctl-a", v1::PAIR_STATE_ACTIVE);
  *pair.mutable_peer() = checked_half("ctl-b", v1::PAIR_STATE_PASSIVE);
  found.pair = pair;
  return found;
}

Findings at_the_passive_half() {
  Findings found = at_the_active_half();
  std::swap(*found.pair->mutable_self(), *found.pair->mutable_peer());
  found.authority = absl::UnavailableError("not asked");
  found.status->set_state(v1::HEALTH_STATE_DEGRADED);
  found.status->mutable_components(0)->set_state(v1::HEALTH_STATE_DEGRADED);
  found.status->mutable_components(0)->set_code("HF4101");
  found.status->add_components()->set_name("events");
  found.status->mutable_components(1)->set_state(v1::HEALTH_STATE_STARTING);
  return found;
}

CheckResult result_of(const Findings& found, std::string_view title_part) {
  for (const CheckResult& result : judge(found)) {
    if (result.title.contains(title_part)) return result;
  }
  ADD_FAILURE() << "no check of " << title_part;
  return {};
}

TEST(CheckOfAPair, AWholeOnePasses) {
  const Findings found = at_the_active_half();

  EXPECT_EQ(result_of(found, "of the pair serves").detail, "ctl-a, epoch 7");
  EXPECT_EQ(result_of(found, "is whole").detail, "ctl-a and ctl-b, in sync");
  EXPECT_EQ(result_of(found, "divergence").verdict, Verdict::Passed);
  for (const CheckResult& result : judge_pair(found)) {
    EXPECT_EQ(result.verdict, Verdict::Passed) << result.title;
  }
}

TEST(CheckOfAPair, ThePassiveHalfOfAWholePairIsWell) {
  const Findings found = at_the_passive_half();

  EXPECT_TRUE(is_passive_half(found));
  EXPECT_EQ(count(judge(found)).failed, 0U);
  EXPECT_THAT(result_of(found, "is healthy").detail, HasSubstr("the passive half"));
  EXPECT_EQ(result_of(found, "component pair").detail, "passive; ctl-a is active");
  EXPECT_EQ(result_of(found, "component events").verdict, Verdict::Passed) << "it waits";
  EXPECT_EQ(result_of(found, "the controller serves").verdict, Verdict::Skipped);
  EXPECT_EQ(result_of(found, "all agents").verdict, Verdict::Skipped) << "it knows of none";
}

TEST(CheckOfAPair, APassiveHalfWithATroubleOfItsOwnIsNotWell) {
  Findings found = at_the_passive_half();
  v1::ComponentStatus& store = *found.status->add_components();
  store.set_name("store");
  store.set_state(v1::HEALTH_STATE_DEGRADED);

  EXPECT_EQ(result_of(found, "is healthy").verdict, Verdict::Failed);
  EXPECT_EQ(result_of(found, "component store").verdict, Verdict::Failed);
}

TEST(CheckOfAPair, EachProblemIsFoundOnceWithItsCodeAndNextStep) {
  Findings found = at_the_active_half();
  found.pair->add_problems("HF4102: the backup's process is gone");
  found.pair->add_problems("HF4111: the witness has not answered for 9s");
  found.other_half = *found.pair;

  std::vector<CheckResult> troubles = judge_pair(found);
  std::erase_if(troubles, [](const CheckResult& one) { return one.verdict == Verdict::Passed; });

  ASSERT_EQ(troubles.size(), 2U);
  EXPECT_EQ(troubles[0].verdict, Verdict::Warning) << "clients are served";
  EXPECT_EQ(troubles[0].code, "HF4102");
  EXPECT_EQ(troubles[0].detail, "the backup's process is gone");
  EXPECT_EQ(troubles[0].next, find_reason("HF4102")->next);
  EXPECT_EQ(troubles[1].code, "HF4111");
}

TEST(CheckOfAPair, WhatTheOtherHalfAloneKnowsIsFoundToo) {
  Findings found = at_the_active_half();
  found.other_half = *found.pair;
  found.other_half->set_quarantined(1);
  found.other_half->add_problems("HF4111: the witness has not answered for 9s");

  EXPECT_EQ(result_of(found, "is whole").code, "HF4111");
  EXPECT_EQ(result_of(found, "divergence").verdict, Verdict::Warning);
  EXPECT_EQ(result_of(found, "divergence").code, "HF1048");
  EXPECT_THAT(result_of(found, "divergence").next, HasSubstr("holdfast ha divergence"));
}

TEST(CheckOfAPair, NotInSyncIsAWarningAndInModeSyncAFailure) {
  Findings found = at_the_active_half();
  found.pair->set_in_sync(false);
  found.pair->set_lag(3);
  EXPECT_EQ(result_of(found, "is whole").verdict, Verdict::Warning);
  EXPECT_EQ(result_of(found, "is whole").code, "HF4109");
  EXPECT_THAT(result_of(found, "is whole").detail, HasSubstr("lacks 3 revisions"));

  found.pair->set_mode(v1::PAIR_MODE_SYNC);

  EXPECT_EQ(result_of(found, "is whole").verdict, Verdict::Failed) << "no write is taken";
}

TEST(CheckOfAPair, ThatNobodyServesIsAFailure) {
  Findings nobody = at_the_passive_half();
  nobody.pair->mutable_peer()->set_connected(false);
  nobody.pair->add_problems("HF4102: the primary has been silent for 9s");
  nobody.authority = absl::UnavailableError("HF4105: no half is active");
  EXPECT_TRUE(serves_nobody(nobody));
  EXPECT_FALSE(is_passive_half(nobody));
  EXPECT_EQ(result_of(nobody, "of the pair serves").code, "HF4105");
  EXPECT_EQ(result_of(nobody, "is whole").verdict, Verdict::Failed);
  EXPECT_EQ(result_of(nobody, "the controller serves").code, "HF4105");

  Findings unconfirmed = at_the_active_half();
  unconfirmed.pair->set_not_serving("HF4107: nobody confirms it");
  EXPECT_TRUE(serves_nobody(unconfirmed));
  EXPECT_EQ(result_of(unconfirmed, "of the pair serves").code, "HF4107");
  EXPECT_THAT(result_of(unconfirmed, "of the pair serves").detail, Not(HasSubstr("HF4107")));
}

TEST(CheckOfAPair, AControllerOfItsOwnHasNothingToJudge) {
  Findings found = at_the_active_half();
  found.pair = v1::PairStatus();
  ASSERT_EQ(judge_pair(found).size(), 1U);
  EXPECT_EQ(judge_pair(found).front().verdict, Verdict::Skipped);
  EXPECT_EQ(count(judge(found)).failed, 0U);

  found.pair = absl::UnimplementedError("older");
  EXPECT_EQ(judge_pair(found).front().verdict, Verdict::Skipped);
}

}  // namespace
}  // namespace holdfast::cli
