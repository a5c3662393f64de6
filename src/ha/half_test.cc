// Who is silent for how long, when a half takes over and when it leaves its peer behind.
#include "ha/half.h"

#include "ha/half_fixture.h"

namespace holdfast::ha {
namespace {

using namespace std::chrono_literals;
using Kind = Reception::Kind;

class HalfOfBackup : public HalfTest {
 protected:
  HalfOfBackup() : HalfTest(Member::Backup) {}
};
class HalfWithoutWitness : public HalfTest {
 protected:
  HalfWithoutWitness() : HalfTest(Member::Backup, Mode::BestEffort) {}
};

TEST_F(HalfTest, APeerCountsAsAliveForAWhileAfterTheOwnStart) {
  take(half_->start(now_));
  EXPECT_TRUE(half_->peer_alive(now_ + 1099ms));
  EXPECT_FALSE(half_->peer_alive(now_ + 1100ms));
}

TEST_F(HalfTest, ARefusedConnectionSaysNothingOfAPeerThatWasNeverHeard) {
  take(half_->start(now_));
  take(half_->on_link_end(LinkEnd::Refused, now_, now_));
  EXPECT_TRUE(half_->peer_alive(now_)) << "it may be starting, as we are";
}

TEST_F(HalfOfBackup, SilenceOfTakeAndSkewAndAClientMakeItClaim) {
  follow();
  const int asks = asks_;
  pass(1099ms);
  EXPECT_TRUE(half_->peer_alive(now_));
  pass(1ms);
  EXPECT_EQ(asks_, asks) << "nobody asked anything of it";
  Reception reception = half_->on_client(now_);
  EXPECT_EQ(reception.kind, Kind::Wait);
  take(std::move(reception.actions));
  answer();
  begin();
  EXPECT_TRUE(half_->is_active());
  EXPECT_EQ(half_->on_client(now_).kind, Kind::Serve);
  EXPECT_EQ(witness_.epoch, 2U);
  ASSERT_TRUE(half_->last_switch());
  EXPECT_EQ(half_->last_switch()->to, Member::Backup);
  EXPECT_EQ(half_->last_switch()->took, 1100ms);
  EXPECT_EQ(half_->last_switch()->reason, "the other half was silent for 1s");
}

TEST_F(HalfTest, ThePrimaryTakesOverALittleEarlier) {
  follow();
  EXPECT_TRUE(half_->peer_alive(now_ + 999ms));
  EXPECT_FALSE(half_->peer_alive(now_ + 1000ms));
}

TEST_F(HalfOfBackup, ARefusedConnectionIsDeathAtOnceUntilABeatComes) {
  follow();
  pass(10ms);
  take(half_->on_link_end(LinkEnd::Silent, now_, now_));
  EXPECT_TRUE(half_->peer_alive(now_));
  take(half_->on_link_end(LinkEnd::Refused, now_, now_));
  EXPECT_FALSE(half_->peer_alive(now_));
  Reception reception = half_->on_client(now_);
  EXPECT_EQ(reception.kind, Kind::Wait);
  take(std::move(reception.actions));
  ASSERT_TRUE(asked_ && asked_->change);
  EXPECT_EQ(asked_->change->record.active(), Member::Backup);
  hear();
  EXPECT_TRUE(half_->peer_alive(now_));
}

TEST_F(HalfOfBackup, ARefusalThatIsOlderThanTheLastBeatIsNotCounted) {
  follow();
  const Time tried = now_;
  pass(10ms);
  hear();
  take(half_->on_link_end(LinkEnd::Refused, tried, now_));
  EXPECT_TRUE(half_->peer_alive(now_));
}

TEST_F(HalfOfBackup, AVoteThatCameTooEarlyIsNotForgotten) {
  make({.promised = 1, .head = {1, 5, 1}});
  witness_ = record(1, Members::both());
  take(half_->start(now_));
  answer();
  EXPECT_EQ(half_->on_client(now_).kind, Kind::Wait) << "the peer may still be heard";
  pass(1200ms);
  ASSERT_TRUE(asked_ && asked_->change) << "nobody has to ask twice";
}

TEST_F(HalfOfBackup, NobodyIsSentToAnActiveHalfWhoseBeatsStayAway) {
  follow();
  const int asks = asks_;
  pass(300ms);
  EXPECT_EQ(half_->on_client(now_).kind, Kind::Redirect) << "beats may be a little late";
  pass(1ms);
  const Reception reception = half_->on_client(now_);
  EXPECT_EQ(reception.kind, Kind::Wait);
  EXPECT_EQ(code(reception.why), "HF4101") << "what is said if nothing changes";
  EXPECT_EQ(reception.active, "primary:7443");
  pass(1099ms - 301ms);
  EXPECT_EQ(asks_, asks) << "too early to take over";
  pass(1ms);
  ASSERT_TRUE(asked_ && asked_->change) << "nobody has to ask twice";
  answer();
  begin();
  EXPECT_EQ(half_->on_client(now_).kind, Kind::Serve);
}

TEST_F(HalfOfBackup, WhoWaitsIsSentToAnActiveHalfThatIsHeardAgain) {
  follow();
  pass(500ms);
  ASSERT_EQ(half_->on_client(now_).kind, Kind::Wait);
  hear();
  EXPECT_EQ(half_->on_client(now_).kind, Kind::Redirect);
}

TEST_F(HalfOfBackup, AWitnessThatFailsAtOnceIsNotStormed) {
  follow();
  pass(1100ms);
  const int before = asks_;
  for (int i = 0; i < 1000; ++i) {
    take(half_->on_client(now_).actions);
    if (asked_) witness_is_silent();
    pass(1ms);
  }
  EXPECT_GE(asks_ - before, 3);
  EXPECT_LE(asks_ - before, 10);
}

TEST_F(HalfOfBackup, AWitnessThatNeverAnswersCountsAsSilentByItself) {
  follow();
  pass(1100ms);
  take(half_->on_client(now_).actions);
  asked_.reset();
  pass(600ms);
  EXPECT_TRUE(asked_) << "asked again";
  EXPECT_TRUE(half_->witness_silence(now_));
}

TEST_F(HalfTest, AnActiveHalfLeavesASilentPeerBehind) {
  lead();
  const int before = asks_;
  pass(699ms);
  EXPECT_EQ(asks_, before);
  pass(1ms);
  ASSERT_TRUE(asked_ && asked_->change);
  EXPECT_EQ(asked_->change->record.in_sync, Members::of(Member::Primary));
  answer();
  begin();
  EXPECT_EQ(half_->protocol().required(), Members::of(Member::Primary));
  EXPECT_EQ(half_->last_switch()->epoch, 1U) << "the same half is active: that is no switch";
}

TEST_F(HalfTest, AnActiveHalfLeavesADeadPeerBehindAtOnce) {
  lead();
  pass(50ms);
  take(half_->on_link_end(LinkEnd::Refused, now_, now_));
  ASSERT_TRUE(asked_ && asked_->change);
  EXPECT_EQ(asked_->change->record.in_sync, Members::of(Member::Primary));
}

TEST_F(HalfTest, ASignOfLifeIsABeatOrAnAnswer) {
  lead();
  const int before = asks_;
  for (int i = 0; i < 10; ++i) {
    pass(kBeat);
    take(half_->on_acked({1, 5, 1}, "B", now_));
  }
  EXPECT_EQ(asks_, before);
}

TEST_F(HalfTest, EveryChangeIsToldAtOnce) {
  EXPECT_EQ(urgent_, 0);
  lead();
  EXPECT_EQ(urgent_, 2) << "a record is known, a tenure began";
  peers_.facts.state = State::Active;
  peers_.facts.promised = 2;
  hear();
  EXPECT_EQ(urgent_, 3) << "it stepped down";
  hear();
  EXPECT_EQ(urgent_, 3);
}

TEST_F(HalfTest, BeatsThatComeTwiceOrInTheWrongOrderAreNotCounted) {
  lead();
  Beat old = peers_;
  pass(300ms);
  hear();
  old.facts.state = State::Active;
  old.facts.promised = 2;
  take(half_->on_beat(old, now_));
  EXPECT_TRUE(half_->is_active());
}

TEST_F(HalfTest, BeatsOfAProcessThatIsGoneAreNotCounted) {
  lead();
  Beat old = peers_;
  peers_.process = "another";
  peers_.number = 0;
  hear();
  old.number += 100;
  old.facts.state = State::Active;
  old.facts.promised = 2;
  take(half_->on_beat(old, now_));
  EXPECT_TRUE(half_->is_active());
  EXPECT_EQ(half_->peer()->process, "another");
}

TEST_F(HalfTest, ItDoesNotHearItself) {
  take(half_->start(now_));
  Beat own = send();
  take(half_->on_beat(own, now_));
  EXPECT_FALSE(half_->peer());
}

TEST_F(HalfOfBackup, AfterALateTickSilenceStartsAnew) {
  follow();
  now_ += 5s;
  EXPECT_EQ(half_->on_client(now_).kind, Kind::Redirect) << "we were not listening";
  EXPECT_EQ(half_->late_ticks(), 1U);
  EXPECT_TRUE(half_->peer_alive(now_ + 1099ms));
  pass(1100ms);
  EXPECT_EQ(half_->on_client(now_).kind, Kind::Wait);
}

TEST_F(HalfOfBackup, ATickThatIsTwoBeatsLateIsStillGood) {
  follow();
  now_ += 300ms;
  take(half_->on_tick(now_));
  EXPECT_EQ(half_->late_ticks(), 0U);
}

TEST_F(HalfWithoutWitness, TakesOverByItselfAndGivesWayToTheHigherEpoch) {
  take(half_->start(now_));
  pass(1100ms);
  take(half_->on_client(now_).actions);
  begin();
  EXPECT_TRUE(half_->is_active());
  peers_.facts.state = State::Active;
  peers_.facts.promised = 3;
  hear();
  EXPECT_FALSE(half_->is_active());
  EXPECT_EQ(half_->last_switch()->to, Member::Primary);
  EXPECT_EQ(code(half_->may_read(now_)), "HF4101");
}

TEST_F(HalfWithoutWitness, AHalfOfAnotherModeIsNoPeer) {
  take(half_->start(now_));
  peers_.mode = Mode::Sync;
  hear();
  const Reception reception = half_->on_client(now_);
  EXPECT_EQ(reception.kind, Kind::Redirect);
  EXPECT_EQ(code(reception.why), "HF4113");
  peers_.mode = Mode::BestEffort;
  peers_.facts.member = Member::Backup;
  hear();
  EXPECT_EQ(code(half_->on_client(now_).why), "HF4106");
}

TEST_F(HalfTest, ProbesShowWhetherTheWitnessIsThere) {
  lead();
  HalfActions seen;
  std::optional<uint64_t> probe;
  for (int i = 0; i < 30 && !probe; ++i) {
    hear();
    now_ = half_->next_deadline();
    for (const HalfAction& action : half_->on_tick(now_)) {
      const auto* ask = std::get_if<AskWitness>(&action);
      if (ask != nullptr && ask->id >> 63 == 1) probe = ask->id;
    }
  }
  ASSERT_TRUE(probe);
  take(half_->on_witness_silent(*probe, now_));
  EXPECT_TRUE(half_->witness_silence(now_));
  ASSERT_FALSE(half_->problems(now_).empty());
  EXPECT_EQ(code(half_->problems(now_).back()), "HF4111");
  pass(50ms);
  take(half_->on_witness(*probe, {false, Record{}}, now_));
  EXPECT_FALSE(half_->witness_silence(now_));
  EXPECT_TRUE(asked_) << "it has lost its record: what is it now?";
}

TEST_F(HalfTest, WhoIsToldOfALaterEpochAsksTheWitnessAtOnce) {
  lead();
  pass(kBeat);
  ASSERT_FALSE(asked_);
  take(half_->on_later_epoch(half_->protocol().promised(), now_));
  EXPECT_FALSE(asked_) << "that is no news";
  take(half_->on_later_epoch(4, now_));
  ASSERT_TRUE(asked_);
  EXPECT_FALSE(asked_->change) << "it only asks";
  EXPECT_TRUE(half_->is_active()) << "a client's word proves nothing";
  answer();
  EXPECT_TRUE(half_->is_active()) << "the client was wrong";

  const int asked_before = asks_;
  for (int i = 0; i < 100; ++i) take(half_->on_later_epoch(4, now_));
  EXPECT_EQ(asks_, asked_before) << "once a beat, however many know better";
  pass(kBeat);
  witness_ = record(4, Members::of(Member::Backup));
  take(half_->on_later_epoch(4, now_));
  answer();
  EXPECT_FALSE(half_->is_active());
}

}  // namespace
}  // namespace holdfast::ha
