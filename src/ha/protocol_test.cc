// What the halves do without a witness, and in all modes alike. With one: protocol_record_test.cc;
// epochs that meet: protocol_epoch_test.cc.
#include "ha/protocol.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/reason.h"
#include "ha/protocol_fixture.h"

namespace holdfast::ha {
namespace {

constexpr Member kP = Member::Primary;
constexpr Member kB = Member::Backup;

std::string code_of(const Status& status) {
  return std::string(split_reason(status).code);
}

// --- the seed's two steady states, from every order of starts ---

struct StartOrder {
  Mode mode;
  std::string events;  // p, b: starts; P, B: a client asks there, the peer is taken for dead if it
                       // is not up; =: both settle
  Member active;
};

class FromEveryStartOrder : public testing::TestWithParam<StartOrder> {};

void follow(PairRig& rig, const std::string& events) {
  for (const char event : events) {
    if (event == 'p') rig.start(kP);
    if (event == 'b') rig.start(kB);
    if (event == '=') rig.settle();
    const Member asked = event == 'P' ? kP : kB;
    rig.dead_peer = !rig.is_up(other(asked));
    if (event == 'P' || event == 'B') rig.vote(asked);
  }
}

TEST_P(FromEveryStartOrder, OneHalfIsActiveAndTheOtherPassive) {
  PairRig rig(GetParam().mode);
  follow(rig, GetParam().events);
  EXPECT_EQ(rig.at(GetParam().active).state(), State::Active);
  EXPECT_EQ(rig.at(other(GetParam().active)).state(), State::Passive);
  EXPECT_EQ(rig.at(GetParam().active).acknowledged(), store::kFirstRevision);
}

INSTANTIATE_TEST_SUITE_P(BestEffort, FromEveryStartOrder,
                         testing::Values(StartOrder{Mode::BestEffort, "pb=", kP},
                                         StartOrder{Mode::BestEffort, "bp=", kP},
                                         StartOrder{Mode::BestEffort, "pPb=", kP},
                                         StartOrder{Mode::BestEffort, "pbP=", kP},
                                         StartOrder{Mode::BestEffort, "bpB=", kP},
                                         StartOrder{Mode::BestEffort, "bBp=", kP},
                                         StartOrder{Mode::BestEffort, "bB=p=P=", kP},
                                         StartOrder{Mode::BestEffort, "pP=b=B=", kP}));
INSTANTIATE_TEST_SUITE_P(Sync, FromEveryStartOrder,
                         testing::Values(StartOrder{Mode::Sync, "pb=", kP},
                                         StartOrder{Mode::Sync, "bp=", kP},
                                         StartOrder{Mode::Sync, "pPb=", kP},
                                         StartOrder{Mode::Sync, "bBp=", kP}));
// Both have data, and one of them was active when both stopped. With a witness that one is active
// again, without one the primary; in all modes whoever is there alone and is asked, and stays so.
struct ColdStart {
  Mode mode;
  Member before;  // who was active when both stopped
  std::string events;
  Member active;
};

class FromEveryColdStart : public testing::TestWithParam<ColdStart> {};

TEST_P(FromEveryColdStart, OneHalfIsActiveAndStaysSo) {
  const auto& [mode, before, events, active] = GetParam();
  PairRig rig(mode);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.ship(kP).ok());
  if (before == kB) {
    rig.crash(kP);
    rig.vote(kB);
    ASSERT_EQ(rig.at(kB).state(), State::Active);
    rig.start(kP);
    rig.settle();
    rig.write(kB);
    ASSERT_TRUE(rig.ship(kB).ok());
    rig.settle();
  }
  const store::Revision acknowledged = rig.at(before).acknowledged();
  for (const Member member : {kP, kB}) rig.crash(member);

  follow(rig, events);

  EXPECT_EQ(rig.at(active).state(), State::Active);
  EXPECT_EQ(rig.at(other(active)).state(), State::Passive);
  EXPECT_EQ(rig.at(active).acknowledged(), acknowledged);
  const Epoch epoch = rig.at(active).epoch();
  // Whoever asks whichever half: it stays as it is.
  rig.dead_peer = false;
  for (const Member member : {kP, kB, kP}) {
    rig.vote(member);
    rig.settle();
  }
  EXPECT_EQ(rig.at(active).epoch(), epoch);
  EXPECT_EQ(rig.at(other(active)).state(), State::Passive);
}

std::vector<ColdStart> every_cold_start() {
  std::vector<ColdStart> all;
  for (const Member before : {kP, kB}) {
    for (const char* events : {"pb=", "bp=", "p=b=", "b=p=", "pb=P=B=", "bp=B=P="}) {
      all.push_back({Mode::Witness, before, events, before});
      all.push_back({Mode::Sync, before, events, kP});
      all.push_back({Mode::BestEffort, before, events, kP});
    }
    for (const Mode mode : {Mode::Witness, Mode::Sync, Mode::BestEffort}) {
      all.push_back({mode, before, "pP=b=", kP});
      all.push_back({mode, before, "bB=p=", kB});
      all.push_back({mode, before, "bB=p=P=B=", kB});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, FromEveryColdStart, testing::ValuesIn(every_cold_start()),
                         [](const testing::TestParamInfo<ColdStart>& info) {
                           std::string name =
                               fmt::format("{}_{}_{}", to_string(info.param.mode),
                                           to_string(info.param.before), info.param.events);
                           std::ranges::replace(name, '=', '_');
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// A backup that was never in sync does not become active, whoever asks it.
INSTANTIATE_TEST_SUITE_P(Witness, FromEveryStartOrder,
                         testing::Values(StartOrder{Mode::Witness, "pb=", kP},
                                         StartOrder{Mode::Witness, "bp=", kP},
                                         StartOrder{Mode::Witness, "pPb=", kP},
                                         StartOrder{Mode::Witness, "bBp=", kP},
                                         StartOrder{Mode::Witness, "bBpB=", kP}));

TEST(Protocol, ABackupThatTookOverStaysActiveWhenThePrimaryReturns) {
  for (const Mode mode : {Mode::BestEffort, Mode::Sync, Mode::Witness}) {
    PairRig rig(mode);
    rig.steady();
    rig.write(kP);
    ASSERT_TRUE(rig.ship(kP).ok());
    rig.crash(kP);
    rig.vote(kB);
    ASSERT_EQ(rig.at(kB).state(), State::Active) << to_string(mode);
    rig.start(kP);
    rig.settle();
    EXPECT_EQ(rig.at(kB).state(), State::Active) << to_string(mode);
    EXPECT_EQ(rig.at(kP).state(), State::Passive) << to_string(mode);
  }
}

// --- clients ---

TEST(Protocol, AClientIsNoVoteWhileThePeerIsAlive) {
  PairRig rig(Mode::BestEffort);
  rig.disk(kB) = {.promised = 1, .head = {.epoch = 1, .revision = 2}, .store_id = "b"};
  rig.start(kB);
  EXPECT_EQ(rig.at(kB).on_client(true).outcome, Outcome::Redirect);
  EXPECT_EQ(rig.at(kB).state(), State::Backup);
  const Protocol::Verdict verdict = rig.at(kB).on_client(false);
  EXPECT_EQ(verdict.outcome, Outcome::Claim);
  EXPECT_EQ(verdict.actions, Actions{BeginTenure{.epoch = 2}});
}

TEST(Protocol, AHalfIsActiveOnlyWhenItsTenureIsDurable) {
  PairRig rig(Mode::BestEffort);
  rig.tenures = false;
  rig.disk(kP).first_of_pair = true;
  rig.start(kP);
  rig.vote(kP);
  EXPECT_TRUE(rig.at(kP).claiming());
  EXPECT_EQ(rig.at(kP).state(), State::Primary);
  EXPECT_TRUE(rig.at(kP).on_client(false).actions.empty()) << "one claim at a time";
  rig.at(kP).on_tenure(1);
  EXPECT_EQ(rig.at(kP).state(), State::Active);
  EXPECT_EQ(rig.at(kP).epoch(), 1);
}

TEST(Protocol, ATenureThatTheDiskRefusedIsGivenUp) {
  PairRig rig(Mode::BestEffort);
  rig.tenures = false;
  rig.disk(kP).first_of_pair = true;
  rig.start(kP);
  rig.vote(kP);
  rig.at(kP).abandon();
  EXPECT_FALSE(rig.at(kP).claiming());
  EXPECT_EQ(rig.at(kP).state(), State::Primary);
}

TEST(Protocol, ATenureThatIsNotWantedAnyMoreIsStillPromised) {
  PairRig rig(Mode::BestEffort);
  rig.tenures = false;
  rig.disk(kP).first_of_pair = true;
  rig.start(kP);
  rig.vote(kP);
  ASSERT_TRUE(rig.at(kP).on_replicate(2).ok());
  rig.at(kP).on_tenure(3);  // the disk was faster than the message
  EXPECT_EQ(rig.at(kP).state(), State::Passive);
  EXPECT_EQ(rig.at(kP).facts().promised, 3) << "so that the active half raises its epoch";
}

TEST(Protocol, ASyncHalfOnAnEmptyDiskClaimsNothingBeforeItHeardItsPeer) {
  PairRig rig(Mode::Sync);
  rig.start(kP);
  EXPECT_EQ(rig.at(kP).on_client(false).outcome, Outcome::Redirect);
  rig.start(kB);
  rig.beat(kB);
  EXPECT_EQ(rig.at(kP).state(), State::Active);
}

// Its disk was replaced, and the half with the data is off: what it began would win over that.
TEST(Protocol, ABestEffortHalfOnAnEmptyDiskIsMadeActiveByNoClient) {
  for (const Member empty : {kP, kB}) {
    PairRig rig(Mode::BestEffort);
    rig.disk(empty).promised = empty == kP ? 0 : 1;  // it may have followed, and got nothing yet
    rig.start(empty);
    EXPECT_EQ(rig.at(empty).on_client(false).outcome, Outcome::Redirect) << to_string(empty);
    EXPECT_FALSE(rig.at(empty).claiming()) << to_string(empty);
    rig.run(empty, rig.at(empty).force());
    EXPECT_EQ(rig.at(empty).state(), State::Active) << "an operator insists";
  }
}

TEST(Protocol, ABestEffortHalfThatHadDataBeforeThePairOrBeganItGoesOnAlone) {
  PairRig single(Mode::BestEffort);
  single.disk(kP).head.revision = 7;
  single.start(kP);
  single.vote(kP);
  EXPECT_EQ(single.at(kP).state(), State::Active) << "a single controller became a half";

  PairRig founded(Mode::BestEffort);
  founded.start(kP);
  founded.run(kP, founded.at(kP).found());
  founded.crash(kP);
  founded.start(kP);
  founded.vote(kP);
  EXPECT_EQ(founded.at(kP).state(), State::Active) << "it stopped before its first write";
}

TEST(Protocol, ASyncHalfWritesNothingBeforeThePeerAcknowledged) {
  PairRig rig(Mode::Sync);
  rig.disk(kP) = {.promised = 1, .head = {.epoch = 1, .revision = 1}, .store_id = "p"};
  rig.start(kP);
  rig.vote(kP);
  ASSERT_EQ(rig.at(kP).state(), State::Active);
  EXPECT_FALSE(rig.at(kP).may_write());
  rig.start(kB);
  rig.settle();
  EXPECT_TRUE(rig.at(kP).may_write());
  rig.write(kP);
  EXPECT_EQ(rig.at(kP).acknowledged(), 1);
  ASSERT_TRUE(rig.ship(kP).ok());
  EXPECT_EQ(rig.at(kP).acknowledged(), 2);
}

TEST(Protocol, ABestEffortHalfAcknowledgesAlone) {
  PairRig rig(Mode::BestEffort);
  rig.disk(kP).first_of_pair = true;
  rig.start(kP);
  rig.vote(kP);
  EXPECT_TRUE(rig.at(kP).may_write());
  rig.write(kP);
  EXPECT_EQ(rig.at(kP).acknowledged(), 2);
}

// --- histories ---

TEST(Protocol, TheHalfWithMoreHistoryBecomesActive) {
  PairRig rig(Mode::BestEffort);
  rig.disk(kB) = {.promised = 2, .head = {.epoch = 2, .revision = 9}, .store_id = "b"};
  rig.start(kP);
  rig.start(kB);
  rig.settle();
  EXPECT_EQ(rig.at(kB).state(), State::Active);
  EXPECT_EQ(rig.at(kB).epoch(), 4);
  EXPECT_EQ(rig.at(kP).head().revision, 9);
}

TEST(Protocol, APrimaryOnAnEmptyDiskThatWroteNothingGivesWayToABackupWithData) {
  for (const Mode mode : {Mode::BestEffort, Mode::Sync}) {
    PairRig rig(mode);
    rig.disk(kB) = {.promised = 1, .head = {.epoch = 1, .revision = 9}, .store_id = "b"};
    rig.disk(kP).first_of_pair = true;
    rig.start(kP);
    rig.run(kP, rig.at(kP).on_client(false).actions);
    ASSERT_EQ(rig.at(kP).state() == State::Active, mode == Mode::BestEffort);
    rig.start(kB);
    rig.beat(kP);  // the backup follows
    rig.settle();
    EXPECT_EQ(rig.at(kB).state(), State::Active) << to_string(mode);
    EXPECT_EQ(rig.at(kP).head().revision, 9) << to_string(mode);
  }
}

TEST(Protocol, AnActiveHalfThatWroteDoesNotGiveWay) {
  PairRig rig(Mode::BestEffort);
  rig.disk(kP) = {.promised = 5, .head = {.epoch = 5, .revision = 4}, .store_id = "p"};
  rig.disk(kB) = {.promised = 2, .head = {.epoch = 2, .revision = 9}, .store_id = "b"};
  rig.start(kP);
  rig.vote(kP);
  rig.start(kB);
  rig.settle();
  EXPECT_EQ(rig.at(kP).state(), State::Active);
  EXPECT_EQ(rig.at(kB).state(), State::Passive);
}

// --- handing over without a witness ---

TEST(Protocol, HandsOverDirectlyWhenThePeerHasEverything) {
  for (const Mode mode : {Mode::BestEffort, Mode::Sync}) {
    PairRig rig(mode);
    rig.steady();
    rig.write(kP);
    ASSERT_TRUE(rig.ship(kP).ok());
    ASSERT_TRUE(rig.at(kP).switch_over().ok());
    EXPECT_FALSE(rig.at(kP).may_write());
    rig.run(kP, rig.at(kP).on_quiet());
    EXPECT_EQ(rig.at(kP).state(), State::Passive);
    rig.beat(kP);
    EXPECT_EQ(rig.at(kB).state(), State::Active);
    EXPECT_EQ(rig.at(kB).epoch(), 2);
    rig.settle();
    EXPECT_EQ(rig.at(kP).state(), State::Passive);
    EXPECT_EQ(rig.at(kP).facts().hands_over, 0);
  }
}

TEST(Protocol, WaitsForTheLastWriteBeforeItHandsOver) {
  PairRig rig(Mode::Sync);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.at(kP).switch_over().ok());
  rig.run(kP, rig.at(kP).on_quiet());
  EXPECT_EQ(rig.at(kP).state(), State::Active);
  ASSERT_TRUE(rig.ship(kP).ok());
  EXPECT_EQ(rig.at(kP).state(), State::Passive);
}

TEST(Protocol, AHandOverToAPeerThatDiedIsTakenBack) {
  PairRig rig(Mode::BestEffort);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.ship(kP).ok());
  ASSERT_TRUE(rig.at(kP).switch_over().ok());
  rig.lose_peer(kP);
  EXPECT_TRUE(rig.at(kP).may_write()) << "before it was handed over";
  ASSERT_TRUE(rig.at(kP).switch_over().ok());
  rig.run(kP, rig.at(kP).on_quiet());
  rig.crash(kB);
  rig.vote(kP);
  EXPECT_EQ(rig.at(kP).state(), State::Active) << "after it";
  EXPECT_EQ(rig.at(kP).epoch(), 3);
}

TEST(Protocol, AHandOverThatThePeerCannotTakeAnyMoreIsDecidedAnew) {
  PairRig rig(Mode::BestEffort);
  rig.steady();
  ASSERT_TRUE(rig.at(kP).switch_over().ok());
  rig.run(kP, rig.at(kP).on_quiet());
  ASSERT_EQ(rig.at(kP).facts().hands_over, 2);
  rig.crash(kB);
  rig.disk(kB).promised = 2;  // it began, and crashed
  rig.start(kB);
  rig.settle();
  EXPECT_EQ(rig.at(kP).state(), State::Active);
  EXPECT_EQ(rig.at(kB).state(), State::Passive);
}

TEST(Protocol, ABestEffortHalfHandsOverWhenThePeerHasCaughtUp) {
  PairRig rig(Mode::BestEffort);
  rig.steady();
  rig.write(kP);
  ASSERT_TRUE(rig.at(kP).switch_over().ok()) << "it is a write behind, as always";
  rig.run(kP, rig.at(kP).on_quiet());
  EXPECT_EQ(rig.at(kP).facts().hands_over, 0U) << "it lacks that write";

  ASSERT_TRUE(rig.ship(kP).ok());
  EXPECT_EQ(rig.at(kP).facts().hands_over, 2U);
}

TEST(Protocol, OnlyTheActiveHalfHandsOver) {
  PairRig rig(Mode::Sync);
  rig.steady();
  EXPECT_EQ(code_of(rig.at(kB).switch_over()), "HF4104");
}

// --- operators and mistakes ---

TEST(Protocol, AForcedHalfIsActiveAloneEvenInSyncMode) {
  PairRig rig(Mode::Sync);
  rig.steady();
  rig.crash(kP);
  rig.run(kB, rig.at(kB).force());
  EXPECT_EQ(rig.at(kB).state(), State::Active);
  EXPECT_TRUE(rig.at(kB).may_write());
  rig.write(kB);
  EXPECT_EQ(rig.at(kB).acknowledged(), 2);
  rig.start(kP);
  rig.settle();
  EXPECT_EQ(rig.at(kP).state(), State::Passive);
  EXPECT_EQ(rig.at(kB).required(), Members::both()) << "and both are required again";
}

TEST(Protocol, TwoHalvesOfOneNameDoNothingUntilOneIsCorrected) {
  PairRig rig(Mode::BestEffort);
  rig.start(kP);
  PeerFacts same = rig.at(kP).facts();
  EXPECT_TRUE(rig.at(kP).on_peer(same, true).empty());
  EXPECT_TRUE(rig.at(kP).misconfigured());
  EXPECT_EQ(rig.at(kP).on_client(false).outcome, Outcome::Misconfigured);
  rig.start(kB);
  rig.beat(kB);
  EXPECT_FALSE(rig.at(kP).misconfigured());
  EXPECT_EQ(rig.at(kP).state(), State::Active);
}

TEST(Protocol, AnActiveHalfGoesOnWhenAStrangerCallsItselfTheSame) {
  PairRig rig(Mode::BestEffort);
  rig.disk(kP).first_of_pair = true;
  rig.start(kP);
  rig.vote(kP);
  rig.at(kP).on_peer(rig.at(kP).facts(), true);
  EXPECT_TRUE(rig.at(kP).misconfigured());
  EXPECT_EQ(rig.at(kP).on_client(true).outcome, Outcome::Serve);
}

TEST(Protocol, APeerInAStateThatItCannotHaveIsMisconfigured) {
  PairRig rig(Mode::BestEffort);
  rig.start(kP);
  PeerFacts odd{.member = kB, .state = State::Primary};
  EXPECT_TRUE(rig.at(kP).on_peer(odd, true).empty());
  EXPECT_TRUE(rig.at(kP).misconfigured());
}

}  // namespace
}  // namespace holdfast::ha
