#include "rpc/epoch_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::rpc {
namespace {

using testing::HasSubstr;
using Verdict = EpochGuard::Verdict;

TEST(EpochGuard, WithoutAPairEverythingIsTaken) {
  const EpochGuard guard(0);

  EXPECT_EQ(guard.judge(0), Verdict::Known);
}

TEST(EpochGuard, AHigherOneIsTakenOnceItIsKeptAndALowerOneNeverAgain) {
  EpochGuard guard(0);

  EXPECT_EQ(guard.judge(3), Verdict::Rises);
  EXPECT_EQ(guard.judge(1), Verdict::Rises) << "nothing is kept before it is on disk";
  guard.raise(3);

  EXPECT_EQ(guard.judge(3), Verdict::Known);
  EXPECT_EQ(guard.judge(2), Verdict::Over);
  EXPECT_EQ(guard.judge(4), Verdict::Rises);
}

TEST(EpochGuard, AControllerWithoutAnEpochIsOverOnceAPairWasSeen) {
  const EpochGuard guard(3);

  EXPECT_EQ(guard.judge(0), Verdict::Over);
}

TEST(EpochGuard, ARefusalNamesBothEpochsAndIsCounted) {
  EpochGuard guard(7);

  const Status refused = guard.refuse(5);

  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(split_reason(refused).code, "HF4302");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("epoch 5"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("epoch 7"));
  EXPECT_EQ(guard.refused(), 1u);
}

TEST(EpochGuard, WhatIsKeptIsReadBackAndNothingElseIs) {
  const KeptEpoch kept{.cluster = "f00d", .epoch = 12};

  EXPECT_EQ(*parse_kept_epoch(to_text(kept)), kept);

  for (const char* wrong :
       {"", "epoch 12\n", "cluster a\nepoch 12", "cluster a\nepoch 12x\n", "cluster a\nepoch -1\n",
        "cluster a\nepoch 1\nepoch 2\n", "cluster a\nepoch \n", "cluster a\nepoch 1\n\n"}) {
    const auto parsed = parse_kept_epoch(wrong);
    EXPECT_EQ(split_reason(parsed.status()).code, "HF4303") << wrong;
  }
}

}  // namespace
}  // namespace holdfast::rpc
