// What the halves do with a witness.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "ha/protocol.h"
#include "ha/protocol_fixture.h"

namespace holdfast::ha {
namespace {

constexpr Member kP = Member::Primary;
constexpr Member kB = Member::Backup;
const Members kBoth = Members::both();

std::string code_of(const Status& status) {
  return std::string(split_reason(status).code);
}

// Primary active in epoch 5, backup in sync, one write on both.
class WithWitness : public testing::Test {
 protected:
  void SetUp() override {
    rig_.steady();
    rig_.write(kP);
    ASSERT_TRUE(rig_.ship(kP).ok());
    ASSERT_EQ(rig_.at(kP).state(), State::Active);
    ASSERT_EQ(rig_.record.epoch, 5);
    ASSERT_EQ(rig_.record.in_sync, kBoth);
    ASSERT_EQ(rig_.at(kP).acknowledged(), 2);
  }
  PairRig rig_{Mode::Witness};
};

// --- the first start ---

TEST(FirstStart, ThePrimaryClaimsAloneAndAdmitsTheBackupLater) {
  PairRig rig(Mode::Witness);
  rig.start(kP);
  EXPECT_EQ(rig.at(kP).state(), State::Active);
  EXPECT_EQ(rig.record, (Record{.epoch = 1, .in_sync = Members::of(kP), .store_ids = {"p", ""}}));
  rig.start(kB);
  rig.settle();
  EXPECT_EQ(rig.record, (Record{.epoch = 5, .in_sync = kBoth, .store_ids = {"p", "b"}}));
  EXPECT_TRUE(rig.at(kP).peer_in_sync());
}

TEST(FirstStart, NobodyIsAdmittedInTheFirstEpoch) {
  // Otherwise a primary that restarts with it could not know that it is alone.
  PairRig rig(Mode::Witness);
  rig.start(kP);
  rig.start(kB);
  rig.beat(kP);
  ASSERT_TRUE(rig.ship(kP).ok());
  EXPECT_EQ(rig.at(kP).epoch(), 3);
  EXPECT_EQ(rig.record.in_sync, Members::of(kP));
}

TEST(FirstStart, ABackupClaimsNothing) {
  PairRig rig(Mode::Witness);
  rig.start(kB);
  rig.vote(kB);
  EXPECT_EQ(rig.at(kB).state(), State::Backup);
  EXPECT_EQ(rig.record.epoch, 0);
}

TEST(FirstStart, APrimaryThatIsTheFirstBeginsWithoutAWitness) {
  PairRig rig(Mode::Witness);
  rig.witness = false;
  rig.disk(kP).first_of_pair = true;
  rig.start(kP);
  EXPECT_EQ(rig.at(kP).state(), State::Primary);
  rig.vote(kP);
  EXPECT_EQ(rig.at(kP).state(), State::Active);
  EXPECT_EQ(rig.at(kP).required(), Members::of(kP));
  rig.witness = true;
  rig.retry(kP);
  EXPECT_EQ(rig.record.epoch, 3);
  EXPECT_EQ(rig.at(kP).epoch(), 3);
}

TEST(FirstStart, APrimaryWithoutBackupRestartsWithoutAWitness) {
  PairRig rig(Mode::Witness);
  rig.start(kP);
  rig.crash(kP);
  rig.witness = false;
  rig.start(kP);
  rig.vote(kP);
  EXPECT_EQ(rig.at(kP).state(), State::Active);
  EXPECT_EQ(rig.at(kP).epoch(), 1);
}

TEST(FirstStart, AnEmptyDiskDoesNotBeginAloneWhileTheWitnessIsSilent) {
  PairRig rig(Mode::Witness);
  rig.witness = false;
  rig.start(kP);
  rig.vote(kP);
  EXPECT_EQ(rig.at(kP).state(), State::Primary) << "it may replace a disk that was lost";
}

// --- dropping the peer ---

TEST(FirstStart, AnOperatorBeginsThePairBeforeTheWitnessCanBeAsked) {
  for (const Mode mode : {Mode::Witness, Mode::Sync, Mode::BestEffort}) {
    PairRig rig(mode);
    rig.witness = false;
    rig.start(kP);
    rig.run(kP, rig.at(kP).found());
    EXPECT_EQ(rig.at(kP).state(), State::Active) << to_string(mode);
    rig.write(kP);
    EXPECT_EQ(rig.at(kP).acknowledged(), 2) << to_string(mode);

    rig.witness = true;
    rig.start(kB);
    rig.settle();
    EXPECT_EQ(rig.at(kB).state(), State::Passive) << to_string(mode);
    EXPECT_TRUE(rig.at(kP).peer_in_sync()) << to_string(mode);
  }
}

TEST(FirstStart, OnlyANewPrimaryBeginsAPair) {
  PairRig rig(Mode::Witness);
  rig.witness = false;
  rig.start(kB);
  EXPECT_TRUE(rig.at(kB).found().empty());
  rig.disk(kP).promised = 3;
  rig.start(kP);
  EXPECT_TRUE(rig.at(kP).found().empty());
}

TEST(FirstStart, WhoBeganAPairThatThereIsAlreadyGivesWay) {
  PairRig rig(Mode::Witness);
  rig.record = {.epoch = 8, .in_sync = Members::of(kB), .store_ids = {"", "b"}};
  rig.witness = false;
  rig.start(kP);
  rig.run(kP, rig.at(kP).found());
  ASSERT_EQ(rig.at(kP).state(), State::Active);
  rig.witness = true;
  rig.retry(kP);
  EXPECT_EQ(rig.at(kP).state(), State::Passive);
}

TEST_F(WithWitness, AnActiveHalfGoesOnAloneWhenTheWitnessAgreed) {
  rig_.write(kP);
  EXPECT_EQ(rig_.at(kP).acknowledged(), 2);
  rig_.lose_peer(kP);
  EXPECT_EQ(rig_.record, (Record{.epoch = 7, .in_sync = Members::of(kP), .store_ids = {"p", ""}}));
  EXPECT_EQ(rig_.at(kP).epoch(), 7);
  EXPECT_EQ(rig_.at(kP).acknowledged(), 3);
}

TEST_F(WithWitness, AnActiveHalfDoesNotAcknowledgeAloneWithoutTheWitness) {
  rig_.witness = false;
  rig_.write(kP);
  rig_.lose_peer(kP);
  rig_.lose_peer(kP);
  EXPECT_EQ(rig_.at(kP).acknowledged(), 2);
  ASSERT_TRUE(rig_.ship(kP).ok()) << "but the pair works on without it";
  EXPECT_EQ(rig_.at(kP).acknowledged(), 3);
}

TEST_F(WithWitness, ADropWhoseAnswerWasLostIsNotBelieved) {
  rig_.changes_lost = true;
  rig_.lose_peer(kP);
  ASSERT_EQ(rig_.record.epoch, 7);
  rig_.write(kP);
  EXPECT_EQ(rig_.at(kP).acknowledged(), 2);
  rig_.changes_lost = false;
  rig_.lose_peer(kP);  // it is refused, and learns of its own former change
  EXPECT_EQ(rig_.at(kP).epoch(), 7);
  EXPECT_EQ(rig_.at(kP).acknowledged(), 2);
  rig_.lose_peer(kP);
  EXPECT_EQ(rig_.at(kP).epoch(), 9);
  EXPECT_EQ(rig_.at(kP).acknowledged(), 3);
}

TEST_F(WithWitness, OnlyTheAnswerToTheLatestQuestionCounts) {
  const Actions first = rig_.at(kP).on_peer_lost();
  const uint64_t old = std::get<AskWitness>(first.at(0)).id;
  rig_.at(kP).on_witness_silent(old);
  ASSERT_EQ(rig_.at(kP).on_peer_lost().size(), 1);
  Record alone{.epoch = 7, .in_sync = Members::of(kP), .store_ids = {"p", ""}};
  EXPECT_TRUE(rig_.at(kP).on_witness(old, {.accepted = true, .current = alone}).empty());
  EXPECT_EQ(rig_.at(kP).required(), kBoth);
}

TEST_F(WithWitness, APassiveHalfDropsNobody) {
  EXPECT_TRUE(rig_.at(kB).on_peer_lost().empty());
}

// --- admitting it again ---

TEST_F(WithWitness, APeerThatCaughtUpIsRequiredFirstAndRecordedAfter) {
  rig_.lose_peer(kP);
  rig_.write(kP);
  rig_.write(kP);
  rig_.witness = false;
  rig_.run(kP, rig_.at(kP).on_acked({.epoch = 5, .revision = 3}, "b"));
  EXPECT_EQ(rig_.at(kP).required(), kBoth) << "as soon as it is near";
  EXPECT_EQ(rig_.record.in_sync, Members::of(kP));
  EXPECT_EQ(rig_.at(kP).acknowledged(), 4) << "what was acknowledged without it stays so";
  rig_.write(kP);
  EXPECT_EQ(rig_.at(kP).acknowledged(), 4);
  rig_.witness = true;
  rig_.retry(kP);
  EXPECT_EQ(rig_.record.in_sync, Members::of(kP)) << "it lacks what was written without it";
  rig_.run(kP, rig_.at(kP).on_acked({.epoch = 7, .revision = 4}, "b"));
  EXPECT_EQ(rig_.record.in_sync, kBoth);
  EXPECT_EQ(rig_.at(kP).epoch(), 9);
}

TEST_F(WithWitness, APeerThatIsFarBehindIsNotRequired) {
  rig_.lose_peer(kP);
  for (int i = 0; i < 200; ++i) rig_.write(kP);
  rig_.run(kP, rig_.at(kP).on_acked({.epoch = 5, .revision = 10}, "b"));
  EXPECT_EQ(rig_.at(kP).required(), Members::of(kP));
}

TEST_F(WithWitness, AnAdmissionThatTheWitnessMissedIsAskedAgain) {
  rig_.lose_peer(kP);
  rig_.witness = false;
  ASSERT_TRUE(rig_.ship(kP).ok());
  rig_.witness = true;
  rig_.retry(kP);
  EXPECT_EQ(rig_.record.in_sync, kBoth);
}

TEST_F(WithWitness, AnotherDiskMustShowAnewThatItHasEverything) {
  rig_.lose_peer(kP);
  rig_.witness = false;
  ASSERT_TRUE(rig_.ship(kP).ok());  // required, not recorded
  rig_.write(kP);
  ASSERT_TRUE(rig_.ship(kP).ok());
  ASSERT_EQ(rig_.at(kP).acknowledged(), 3);
  rig_.witness = true;
  rig_.run(kP, rig_.at(kP).on_acked({.epoch = 5, .revision = 2}, "b2"));
  EXPECT_EQ(rig_.record.in_sync, Members::of(kP)) << "it lacks revision 3";
  rig_.run(kP, rig_.at(kP).on_acked({.epoch = 7, .revision = 3}, "b2"));
  EXPECT_EQ(rig_.record.in_sync, kBoth);
  EXPECT_EQ(rig_.record.store_id(kB), "b2");
}

// --- taking over ---

TEST_F(WithWitness, AMemberTakesOverByAVote) {
  rig_.crash(kP);
  rig_.vote(kB);
  EXPECT_EQ(rig_.at(kB).state(), State::Active);
  EXPECT_EQ(rig_.record, (Record{.epoch = 6, .in_sync = Members::of(kB), .store_ids = {"", "b"}}));
  EXPECT_EQ(rig_.at(kB).acknowledged(), 2);
}

TEST_F(WithWitness, NobodyTakesOverWithoutTheWitness) {
  rig_.crash(kP);
  rig_.witness = false;
  rig_.vote(kB);
  rig_.retry(kB);
  EXPECT_EQ(rig_.at(kB).state(), State::Passive);
  rig_.witness = true;
  rig_.vote(kB);
  EXPECT_EQ(rig_.at(kB).state(), State::Active);
}

TEST_F(WithWitness, ANonMemberDoesNotTakeOver) {
  rig_.lose_peer(kP);
  rig_.crash(kP);
  rig_.vote(kB);
  EXPECT_EQ(rig_.at(kB).state(), State::Passive);
  EXPECT_EQ(rig_.record.active(), kP);
}

TEST_F(WithWitness, AMemberOnAnotherDiskDoesNotTakeOver) {
  rig_.crash(kP);
  rig_.crash(kB);
  rig_.disk(kB) = {.store_id = "b2"};
  rig_.start(kB);
  rig_.vote(kB);
  EXPECT_EQ(rig_.at(kB).state(), State::Backup);
}

TEST_F(WithWitness, AnActiveThatWasReplacedFollowsWhenItAsks) {
  rig_.vote(kB);  // the link between the two is cut
  ASSERT_EQ(rig_.at(kB).state(), State::Active);
  rig_.write(kP);
  EXPECT_EQ(rig_.at(kP).acknowledged(), 2);
  rig_.lose_peer(kP);
  EXPECT_EQ(rig_.at(kP).state(), State::Passive);
}

TEST_F(WithWitness, AClaimIsForgottenWhenTheActiveHalfSends) {
  const Actions claim = rig_.at(kB).on_client(false).actions;
  ASSERT_EQ(claim.size(), 1);
  rig_.crash(kB);
  rig_.start(kB);  // it restarts, and its answer is for nobody
  ASSERT_TRUE(rig_.ship(kP).ok());
  const Record taken{.epoch = 6, .in_sync = Members::of(kB), .store_ids = {"", "b"}};
  rig_.at(kB).on_witness(std::get<AskWitness>(claim.at(0)).id + 1000,
                         {.accepted = true, .current = taken});
  EXPECT_EQ(rig_.at(kB).state(), State::Passive);
}

// --- restarting ---

TEST_F(WithWitness, WhomTheRecordNamesResumesAndRequiresBoth) {
  rig_.lose_peer(kP);
  rig_.write(kP);
  rig_.crash(kP);
  rig_.crash(kB);
  rig_.start(kP);
  EXPECT_EQ(rig_.at(kP).state(), State::Active);
  EXPECT_EQ(rig_.at(kP).epoch(), 7);
  EXPECT_EQ(rig_.at(kP).required(), kBoth) << "an admission may have been on its way";
  EXPECT_LT(rig_.at(kP).acknowledged(), 2);
  rig_.lose_peer(kP);
  EXPECT_EQ(rig_.at(kP).acknowledged(), 3);
}

TEST_F(WithWitness, APrimaryWithAnEmptyDiskFollowsTheBackup) {
  rig_.crash(kP);
  rig_.disk(kP) = {.store_id = "p2"};
  rig_.start(kP);
  rig_.vote(kP);
  EXPECT_EQ(rig_.at(kP).state(), State::Primary);
  rig_.settle();
  EXPECT_EQ(rig_.at(kB).state(), State::Active) << "whom the record names came with another disk";
  EXPECT_EQ(rig_.at(kP).state(), State::Passive);
  EXPECT_EQ(rig_.record.store_id(kP), "p2");
  EXPECT_EQ(rig_.at(kP).head().revision, 2);
}

TEST_F(WithWitness, AHalfThatRestartsWithoutTheWitnessWaits) {
  rig_.crash(kP);
  rig_.witness = false;
  rig_.start(kP);
  rig_.vote(kP);
  EXPECT_EQ(rig_.at(kP).state(), State::Primary);
  rig_.witness = true;
  rig_.retry(kP);
  EXPECT_EQ(rig_.at(kP).state(), State::Active);
}

// --- handing over ---

TEST_F(WithWitness, HandsOverThroughTheRecord) {
  ASSERT_TRUE(rig_.at(kP).switch_over().ok());
  EXPECT_FALSE(rig_.at(kP).may_write());
  rig_.run(kP, rig_.at(kP).on_quiet());
  EXPECT_EQ(rig_.at(kP).state(), State::Passive);
  EXPECT_EQ(rig_.record, (Record{.epoch = 6, .in_sync = kBoth, .store_ids = {"p", "b"}}));
  rig_.beat(kP);
  EXPECT_EQ(rig_.at(kB).state(), State::Active);
  EXPECT_EQ(rig_.at(kB).epoch(), 6);
  rig_.settle();
  EXPECT_EQ(rig_.at(kP).state(), State::Passive);
  EXPECT_TRUE(rig_.at(kB).peer_in_sync());
}

TEST_F(WithWitness, AHandOverWhoseAnswerWasLostWritesNothingUntilItIsKnown) {
  ASSERT_TRUE(rig_.at(kP).switch_over().ok());
  rig_.changes_lost = true;
  rig_.run(kP, rig_.at(kP).on_quiet());
  EXPECT_EQ(rig_.at(kP).state(), State::Active);
  EXPECT_FALSE(rig_.at(kP).may_write());
  rig_.retry(kP);
  EXPECT_EQ(rig_.at(kP).state(), State::Passive);
  rig_.beat(kP);
  EXPECT_EQ(rig_.at(kB).state(), State::Active);
}

TEST_F(WithWitness, AHandOverThatDidNotArriveIsOver) {
  ASSERT_TRUE(rig_.at(kP).switch_over().ok());
  rig_.witness = false;
  rig_.run(kP, rig_.at(kP).on_quiet());
  EXPECT_TRUE(rig_.at(kP).frozen());
  rig_.witness = true;
  rig_.retry(kP);
  EXPECT_EQ(rig_.at(kP).state(), State::Active);
  EXPECT_TRUE(rig_.at(kP).may_write());
}

TEST_F(WithWitness, APeerThatIsNotInSyncIsHandedNothing) {
  rig_.lose_peer(kP);
  EXPECT_EQ(code_of(rig_.at(kP).switch_over()), "HF4104");
}

// --- a witness that lost its record ---

TEST_F(WithWitness, AnActiveHalfMakesALostRecordAgain) {
  rig_.record = {};
  rig_.lose_peer(kP);  // refused: there is none
  EXPECT_EQ(rig_.record, (Record{.epoch = 7, .in_sync = kBoth, .store_ids = {"p", "b"}}));
  EXPECT_EQ(rig_.at(kP).epoch(), 7);
  EXPECT_EQ(rig_.at(kP).required(), kBoth);
}

TEST_F(WithWitness, AnActiveHalfThatDoesNotKnowWhatThePeerHasMakesNoRecord) {
  rig_.record = {};
  rig_.write(kP);
  rig_.lose_peer(kP);
  EXPECT_EQ(rig_.record.epoch, 0);
}

TEST_F(WithWitness, WithoutActiveHalfALostRecordNeedsAnOperator) {
  rig_.record = {};
  rig_.crash(kP);
  rig_.crash(kB);
  rig_.start(kP);
  rig_.start(kB);
  rig_.settle();
  EXPECT_NE(rig_.at(kP).state(), State::Active);
  EXPECT_NE(rig_.at(kB).state(), State::Active);
  rig_.run(kP, rig_.at(kP).force());
  rig_.settle();
  EXPECT_EQ(rig_.at(kP).state(), State::Active);
  EXPECT_EQ(rig_.at(kB).state(), State::Passive);
  EXPECT_EQ(rig_.record.in_sync, kBoth);
}

// --- by force ---

TEST_F(WithWitness, AForcedNonMemberIsActiveAloneAndRecorded) {
  rig_.lose_peer(kP);
  rig_.crash(kP);
  rig_.run(kB, rig_.at(kB).force());
  EXPECT_EQ(rig_.at(kB).state(), State::Active);
  EXPECT_EQ(rig_.at(kB).required(), Members::of(kB));
  rig_.retry(kB);
  EXPECT_EQ(rig_.record.active(), kB);
  EXPECT_EQ(rig_.record.in_sync, Members::of(kB));
  EXPECT_EQ(rig_.at(kB).epoch(), rig_.record.epoch);
  EXPECT_FALSE(rig_.asked(kB).empty());
  EXPECT_TRUE(rig_.asked(kB).back().change->force);
  rig_.start(kP);
  rig_.settle();
  EXPECT_EQ(rig_.at(kP).state(), State::Passive);
  EXPECT_EQ(rig_.record.in_sync, kBoth);
  EXPECT_FALSE(rig_.asked(kB).back().change->force) << "once is enough";
}

TEST_F(WithWitness, AForcedHalfGivesWayToAHigherEpochThatItHears) {
  rig_.lose_peer(kP);
  rig_.witness = false;
  rig_.run(kB, rig_.at(kB).force());
  ASSERT_EQ(rig_.at(kB).epoch(), 1006);
  rig_.run(kP, rig_.at(kP).force());
  rig_.beat(kP);
  EXPECT_EQ(rig_.at(kB).state(), State::Passive);
  EXPECT_EQ(rig_.at(kP).epoch(), 1009);
}

// Nobody who was let on unseen has a higher one: what was promoted stays.
TEST_F(WithWitness, AForcedHalfLeapsOverWhatWasRecordedUnseen) {
  rig_.lose_peer(kP);
  rig_.witness = false;
  ASSERT_EQ(rig_.at(kP).epoch(), 7);
  rig_.run(kB, rig_.at(kB).force());
  rig_.beat(kB);
  EXPECT_EQ(rig_.at(kP).state(), State::Passive);
  EXPECT_EQ(rig_.at(kB).state(), State::Active);
}

// --- a record that is older than what a half has followed ---

TEST_F(WithWitness, AWitnessThatMissedAForcedPromotionLetsNobodyClaim) {
  ASSERT_TRUE(rig_.at(kP).switch_over().ok());
  rig_.run(kP, rig_.at(kP).on_quiet());
  rig_.settle();
  ASSERT_EQ(rig_.at(kB).state(), State::Active);
  rig_.witness = false;
  rig_.run(kP, rig_.at(kP).force());
  ASSERT_TRUE(rig_.ship(kP).ok());
  rig_.write(kP);
  EXPECT_EQ(rig_.at(kP).acknowledged(), rig_.at(kP).head().revision) << "alone";
  EXPECT_FALSE(rig_.at(kP).peer_in_sync()) << "it rests on this half alone";
  EXPECT_TRUE(rig_.at(kP).unconfirmed());
  rig_.witness = true;
  ASSERT_EQ(rig_.record.active(), kB);
  rig_.run(kB, rig_.at(kB).doubt());
  rig_.vote(kB);
  EXPECT_EQ(rig_.at(kB).state(), State::Passive) << "what the record names is over";
  EXPECT_EQ(rig_.at(kB).outdated_record(), rig_.record.epoch);
  rig_.retry(kP);
  EXPECT_EQ(rig_.record.active(), kP);
  EXPECT_EQ(rig_.record.in_sync, Members::of(kP));
  EXPECT_FALSE(rig_.at(kP).unconfirmed());
  rig_.settle();
  EXPECT_TRUE(rig_.at(kP).peer_in_sync());
  EXPECT_EQ(rig_.at(kB).outdated_record(), 0);
}

TEST_F(WithWitness, AHalfThatFollowedALaterEpochClaimsNothingByAnOlderRecordAfterARestart) {
  const Record old = rig_.record;
  rig_.lose_peer(kP);
  rig_.settle();
  ASSERT_GT(rig_.record.epoch, old.epoch);
  rig_.crash(kP);
  rig_.crash(kB);
  rig_.record = old;
  rig_.start(kB);
  rig_.vote(kB);
  EXPECT_NE(rig_.at(kB).state(), State::Active);
  EXPECT_EQ(rig_.record, old);
  EXPECT_EQ(rig_.at(kB).outdated_record(), old.epoch);
}

TEST_F(WithWitness, AnActiveHalfRestoresARecordThatWasRolledBack) {
  const Record old = rig_.record;
  rig_.lose_peer(kP);
  rig_.settle();
  const Record last = rig_.record;
  ASSERT_GT(last.epoch, old.epoch);
  rig_.record = old;
  rig_.run(kP, rig_.at(kP).doubt());
  EXPECT_EQ(rig_.record, last) << "in the epoch that it had";
  EXPECT_EQ(rig_.at(kP).epoch(), last.epoch);
}

TEST(ProtocolRecord, AnotherQuestionToTheWitnessDoesNotEndASwitchover) {
  PairRig rig(Mode::Witness);
  rig.steady();
  ASSERT_TRUE(rig.at(kP).switch_over().ok());

  rig.retry(kP);
  EXPECT_TRUE(rig.at(kP).frozen());
  rig.run(kP, rig.at(kP).doubt());
  EXPECT_TRUE(rig.at(kP).frozen());

  rig.run(kP, rig.at(kP).on_quiet());
  EXPECT_EQ(rig.at(kP).state(), State::Passive);
}

}  // namespace
}  // namespace holdfast::ha
