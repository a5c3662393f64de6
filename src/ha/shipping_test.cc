// What is sent to the passive half: entries when they suffice, one copy when they do not.
#include "ha/shipping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::ha {
namespace {

using store::ReplicaFacts;
using store::Tenure;

Head at(Epoch epoch, store::Revision revision) {
  return {.epoch = epoch,
          .revision = revision,
          .chain = epoch * 1000 + static_cast<uint64_t>(revision)};
}

void expect_compare(const History& mine, const History& theirs, const Comparison& expected) {
  const Comparison result = compare(mine, theirs);
  EXPECT_EQ(result.relation, expected.relation);
  EXPECT_EQ(result.fork, expected.fork);
}

TEST(Compare, TwoEmptyStoresAreTheSame) {
  expect_compare({}, {}, {Relation::Same, store::kFirstRevision});
}

TEST(Compare, AnEmptyStoreHasNothingInCommonWithAnother) {
  expect_compare({}, {at(1, 9), {{1, 1}}}, {Relation::Diverged, 0});
}

TEST(Compare, ABeginningIsBehindAndTheOtherIsAhead) {
  const History whole{at(3, 20), {{1, 1}, {3, 11}}};
  expect_compare({at(1, 10), {{1, 1}}}, whole, {Relation::Behind, 10});
  expect_compare({at(3, 15), {{1, 1}, {3, 11}}}, whole, {Relation::Behind, 15});
  expect_compare(whole, {at(1, 4), {{1, 1}}}, {Relation::Ahead, 4});
  expect_compare(whole, whole, {Relation::Same, 20});
}

TEST(Compare, TheForkIsTheLastRevisionInCommon) {
  // The other took over at 10, while this one wrote on up to 14.
  const History loser{at(1, 14), {{1, 1}}};
  const History winner{at(2, 12), {{1, 1}, {2, 11}}};
  expect_compare(loser, winner, {Relation::Diverged, 10});
  expect_compare(winner, loser, {Relation::Diverged, 10});
}

TEST(Compare, TheSameRevisionInAnotherEpochIsAnother) {
  const History a{at(3, 12), {{1, 1}, {3, 12}}};
  const History b{at(2, 12), {{1, 1}, {2, 11}}};
  expect_compare(a, b, {Relation::Diverged, 10});
}

TEST(Compare, OneNameForTwoEntriesMeansThatNothingIsInCommon) {
  History a{at(1, 12), {{1, 1}}};
  const History b = a;
  a.head.chain += 1;
  expect_compare(a, b, {Relation::Diverged, 0});
}

TEST(Compare, ATenureWithoutAWriteDoesNotPartHistories) {
  const History quiet{at(1, 10), {{1, 1}, {2, 11}}};
  expect_compare(quiet, {at(1, 10), {{1, 1}}}, {Relation::Same, 10});
  // But what the other wrote after it began is not ours.
  expect_compare({at(1, 12), {{1, 1}}}, {at(2, 13), {{1, 1}, {2, 11}}}, {Relation::Diverged, 10});
}

TEST(Compare, ForgottenTenuresCountAsForeign) {
  expect_compare({at(1, 5), {{1, 1}}}, {at(9, 500), {{9, 400}}}, {Relation::Diverged, 0});
}

TEST(Copy, OneThatWouldTakeBackEntriesOfItsEpochIsTooLate) {
  EXPECT_TRUE(is_too_late(at(3, 48), 3, at(3, 49)));
  EXPECT_TRUE(is_too_late(at(1, 48), 3, at(3, 48)));
  EXPECT_FALSE(is_too_late(at(3, 50), 3, at(3, 49)));
  EXPECT_FALSE(is_too_late(at(1, 48), 3, at(2, 60))) << "what was never ours to keep goes";
}

Beat beat_of(Member member) {
  Beat beat;
  beat.process = "p1";
  beat.name = std::string(to_string(member));
  beat.facts.member = member;
  return beat;
}

TEST(MaySync, RangesThatMeetAreEnough) {
  Beat a = beat_of(Member::Primary);
  Beat b = beat_of(Member::Backup);
  a.schema_min = 1;
  a.schema_max = 2;
  b.schema_min = 2;
  b.schema_max = 3;
  EXPECT_TRUE(may_sync(a, b).ok());
  b.schema_min = 3;
  EXPECT_EQ(split_reason(may_sync(a, b)).code, "HF4112");
  EXPECT_EQ(split_reason(may_sync(b, a)).code, "HF4112");
}

TEST(MaySync, DifferentModesAndEqualHalvesAreRefused) {
  Beat b = beat_of(Member::Backup);
  b.mode = Mode::Sync;
  EXPECT_EQ(split_reason(may_sync(beat_of(Member::Primary), b)).code, "HF4113");
  EXPECT_EQ(split_reason(may_sync(b, b)).code, "HF4106");
}

class ShippingTest : public testing::Test {
 protected:
  ShippingTest() { beat(); }

  void beat() { shipping_.on_beat(peers_, mine_); }
  // What is sent next, of this kind; its id.
  uint64_t expect_next(Shipment::Kind kind) {
    last_ = shipping_.next(facts_);
    EXPECT_EQ(last_.kind, kind);
    return last_.id;
  }
  bool answer(const Head& head, bool needs_copy = false) {
    return shipping_.on_answer(last_.id, {head, needs_copy}, facts_);
  }

  ReplicaFacts facts_{.store_id = "s",
                      .promised = 3,
                      .head = at(3, 20),
                      .floor = 0,
                      .tenures = {{1, 1}, {3, 11}},
                      .note = {}};
  Beat mine_ = beat_of(Member::Primary);
  Beat peers_ = beat_of(Member::Backup);
  Shipping shipping_;
  Shipment last_;
};

TEST_F(ShippingTest, APeerIsAskedWhereItIsAndGetsWhatItLacks) {
  expect_next(Shipment::Kind::Ask);
  EXPECT_TRUE(answer(at(1, 8)));
  expect_next(Shipment::Kind::Entries);
  EXPECT_EQ(last_.after, at(1, 8));
  EXPECT_TRUE(answer(at(3, 20)));
  expect_next(Shipment::Kind::Nothing);
  facts_.head = at(3, 21);
  expect_next(Shipment::Kind::Entries);
  EXPECT_EQ(last_.after, at(3, 20));
  EXPECT_EQ(shipping_.copies(), 0U);
}

TEST_F(ShippingTest, NothingIsSentWhileSomethingIsOnItsWay) {
  expect_next(Shipment::Kind::Ask);
  beat();
  EXPECT_EQ(shipping_.next(facts_).kind, Shipment::Kind::Nothing);
}

TEST_F(ShippingTest, NothingIsSentToAPeerThatWasNotHeard) {
  Shipping fresh;
  EXPECT_EQ(fresh.next(facts_).kind, Shipment::Kind::Nothing);
}

TEST_F(ShippingTest, ADivergedPeerGetsOneCopyAndThenEntries) {
  expect_next(Shipment::Kind::Ask);
  EXPECT_FALSE(answer(at(2, 25))) << "what is not ours is not acknowledged";
  expect_next(Shipment::Kind::Copy);
  facts_.head = at(3, 23);
  EXPECT_TRUE(answer(at(3, 20)));
  expect_next(Shipment::Kind::Entries);
  EXPECT_EQ(shipping_.copies(), 1U);
}

TEST_F(ShippingTest, APeerThatIsAheadOfANewTenureGetsACopy) {
  facts_.head = at(1, 10);
  facts_.tenures = {{1, 1}, {3, 11}};
  expect_next(Shipment::Kind::Ask);
  EXPECT_FALSE(answer(at(1, 12)));
  expect_next(Shipment::Kind::Copy);
}

TEST_F(ShippingTest, AnEmptyPeerGetsACopy) {
  expect_next(Shipment::Kind::Ask);
  EXPECT_FALSE(answer(Head{}));
  expect_next(Shipment::Kind::Copy);
}

TEST_F(ShippingTest, APeerBelowTheFloorGetsACopyAndOneAtItDoesNot) {
  facts_.floor = 9;
  expect_next(Shipment::Kind::Ask);
  EXPECT_TRUE(answer(at(1, 8)));
  expect_next(Shipment::Kind::Copy);
  EXPECT_TRUE(answer(at(1, 9)));
  expect_next(Shipment::Kind::Entries);
}

TEST_F(ShippingTest, AFailureIsFollowedByAQuestionAfterTheNextBeat) {
  expect_next(Shipment::Kind::Ask);
  EXPECT_TRUE(answer(at(1, 8)));
  const uint64_t id = expect_next(Shipment::Kind::Entries);
  shipping_.on_failure(id);
  expect_next(Shipment::Kind::Nothing);
  beat();
  expect_next(Shipment::Kind::Ask);
}

TEST_F(ShippingTest, ALateAnswerIsNotTakenForThatOfTheNextQuestion) {
  const uint64_t first = expect_next(Shipment::Kind::Ask);
  shipping_.on_failure(first);
  beat();
  expect_next(Shipment::Kind::Ask);
  EXPECT_FALSE(shipping_.on_answer(first, {at(1, 8), false}, facts_));
  expect_next(Shipment::Kind::Nothing);
}

TEST_F(ShippingTest, ANewProcessIsAskedAnew) {
  expect_next(Shipment::Kind::Ask);
  EXPECT_TRUE(answer(at(3, 20)));
  peers_.process = "p2";
  beat();
  expect_next(Shipment::Kind::Ask);
}

TEST_F(ShippingTest, ACopyThatDoesNotHelpIsNotRepeated) {
  expect_next(Shipment::Kind::Ask);
  EXPECT_FALSE(answer(at(2, 25)));
  expect_next(Shipment::Kind::Copy);
  EXPECT_FALSE(answer(at(2, 25)));
  beat();
  expect_next(Shipment::Kind::Nothing);
  EXPECT_EQ(split_reason(shipping_.obstacle()).code, "HF4114");
  shipping_.restart();
  beat();
  EXPECT_TRUE(shipping_.obstacle().ok());
  expect_next(Shipment::Kind::Ask);
}

TEST_F(ShippingTest, APeerThatFoundItsDiskBrokenGetsACopy) {
  expect_next(Shipment::Kind::Ask);
  EXPECT_FALSE(answer(at(3, 15), true));
  expect_next(Shipment::Kind::Copy);
}

TEST_F(ShippingTest, NothingFlowsBetweenSchemasThatDoNotMeet) {
  peers_.schema_min = peers_.schema_max = 7;
  beat();
  expect_next(Shipment::Kind::Nothing);
  EXPECT_EQ(split_reason(shipping_.obstacle()).code, "HF4112");
  peers_.schema_min = 1;
  beat();
  expect_next(Shipment::Kind::Ask);
}

// The seed sent everything with each beat when the two beats' phases were closer than the network's
// latency, because every echo was one beat old. Here each beat tells of an older head than is true.
TEST_F(ShippingTest, BeatsThatAreAlwaysLateCauseNoCopy) {
  expect_next(Shipment::Kind::Ask);
  EXPECT_TRUE(answer(at(1, 8)));
  for (store::Revision revision = 21; revision < 221; ++revision) {
    facts_.head = at(3, revision);
    const Shipment shipment = shipping_.next(facts_);
    ASSERT_EQ(shipment.kind, Shipment::Kind::Entries);
    peers_.facts.head = shipment.after;  // as of before these entries arrived
    beat();
    ASSERT_TRUE(shipping_.on_answer(shipment.id, {facts_.head, false}, facts_));
    beat();
  }
  EXPECT_EQ(shipping_.copies(), 0U);
}

}  // namespace
}  // namespace holdfast::ha
