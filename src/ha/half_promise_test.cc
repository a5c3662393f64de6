// What a half has promised by what it said: to a peer that reads on by it, to one that sends it
// data.
#include "ha/half_fixture.h"

namespace holdfast::ha {
namespace {

using namespace std::chrono_literals;

class PromisingBackup : public HalfTest {
 protected:
  PromisingBackup() : HalfTest(Member::Backup) {}

  // It asked for the record and was not answered, hears the active half once more and says so, and
  // then it learns that the record is its own.
  void win_unknowingly() {
    follow();
    pass(1200ms);
    take(half_->on_client(now_).actions);
    ASSERT_TRUE(asked_ && asked_->change);
    witness_ = asked_->change->record;
    witness_is_silent();
    hear();
    ASSERT_NE(send().heard, 0U) << "the active half may read by this";
    lent_ = now_;
    pass(kBeat);
    take(half_->on_later_epoch(witness_.epoch, now_));
    ASSERT_TRUE(asked_);
    answer();
    begin();
    ASSERT_TRUE(half_->is_active());
    ASSERT_EQ(half_->protocol().required(), Members::both());
  }
  Time lent_{};
};

TEST_F(PromisingBackup, WhoLearnsThatItWonLetsTheOtherReadOut) {
  win_unknowingly();
  pass(lent_ + 1s - now_ - 1ms);
  EXPECT_FALSE(asked_ && asked_->change) << "the other may still read by its lease";
  pass(kBeat);
  ASSERT_TRUE(asked_ && asked_->change);
  EXPECT_EQ(asked_->change->record.in_sync, Members::of(me_));
}

TEST_F(PromisingBackup, WhoseProcessIsGoneReadsNoMore) {
  win_unknowingly();
  pass(kBeat);
  take(half_->on_link_end(LinkEnd::Refused, now_, now_ + 1ms));
  ASSERT_TRUE(asked_ && asked_->change);
  EXPECT_EQ(asked_->change->record.in_sync, Members::of(me_));
}

// What was promised before a restart, nobody knows.
TEST_F(PromisingBackup, WhoStartsLetsAnyoneReadOutFirst) {
  make({.promised = 2, .head = {2, 5, 1}});
  take(half_->start(now_));
  const Time started = now_;
  witness_ = record(2, Members::both());
  answer();
  begin();
  ASSERT_TRUE(half_->is_active());
  pass(started + 1s - now_ - 1ms);
  EXPECT_FALSE(asked_ && asked_->change);
  pass(kBeat);
  EXPECT_TRUE(asked_ && asked_->change);
}

TEST_F(PromisingBackup, AQuestionDoesNotMakeUnfitHistoriesFit) {
  follow();
  half_->on_unfit();
  take(half_->on_promised(1, now_));
  EXPECT_TRUE(half_->is_unfit()) << "a copy that comes now has nothing in common with what is here";
  take(half_->on_appended(1, {1, 6, 2}, now_));
  EXPECT_FALSE(half_->is_unfit());
}

TEST_F(PromisingBackup, WhoLeadsNeedsNoCopyAnyMore) {
  follow();
  half_->on_unfit();
  pass(1200ms);
  take(half_->on_client(now_).actions);
  answer();
  begin();
  ASSERT_TRUE(half_->is_active());
  EXPECT_FALSE(half_->is_unfit());
}

class PromisingPrimary : public HalfTest {};

TEST_F(PromisingPrimary, ALeaseIsNoLongerThanTheOtherPromises) {
  lead();
  peers_.lease = 200ms;
  peers_.take = 400ms;
  const Time sent = now_;
  peers_.heard = send().number;
  hear();
  EXPECT_EQ(code(half_->problems(now_).back()), "HF4128");
  pass(sent + 195ms - now_);
  EXPECT_TRUE(half_->may_read(now_).ok());
  pass(2ms);
  EXPECT_EQ(code(half_->may_read(now_)), "HF4107") << "400 ms less two beats and a hundredth";
}

TEST_F(PromisingPrimary, NothingIsHandedOverWhileTheWitnessIsAway) {
  lead();
  take(half_->on_witness_silent(uint64_t{1} << 63 | 1, now_));
  const Result<HalfActions> refused = half_->switch_over(now_);
  EXPECT_EQ(code(refused.status()), "HF4104");
  EXPECT_FALSE(half_->protocol().frozen());
  take(half_->on_witness(uint64_t{1} << 63 | 2, {false, witness_}, now_));
  EXPECT_TRUE(half_->switch_over(now_).ok());
}

// The question may have reached it, or not: nobody knows, and writes do not wait for that.
TEST_F(PromisingPrimary, WritesGoOnWhenTheWitnessGoesAwayDuringASwitchover) {
  lead();
  Result<HalfActions> actions = half_->switch_over(now_);
  ASSERT_TRUE(actions.ok());
  take(*std::move(actions));
  take(half_->on_quiet(now_));
  ASSERT_TRUE(asked_ && asked_->change);
  for (int i = 0; i < 25; ++i) exchange();
  EXPECT_TRUE(half_->may_write(now_).ok()) << half_->may_write(now_);
  EXPECT_TRUE(half_->may_read(now_).ok());
}

class SyncPromise : public HalfTest {
 protected:
  SyncPromise() : HalfTest(Member::Primary, Mode::Sync) {}
  // Active in epoch 1, followed.
  void lead_without_witness() {
    make({.promised = 1, .head = {1, 5, 1}});
    take(half_->start(now_));
    peers_.facts.head = {1, 5, 1};
    peers_.facts.promised = 1;
    hear();
    begin();
    ASSERT_TRUE(half_->is_active());
    peers_.facts.state = State::Passive;
    take(half_->on_acked({1, 5, 1}, "B", now_));
    for (int i = 0; i < 5; ++i) exchange();
    ASSERT_TRUE(half_->has_lease(now_));
  }
};

TEST_F(SyncPromise, WhatOnlyNodesKnowIsOutgrownWhenThePeerHasConfirmedForLong) {
  lead_without_witness();
  const Epoch before = half_->protocol().epoch();
  take(half_->on_later_epoch(before + 7, now_));
  EXPECT_EQ(begun_, 0U) << "the other half may have been promoted just now";
  for (int i = 0; i < 10; ++i) exchange();
  take(half_->on_later_epoch(before + 7, now_));
  EXPECT_GT(begun_, before + 7);
}

TEST_F(SyncPromise, WhoeverIsNotConfirmedOutgrowsNothing) {
  lead_without_witness();
  const Epoch before = half_->protocol().epoch();
  take(half_->on_later_epoch(before + 7, now_));
  pass(1s);  // the other half is promoted elsewhere, and says nothing
  for (int i = 0; i < 8; ++i) exchange();
  take(half_->on_later_epoch(before + 7, now_));
  EXPECT_EQ(begun_, 0U) << "counted from when the peer confirms again";
}

TEST_F(SyncPromise, WhoWasAsleepOutgrowsNothing) {
  lead_without_witness();
  const Epoch before = half_->protocol().epoch();
  take(half_->on_later_epoch(before + 7, now_));
  now_ += 5s;
  take(half_->on_later_epoch(before + 7, now_));
  EXPECT_EQ(begun_, 0U) << "nobody knows who was promoted meanwhile";
}

}  // namespace
}  // namespace holdfast::ha
