// Epochs that meet: whose is higher, who takes what from whom, who gives way.
#include <gtest/gtest.h>

#include "base/reason.h"
#include "ha/protocol_fixture.h"

namespace holdfast::ha {
namespace {

constexpr Member kP = Member::Primary;
constexpr Member kB = Member::Backup;

std::string code_of(const Status& status) {
  return std::string(split_reason(status).code);
}

TEST(Epochs, AnOldEpochIsNotTaken) {
  PairRig rig(Mode::Sync);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.ship(kP).ok());
  rig.crash(kP);
  rig.vote(kB);
  const Status status = rig.at(kB).on_replicate(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of(status), "HF4103");
  EXPECT_EQ(rig.at(kB).state(), State::Active);
}

TEST(Epochs, AHalfTakesNothingOfItsOwnEpochs) {
  PairRig rig(Mode::BestEffort);
  rig.start(kB);
  EXPECT_EQ(code_of(rig.at(kB).on_replicate(2)), "HF4103");
  EXPECT_TRUE(rig.at(kB).on_replicate(3).ok());
  EXPECT_EQ(rig.at(kB).state(), State::Passive);
}

TEST(Epochs, ADiskThatSawAHigherEpochKeepsToItAfterARestart) {
  PairRig rig(Mode::BestEffort);
  rig.disk(kB) = {.promised = 5, .head = {.epoch = 5, .revision = 2}, .store_id = "b"};
  rig.start(kB);
  EXPECT_EQ(code_of(rig.at(kB).on_replicate(3)), "HF4103");
  rig.vote(kB);
  EXPECT_EQ(rig.at(kB).epoch(), 6);
}

TEST(Epochs, AnActiveHalfThatHearsAHigherPromiseRaisesItsEpoch) {
  PairRig rig(Mode::BestEffort);
  rig.start(kP);
  rig.vote(kP);
  rig.disk(kB).promised = 4;
  rig.start(kB);
  rig.beat(kP);
  rig.beat(kB);
  EXPECT_EQ(rig.at(kP).state(), State::Active);
  EXPECT_EQ(rig.at(kP).epoch(), 5);
  EXPECT_TRUE(rig.ship(kP).ok());
}

TEST(Epochs, OfTwoActiveHalvesTheHigherEpochStays) {
  PairRig rig(Mode::BestEffort);
  rig.disk(kP).first_of_pair = rig.disk(kB).first_of_pair = true;
  rig.start(kP);
  rig.vote(kP);
  rig.start(kB);
  rig.vote(kB);
  ASSERT_EQ(rig.at(kP).state(), State::Active);
  ASSERT_EQ(rig.at(kB).state(), State::Active);
  rig.beat(kP);
  EXPECT_EQ(rig.at(kB).state(), State::Active);
  rig.beat(kB);
  EXPECT_EQ(rig.at(kP).state(), State::Passive);
}

TEST(Epochs, OfTwoActiveHalvesOneThatWroteNothingGivesWayToMoreHistory) {
  PairRig rig(Mode::BestEffort);
  rig.disk(kP).first_of_pair = rig.disk(kB).first_of_pair = true;
  rig.start(kP);
  rig.vote(kP);
  rig.write(kP);
  rig.start(kB);
  rig.vote(kB);
  ASSERT_GT(rig.at(kB).epoch(), rig.at(kP).epoch());
  rig.settle();
  EXPECT_EQ(rig.at(kP).state(), State::Active);
  EXPECT_EQ(rig.at(kB).head().revision, 2);
}

TEST(Epochs, AnActiveHalfFollowsAHigherEpochThatSendsToIt) {
  PairRig rig(Mode::Sync);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.ship(kP).ok());
  rig.vote(kB);  // the link was cut for a while
  ASSERT_EQ(rig.at(kB).state(), State::Active);
  EXPECT_TRUE(rig.ship(kB).ok());
  EXPECT_EQ(rig.at(kP).state(), State::Passive);
}

TEST(Epochs, TwoSyncHalvesThatAreBothActiveAcknowledgeNothing) {
  PairRig rig(Mode::Sync);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.ship(kP).ok());
  rig.vote(kB);
  rig.write(kP);
  EXPECT_EQ(rig.at(kP).acknowledged(), 2);
  EXPECT_FALSE(rig.at(kB).may_write());
  EXPECT_EQ(code_of(rig.ship(kP)), "HF4103");
}

TEST(Epochs, WhatWasAcknowledgedStaysSoWhenThePeerComesWithAnotherDisk) {
  PairRig rig(Mode::Sync);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.ship(kP).ok());
  ASSERT_EQ(rig.at(kP).acknowledged(), 2);
  rig.at(kP).on_acked({.epoch = 0, .revision = 1}, "b2");
  EXPECT_EQ(rig.at(kP).acknowledged(), 2);
  rig.write(kP);
  EXPECT_EQ(rig.at(kP).acknowledged(), 2);
}

// The disk takes both, one after the other; what it is told of first is not the last.
TEST(Epochs, ATenureThatIsOvertakenOnItsWayToTheDiskDoesNotBegin) {
  PairRig rig(Mode::Sync);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.ship(kP).ok());
  rig.tenures = false;
  rig.vote(kB);
  ASSERT_TRUE(rig.at(kB).claiming());
  ASSERT_EQ(rig.at(kB).state(), State::Passive);

  ASSERT_TRUE(rig.at(kB).on_replicate(5).ok());
  rig.at(kB).on_tenure(2);
  rig.at(kB).on_appended(5, rig.at(kB).head());

  EXPECT_EQ(rig.at(kB).state(), State::Passive);
  EXPECT_EQ(rig.at(kB).promised(), 5U);
}

// It was let in before, and is on disk after.
TEST(Epochs, WhoIsActiveWhenALaterHistoryIsOnItsDiskFollows) {
  PairRig rig(Mode::BestEffort);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.ship(kP).ok());
  ASSERT_TRUE(rig.at(kB).on_replicate(2001).ok());
  rig.run(kB, rig.at(kB).force());
  ASSERT_EQ(rig.at(kB).state(), State::Active);
  ASSERT_LT(rig.at(kB).epoch(), 2001U);

  rig.at(kB).on_appended(2001, {.epoch = 2001, .revision = 9});
  EXPECT_EQ(rig.at(kB).state(), State::Passive);
}

TEST(Epochs, AnEpochThatNobodyCanHaveIsNotLetIn) {
  PairRig rig(Mode::Sync);
  rig.steady();
  EXPECT_TRUE(absl::IsInvalidArgument(rig.at(kB).on_replicate(store::kMaxEpoch + 1)));
  EXPECT_TRUE(absl::IsInvalidArgument(rig.at(kB).on_replicate(UINT64_MAX)));
}

TEST(Epochs, WhoIsAboutToBeginAnEpochTakesNothingOfOnesBelow) {
  PairRig rig(Mode::Sync);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.ship(kP).ok());
  rig.tenures = false;
  rig.vote(kB);
  EXPECT_EQ(code_of(rig.at(kB).on_replicate(1)), "HF4103");
  EXPECT_TRUE(rig.at(kB).claiming());
}

// Agents have seen epoch 4, of a disk that is lost. They obey nothing below it.
TEST(Epochs, AnActiveHalfOutgrowsAnEpochThatOnlyOthersKnow) {
  for (const Mode mode : {Mode::Sync, Mode::BestEffort}) {
    PairRig rig(mode);
    rig.steady();
    rig.run(kP, rig.at(kP).outgrow(4));
    EXPECT_EQ(rig.at(kP).epoch(), 5U) << to_string(mode);
    EXPECT_EQ(rig.at(kP).state(), State::Active) << to_string(mode);
    EXPECT_TRUE(rig.ship(kP).ok()) << to_string(mode);
  }
}

TEST(Epochs, NobodyOutgrowsWhatItCannotKnow) {
  PairRig far(Mode::Sync);
  far.steady();
  EXPECT_TRUE(far.at(kP).outgrow(2002).empty()) << "nobody leaps so far";
  EXPECT_TRUE(far.at(kP).outgrow(1).empty()) << "that is its own";
  EXPECT_TRUE(far.at(kB).outgrow(4).empty()) << "it is not active";

  PairRig alone(Mode::BestEffort);
  alone.disk(kP).first_of_pair = true;
  alone.start(kP);
  alone.vote(kP);
  ASSERT_EQ(alone.at(kP).state(), State::Active);
  EXPECT_TRUE(alone.at(kP).outgrow(4).empty()) << "nobody follows it: another may be active";

  PairRig witnessed(Mode::Witness);
  witnessed.steady();
  EXPECT_TRUE(witnessed.at(kP).outgrow(6).empty()) << "the witness remembers every epoch";
}

}  // namespace
}  // namespace holdfast::ha
