// Who may read and write here until when; switching over; what operators are told.
#include "ha/half.h"

#include "ha/half_fixture.h"

namespace holdfast::ha {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Kind = Reception::Kind;

class ServingBackup : public HalfTest {
 protected:
  ServingBackup() : HalfTest(Member::Backup) { options_.timing.recovery = 20s; }
};
class ServingPrimary : public HalfTest {
 protected:
  void drop_peer() {
    pass(700ms);
    answer();
    begin();
  }
};
class BestEffortPrimary : public HalfTest {
 protected:
  BestEffortPrimary() : HalfTest(Member::Primary, Mode::BestEffort) {}
};
class BestEffortBackup : public HalfTest {
 protected:
  BestEffortBackup() : HalfTest(Member::Backup, Mode::BestEffort) {
    options_.timing.recovery = 20s;
    make({.promised = 1, .head = {1, 5, 1}});
  }
  // It took over when the primary was dead, which is back and follows.
  void take_over() {
    take(half_->start(now_));
    pass(2s);
    take(half_->on_client(now_).actions);
    begin();
    ASSERT_TRUE(half_->is_active());
    peers_.facts.state = State::Passive;
    peers_.facts.promised = half_->protocol().epoch();
    hear();
  }
  // A beat's time under writes: so many more, of which the peer has those of before.
  void write(store::Revision more) {
    take(half_->on_acked({2, last_, 1}, "B", now_));
    last_ += more;
    half_->on_written({2, last_, 1});
    exchange();
  }
  store::Revision last_ = 5;
};
class SyncPrimary : public HalfTest {
 protected:
  SyncPrimary() : HalfTest(Member::Primary, Mode::Sync) {}
};

TEST_F(ServingPrimary, TheLeaseLastsFromWhenTheEchoedBeatWasSent) {
  lead();
  const Time sent = now_;
  const Beat beat = send();
  send();
  peers_.heard = beat.number;
  pass(80ms);
  hear();
  pass(sent + 599ms - now_);
  EXPECT_TRUE(half_->may_read(now_).ok()) << half_->may_read(now_);
  pass(1ms);
  EXPECT_EQ(code(half_->may_read(now_)), "HF4107");
  EXPECT_TRUE(half_->may_write(now_).ok()) << "a write waits for both disks anyway";
}

TEST_F(ServingPrimary, AnEchoMeantForAFormerProcessGivesNoLease) {
  lead();
  pass(600ms);
  for (int i = 0; i < 5; ++i) send();
  peers_.heard_process = "mine, before the crash";
  peers_.heard = send().number;
  hear();
  EXPECT_FALSE(half_->has_lease(now_));
}

TEST_F(ServingPrimary, AnEchoOfWhatWasNeverSentGivesNoLease) {
  lead();
  pass(600ms);
  peers_.heard = send().number + 1;
  hear();
  EXPECT_FALSE(half_->has_lease(now_));
}

TEST_F(ServingPrimary, WhoIsAloneInTheRecordNeedsNoLease) {
  lead();
  drop_peer();
  pass(5s);
  EXPECT_TRUE(half_->may_read(now_).ok());
}

// It beats, and is sent nothing: who waited for its disk would serve nobody as long as it runs.
TEST_F(ServingPrimary, APeerThatIsConfiguredOtherwiseIsLeftBehind) {
  const Beat fit = peers_;
  for (const char* wrong : {"HF4106", "HF4113", "HF4112"}) {
    peers_ = fit;
    peers_.number = 1000;
    lead();
    for (int i = 0; i < 10; ++i) exchange();  // nobody reads by what was said before the start
    peers_.process = wrong;
    if (wrong == std::string("HF4106")) peers_.facts.member = me_;
    if (wrong == std::string("HF4113")) peers_.mode = Mode::Sync;
    if (wrong == std::string("HF4112")) peers_.schema_min = peers_.schema_max = 1000;
    hear();
    EXPECT_EQ(code(half_->serves(now_)), wrong) << "the witness was not asked yet";
    EXPECT_THAT(std::string(half_->problems(now_).front().message()), HasSubstr("stop that half"));
    exchange();
    ASSERT_TRUE(asked_ && asked_->change) << wrong;
    answer();
    begin();
    EXPECT_EQ(half_->protocol().required(), Members::of(me_)) << wrong;
    EXPECT_EQ(witness_.in_sync, Members::of(me_)) << wrong;
    EXPECT_TRUE(half_->serves(now_).ok()) << half_->serves(now_);
  }
}

TEST_F(ServingPrimary, AfterALateTickTheLeaseIsOverForThreeBeats) {
  lead();
  const Beat before = send();
  now_ += 301ms;
  EXPECT_EQ(code(half_->may_read(now_)), "HF4107") << "even before the tick";
  take(half_->on_tick(now_));
  peers_.heard = before.number;
  hear();
  EXPECT_FALSE(half_->has_lease(now_));
  exchange();
  EXPECT_FALSE(half_->has_lease(now_));
  exchange();
  EXPECT_TRUE(half_->has_lease(now_));
}

TEST_F(ServingBackup, WhoIsTakingOverPromisesNothing) {
  follow();
  EXPECT_EQ(send().heard, peers_.number);
  EXPECT_EQ(send().heard_process, "theirs");
  pass(1100ms);
  take(half_->on_client(now_).actions);
  hear();  // it is back, but the witness may have decided already
  EXPECT_EQ(send().heard, 0U);
  witness_is_silent();
  EXPECT_EQ(send().heard, peers_.number);
}

// It took over, acknowledged more alone, and was restarted: it does not know yet that it is the
// active one, and the former active half still beats.
TEST_F(ServingBackup, WhoHasPromisedALaterEpochPromisesNothingToAnOlderOne) {
  make({.promised = 4, .head = {4, 9, 1}});
  take(half_->start(now_));
  peers_.facts.state = State::Active;
  peers_.facts.promised = 3;
  hear();
  EXPECT_EQ(send().heard, 0U);
  peers_.facts.promised = 5;
  hear();
  EXPECT_EQ(send().heard, peers_.number);
}

TEST_F(BestEffortPrimary, ActiveIsEnough) {
  take(half_->start(now_));
  EXPECT_EQ(code(half_->may_read(now_)), "HF4105");
  pass(1100ms);
  take(half_->on_client(now_).actions);
  begin();
  pass(10s);
  EXPECT_TRUE(half_->may_read(now_).ok());
  EXPECT_TRUE(half_->may_write(now_).ok());
}

TEST_F(ServingBackup, APassiveHalfNamesTheActive) {
  follow();
  const Reception reception = half_->on_client(now_);
  EXPECT_EQ(reception.kind, Kind::Redirect);
  EXPECT_EQ(reception.active, "primary:7443");
  EXPECT_EQ(code(reception.why), "HF4101");
  EXPECT_EQ(reception.why.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(reception.why.message()), HasSubstr("PASSIVE"));
  EXPECT_EQ(code(half_->may_write(now_)), "HF4101");
}

TEST_F(ServingPrimary, ASwitchOverFreezesThenHandsOver) {
  lead();
  Result<HalfActions> actions = half_->switch_over(now_);
  ASSERT_TRUE(actions.ok());
  take(*std::move(actions));
  EXPECT_EQ(quiesced_, 1);
  EXPECT_EQ(code(half_->may_write(now_)), "HF4108");
  EXPECT_EQ(half_->on_client(now_).kind, Kind::Wait);
  pass(20ms);
  take(half_->on_quiet(now_));
  answer();
  EXPECT_FALSE(half_->is_active());
  EXPECT_EQ(witness_.active(), Member::Backup);
  pass(30ms);
  peers_.facts.state = State::Active;
  peers_.facts.promised = 2;
  hear();
  EXPECT_EQ(half_->last_switch()->reason, "switchover");
  EXPECT_EQ(half_->last_switch()->took, 30ms);
  EXPECT_EQ(half_->on_client(now_).active, "backup:7443");
}

TEST_F(ServingPrimary, ASwitchOverToWhoIsNotInSyncIsRefused) {
  lead();
  drop_peer();
  EXPECT_EQ(code(half_->switch_over(now_).status()), "HF4104");
}

TEST_F(BestEffortPrimary, ASwitchOverThatDoesNotComeAboutEnds) {
  take(half_->start(now_));
  peers_.facts.state = State::Backup;
  hear();
  begin();
  half_->on_written({1, 9, 1});
  take(half_->on_acked({1, 9, 1}, "B", now_));
  ASSERT_TRUE(half_->switch_over(now_).ok());
  for (int i = 0; i < 19; ++i) exchange();
  EXPECT_FALSE(half_->may_write(now_).ok());
  exchange();
  EXPECT_TRUE(half_->may_write(now_).ok());
}

TEST_F(ServingBackup, ControlGoesBackAfterATimeWithoutTrouble) {
  lead();
  for (int i = 0; i < 198; ++i) exchange();
  EXPECT_EQ(quiesced_, 0);
  for (int i = 0; i < 5; ++i) exchange();
  EXPECT_EQ(quiesced_, 1);
  EXPECT_TRUE(half_->protocol().frozen());
}

// Whoever writes there waits for nobody: the primary has all of it at no moment.
TEST_F(BestEffortBackup, ControlGoesBackUnderWrites) {
  take_over();
  for (int i = 0; i < 195; ++i) write(10);
  EXPECT_EQ(quiesced_, 0);
  EXPECT_FALSE(half_->protocol().peer_in_sync());
  for (int i = 0; i < 10; ++i) write(10);
  EXPECT_EQ(quiesced_, 1);
  EXPECT_TRUE(half_->protocol().frozen());
}

TEST_F(BestEffortBackup, ControlDoesNotGoBackToAPrimaryThatIsFarBehind) {
  take_over();
  for (int i = 0; i < 300; ++i) write(Protocol::kNearby + 1);
  EXPECT_EQ(quiesced_, 0);
}

TEST_F(ServingBackup, ControlDoesNotGoBackToAnotherVersionOrFromThePrimary) {
  lead();
  peers_.schema_max = 2;
  for (int i = 0; i < 300; ++i) exchange();
  EXPECT_EQ(quiesced_, 0);
  peers_.schema_max = 1;
  for (int i = 0; i < 100; ++i) exchange();
  EXPECT_EQ(quiesced_, 0) << "its time began only now";
}

TEST_F(ServingPrimary, APrimaryKeepsControl) {
  options_.timing.recovery = 20s;
  lead();
  for (int i = 0; i < 300; ++i) exchange();
  EXPECT_EQ(quiesced_, 0);
}

TEST_F(SyncPrimary, AnOperatorCanForceIt) {
  make({.promised = 1, .head = {1, 5, 1}});
  take(half_->start(now_));
  take(half_->force(now_));
  begin();
  EXPECT_TRUE(half_->may_read(now_).ok());
  EXPECT_EQ(half_->last_switch()->reason, "forced by an operator");
}

// It took over; the half that it took over from is back and knows nothing of it.
TEST_F(ServingPrimary, WhoWasRestartedKnowsTheLastSwitchFromTheOther) {
  peers_.last_switch = {.to = Member::Backup,
                        .reason = "the other half's process is gone",
                        .took = 140ms,
                        .epoch = 2,
                        .ago = 30s};
  hear();
  ASSERT_TRUE(half_->last_switch());
  EXPECT_EQ(half_->last_switch()->to, Member::Backup);
  EXPECT_EQ(half_->last_switch()->took, 140ms);
  EXPECT_EQ(half_->last_switch()->at, now_ - 30s);
  pass(1s);
  EXPECT_EQ(send().last_switch->ago, 31s);
}

TEST_F(ServingPrimary, WhatIsKnownHereIsNotReplacedByWhatIsOlder) {
  peers_.last_switch = {.to = Member::Backup, .reason = "before", .epoch = 0};
  lead();
  ASSERT_TRUE(half_->last_switch());
  EXPECT_EQ(half_->last_switch()->to, Member::Primary);
}

TEST_F(ServingPrimary, WhatWouldHappenIsSaidInOneSentence) {
  EXPECT_EQ(half_->if_active_died(now_), "no half is active now");
  lead();
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("the backup takes over"));
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("nothing acknowledged is lost"));
  drop_peer();
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("nobody takes over: the backup is not in"));
  pass(500ms);
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("the backup is not there"));
}

TEST_F(ServingBackup, APassiveHalfSaysTheSame) {
  follow();
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("the backup takes over"));
}

TEST_F(ServingPrimary, WithoutAWitnessNobodyTakesOver) {
  lead();
  take(half_->on_witness_silent(uint64_t{1} << 63 | 7, now_));
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("when the witness answers again"));
}

TEST_F(ServingPrimary, ProblemsHaveCodes) {
  const auto codes = [&] {
    std::vector<std::string> codes;
    for (const Status& one : half_->problems(now_)) codes.push_back(code(one));
    return codes;
  };
  lead();
  EXPECT_THAT(codes(), testing::IsEmpty());
  peers_.schema_min = peers_.schema_max = 9;
  hear();
  EXPECT_THAT(codes(), testing::ElementsAre("HF4112"));
  peers_.schema_min = 1;
  hear();
  drop_peer();
  EXPECT_THAT(codes(), testing::ElementsAre("HF4109"));
  pass(400ms);
  EXPECT_THAT(codes(), testing::ElementsAre("HF4102"));
}

TEST_F(ServingPrimary, AnActiveHalfThatMayNotServeSaysSo) {
  lead();
  pass(700ms);
  ASSERT_TRUE(half_->is_active()) << "the witness has not answered";
  const std::vector<Status> problems = half_->problems(now_);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(code(problems.front()), "HF4107");
  EXPECT_THAT(std::string(problems.front().message()), HasSubstr("active and answers nobody"));
}

// Its beats come, and a question is answered with what it had before.
class FailingDisk : public ServingPrimary {
 protected:
  void pass_with_beats(Duration length) {
    for (const Time end = now_ + length; now_ < end;) {
      exchange();
      if (!half_->is_active()) continue;
      half_->on_not_taken(absl::ResourceExhaustedError("the disk is full"), now_);
      take(half_->on_acked({1, 5, 1}, "B", now_));
    }
  }
};

TEST_F(FailingDisk, TheActiveHalfGoesOnWithoutAPeerThatTakesNothing) {
  lead();
  half_->on_written({1, 6, 2});
  pass_with_beats(600ms);
  EXPECT_FALSE(asked_) << "it may be slow for a moment";
  pass_with_beats(200ms);
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->change->record.in_sync, Members::of(Member::Primary));
  answer();
  begin();
  EXPECT_EQ(half_->acknowledged(), 6);
  const std::vector<Status> problems = half_->problems(now_);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(code(problems[0]), "HF4109");
  EXPECT_EQ(code(problems[1]), "HF4117");
  EXPECT_THAT(std::string(problems[1].message()), HasSubstr("the disk is full"));
  pass_with_beats(3s);
  EXPECT_FALSE(asked_) << "what it says again is not that it catches up";
  EXPECT_EQ(half_->acknowledged(), 6);
}

TEST_F(FailingDisk, APeerWhoseDiskTakesItAgainIsInSyncAgain) {
  lead();
  half_->on_written({1, 6, 2});
  pass_with_beats(800ms);
  answer();
  begin();
  half_->on_written({3, 7, 3});
  peers_.facts.promised = 3;
  take(half_->on_acked({3, 7, 3}, "B", now_));
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->change->record.in_sync, Members::both());
  answer();
  begin();
  EXPECT_TRUE(half_->in_sync(now_));
  exchange();
  EXPECT_TRUE(half_->problems(now_).empty());
}

TEST_F(ServingPrimary, OneFailureIsNotAnother) {
  lead();
  half_->on_written({1, 6, 2});
  half_->on_not_taken(absl::UnavailableError("the connection broke"), now_);
  exchange();
  half_->on_written({1, 7, 2});
  take(half_->on_acked({1, 7, 2}, "B", now_));
  for (int i = 0; i < 10; ++i) exchange();
  EXPECT_FALSE(asked_);
}

TEST_F(ServingPrimary, APeerThatLacksNothingIsNotStalledByAQuestionThatFailed) {
  lead();
  half_->on_not_taken(absl::UnavailableError("the connection broke"), now_);
  take(half_->on_acked({1, 5, 1}, "B", now_));
  for (int i = 0; i < 10; ++i) exchange();
  EXPECT_FALSE(asked_);
}

TEST_F(ServingBackup, APassiveHalfKnowsFromTheOtherThatItIsInSync) {
  follow();
  peers_.in_sync = false;
  hear();
  EXPECT_FALSE(half_->in_sync(now_));
  peers_.in_sync = true;
  hear();
  EXPECT_TRUE(half_->in_sync(now_));
  pass(1200ms);
  EXPECT_FALSE(half_->in_sync(now_)) << "nobody is there who could say so";
}

// A machine was copied, and both were started.
TEST_F(ServingPrimary, AFormerProcessCountsAgainWhenTheOneAfterItIsGone) {
  lead();
  const Beat former = peers_;
  peers_.process = "its copy";
  hear();
  peers_ = former;
  peers_.number += 1;
  hear();
  EXPECT_EQ(half_->peer()->process, "its copy") << "it may have been on its way for long";
  for (int i = 0; i < 12; ++i) {
    pass(kBeat);
    hear();
  }
  EXPECT_EQ(half_->peer()->process, "theirs");
  for (int i = 0; i < 3; ++i) exchange();
  EXPECT_TRUE(half_->has_lease(now_));
}

TEST_F(ServingBackup, AWitnessWithoutARecordOfAPairThatWasIsAProblem) {
  make({.promised = 4, .head = {4, 5, 1}});
  take(half_->start(now_));
  answer();
  peers_.facts.state = State::Primary;
  hear();
  const std::vector<Status> problems = half_->problems(now_);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(code(problems[0]), "HF4206");
  peers_.facts.state = State::Active;
  peers_.facts.promised = 5;
  peers_.in_sync = true;
  hear();
  EXPECT_TRUE(half_->problems(now_).empty()) << "one is active, and will write it";
}

TEST_F(ServingBackup, ARecordOlderThanWhatWasFollowedIsAProblemUntilSomebodyIsActive) {
  witness_ = record(2, Members::both());
  make({.promised = 5, .head = {5, 5, 1}});
  take(half_->start(now_));
  answer();
  EXPECT_EQ(begun_, 0U) << "it names this half, and is over";
  peers_.facts.state = State::Primary;
  hear();
  ASSERT_EQ(half_->problems(now_).size(), 1U);
  EXPECT_EQ(code(half_->problems(now_)[0]), "HF4207");
  peers_.facts.state = State::Active;
  peers_.facts.promised = 5;
  peers_.in_sync = true;
  hear();
  EXPECT_TRUE(half_->problems(now_).empty());
}

TEST_F(ServingPrimary, AForcedHalfSaysThatNobodyElseHasItUntilTheWitnessKnows) {
  lead();
  half_->on_written({half_->protocol().epoch(), 6, 2});
  take(half_->force(now_));
  begin();
  take(half_->on_acked(half_->protocol().head(), "B", now_));
  hear();
  EXPECT_FALSE(half_->in_sync(now_));
  const std::vector<Status> problems = half_->problems(now_);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(code(problems.back()), "HF4118");
  EXPECT_THAT(std::string(problems.back().message()), HasSubstr("this half's disk alone"));
}

TEST_F(ServingBackup, APassiveHalfThatIsBehindSaysSoItself) {
  follow();
  EXPECT_TRUE(half_->problems(now_).empty());
  peers_.in_sync = false;
  peers_.facts.head.revision = 12;
  hear();
  const std::vector<Status> problems = half_->problems(now_);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(code(problems[0]), "HF4109");
  EXPECT_THAT(std::string(problems[0].message()), HasSubstr("it lacks 7 revisions"));
  EXPECT_THAT(half_->if_active_died(now_), HasSubstr("nobody takes over"));
}

TEST_F(ServingPrimary, ABeatCarriesTheLatestTenures) {
  for (Epoch epoch = 1; epoch <= 100; ++epoch) {
    facts_.tenures.push_back({epoch, static_cast<store::Revision>(epoch)});
  }
  const Beat beat = send();
  EXPECT_EQ(beat.tenures.size(), kMaxTenures);
  EXPECT_EQ(beat.tenures.back().epoch, 100U);
  half_->on_unfit();
  EXPECT_TRUE(send().needs_copy);
  EXPECT_EQ(send().number, 3U);
}

}  // namespace
}  // namespace holdfast::ha
