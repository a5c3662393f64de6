#include "rpc/pick_healthy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "rpc/pick_healthy_harness.h"

namespace holdfast::rpc::pick {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Lt;
using testing::SizeIs;

auto moved_between(Duration least, Duration most) {
  return AllOf(Ge(least), Lt(most));
}

// The decision table, row by row.

TEST(PickHealthyRow1, AReadyActiveIsAlone) {
  Harness link;

  const uint64_t active = link.bring_up(kReconnect);
  link.advance(1h);

  EXPECT_EQ(link.core.picked(), active);
  EXPECT_EQ(link.core.children(), 1u);
  EXPECT_THAT(link.dials, SizeIs(1));
}

TEST(PickHealthyRow1, WithoutReconnectAnUnhealthyServerIsKept) {
  Harness link;
  const uint64_t active = link.bring_up(kPickFirst);

  link.serve(active, false);
  link.advance(1h);

  EXPECT_EQ(link.core.picked(), active);
  EXPECT_THAT(link.dials, SizeIs(1));
}

TEST(PickHealthyRow1, AnActiveThatRecoversFirstIsKeptAndTheBackupDropped) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.serve(active, false);
  link.until_next_dial();
  const uint64_t backup = link.last();
  link.connect(backup);

  link.serve(active, true);

  EXPECT_TRUE(link.has_dropped(backup));
  EXPECT_EQ(link.core.picked(), active);
  EXPECT_EQ(link.core.children(), 1u);
  EXPECT_EQ(link.core.counts().dropped_backups, 1u);
}

TEST(PickHealthyRow1, ARecoveryResetsTheBackoff) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.serve(active, false);
  for (int i = 0; i < 3; ++i) {
    link.until_next_dial();
    link.bring_up(kReconnect, false);
  }
  link.serve(active, true);

  link.serve(active, false);

  EXPECT_THAT(link.until_next_dial(), moved_between(2s, 3s));
}

TEST(PickHealthyRedial, AYoungConnectionThatAnsweredACallIsRedialledAtOnce) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.advance(100ms);
  EXPECT_TRUE(link.core.would_be_news(active));
  link.take(link.core.on_answered(active, link.now));
  EXPECT_FALSE(link.core.would_be_news(active));

  link.close(active);

  EXPECT_THAT(link.dials, SizeIs(2));
}

TEST(PickHealthyRedial, AYoungConnectionThatNeverAnsweredWaits) {
  Harness link;
  const uint64_t first = link.bring_up(kReconnect);
  link.advance(100ms);
  link.close(first);
  EXPECT_THAT(link.dials, SizeIs(1));
  link.until_next_dial();

  // What an earlier connection answered does not count for the next one.
  const uint64_t second = link.bring_up(kReconnect);
  link.take(link.core.on_answered(second, link.now));
  link.close(second);
  EXPECT_THAT(link.dials, SizeIs(3));
  link.close(link.bring_up(kReconnect));
  EXPECT_THAT(link.dials, SizeIs(3));
}

TEST(PickHealthyRow2, AnActiveThatConnectsForLongGetsABackup) {
  Harness link;
  const uint64_t first = link.bring_up(kReconnect);
  link.advance(1min);
  link.close(first);
  link.connect(link.last());  // and its discovery is never answered

  EXPECT_THAT(link.until_next_dial(), moved_between(30s, 33s));
  EXPECT_EQ(link.core.children(), 2u);
}

TEST(PickHealthyRow2, StuckInDiscoveryFromTheStartIsLeftToo) {
  Harness link;
  const uint64_t stuck = link.last();
  link.connect(stuck);

  EXPECT_THAT(link.until_next_dial(), moved_between(30s, 33s));
  const uint64_t other = link.bring_up(kReconnect);

  EXPECT_EQ(link.core.picked(), other);
  EXPECT_TRUE(link.has_dropped(stuck));
}

TEST(PickHealthyRow3, AnUnhealthyActiveGetsABackupAfterTheBackoff) {
  std::set<Duration> delays;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Harness link({}, {"lb:1"}, seed);
    link.serve(link.bring_up(kReconnect), false);

    const Duration delay = link.until_next_dial();

    EXPECT_THAT(delay, moved_between(2s, 3s));
    delays.insert(delay);
  }
  EXPECT_GT(delays.size(), 40u) << "and each at its own moment";
}

TEST(PickHealthyRow3, CallsGoOnUsingTheUnhealthyConnectionMeanwhile) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.serve(active, false);

  link.until_next_dial();
  link.connect(link.last());

  EXPECT_EQ(link.core.picked(), active);
}

TEST(PickHealthyRow4, ABackupThatIsReadyTakesOver) {
  Harness link;
  const uint64_t old = link.bring_up(kReconnect);
  link.serve(old, false);
  link.until_next_dial();

  const uint64_t taken = link.bring_up(kReconnect);
  link.advance(1h);

  EXPECT_EQ(link.core.picked(), taken);
  EXPECT_TRUE(link.has_dropped(old));
  EXPECT_EQ(link.core.children(), 1u);
  EXPECT_EQ(link.core.counts().swaps, 1u);
  EXPECT_THAT(link.dials, SizeIs(2));
}

TEST(PickHealthyRow4, TheBackoffStartsAnewAfterASwap) {
  Harness link;
  link.serve(link.bring_up(kReconnect), false);
  link.until_next_dial();
  link.bring_up(kReconnect, false);
  link.until_next_dial();
  const uint64_t taken = link.bring_up(kReconnect);

  link.serve(taken, false);

  EXPECT_THAT(link.until_next_dial(), moved_between(2s, 3s));
}

TEST(PickHealthyRow5, ABackupThatStillDialsIsLeftAlone) {
  Harness link;
  link.serve(link.bring_up(kReconnect), false);
  link.until_next_dial();
  const uint64_t backup = link.last();

  link.advance(20min);

  EXPECT_EQ(link.last(), backup);
  EXPECT_FALSE(link.has_dropped(backup));
}

TEST(PickHealthyRow5, ABackupStuckInDiscoveryIsReplacedAfterTheConnectTimeout) {
  Harness link;
  link.serve(link.bring_up(kReconnect), false);
  link.until_next_dial();
  const uint64_t stuck = link.last();
  link.connect(stuck);

  EXPECT_THAT(link.until_next_dial(), moved_between(30s, 33s));
  EXPECT_TRUE(link.has_dropped(stuck));
}

TEST(PickHealthyRow6, AnUnhealthyBackupIsReplacedAfterADoubledBackoffUpToTheLongest) {
  Harness link;
  link.serve(link.bring_up(kReconnect), false);
  link.until_next_dial();

  for (const Duration backoff : {4s, 8s, 16s, 16s}) {
    const uint64_t unhealthy = link.bring_up(kReconnect, false);
    EXPECT_FALSE(link.has_dropped(unhealthy));

    EXPECT_THAT(link.until_next_dial(), moved_between(backoff, backoff + backoff / 2));
    EXPECT_TRUE(link.has_dropped(unhealthy));
  }
}

TEST(PickHealthyRow6, HealthAnswersThatRepeatDoNotDoubleTheBackoffAgain) {
  Harness link;
  link.serve(link.bring_up(kReconnect), false);
  link.until_next_dial();
  const uint64_t backup = link.bring_up(kReconnect, false);

  for (int i = 0; i < 10; ++i) link.serve(backup, false);

  EXPECT_THAT(link.until_next_dial(), moved_between(4s, 6s));
}

TEST(PickHealthy, TheTimesAreOptions) {
  Harness link({.base_backoff = 1s, .max_backoff = 2s, .connect_timeout = 10s});
  link.serve(link.bring_up(kReconnect), false);

  EXPECT_THAT(link.until_next_dial(), moved_between(1s, 1500ms));
  for (int i = 0; i < 3; ++i) {
    link.bring_up(kReconnect, false);
    EXPECT_THAT(link.until_next_dial(), moved_between(2s, 3s));
  }
  link.connect(link.last());
  EXPECT_THAT(link.until_next_dial(), moved_between(10s, 11s));
}

// Modes and discovery.

TEST(PickHealthy, AModeIsReadAgainOnEveryConnection) {
  Harness link;
  const uint64_t first = link.bring_up(kPickFirst);
  link.advance(1min);
  link.close(first);

  const uint64_t second = link.bring_up(kReconnect);
  link.serve(second, false);

  EXPECT_THAT(link.until_next_dial(), moved_between(2s, 3s));
}

TEST(PickHealthy, AnOldServerWithoutDiscoveryIsHealthyAndKept) {
  Harness link;
  const uint64_t old = link.last();
  link.connect(old);
  link.fail_discovery(old, Discovery::Outcome::Unimplemented);

  link.advance(1h);

  EXPECT_EQ(link.core.picked(), old);
  EXPECT_THAT(link.dials, SizeIs(1));
  EXPECT_EQ(link.count<WatchHealth>(), 0u);
}

TEST(PickHealthy, ADiscoveryThatFailsLeavesTheModeAsItWas) {
  Harness link;
  const uint64_t first = link.bring_up(kReconnect);
  link.advance(1min);
  link.close(first);
  const uint64_t second = link.last();
  link.connect(second);

  link.fail_discovery(second, Discovery::Outcome::Failed);
  EXPECT_EQ(link.core.children(), 1u) << "it counts as healthy";
  link.advance(1min);
  link.close(second);
  link.connect(link.last());

  EXPECT_THAT(link.until_next_dial(), moved_between(30s, 33s)) << "still in reconnect mode";
}

TEST(PickHealthy, AnOldServersModeIsThatOfNoConfig) {
  Harness link;
  const uint64_t first = link.bring_up(kReconnect);
  link.advance(1min);
  link.close(first);
  const uint64_t old = link.last();
  link.connect(old);
  link.fail_discovery(old, Discovery::Outcome::Unimplemented);

  link.unavailable(old);
  link.advance(1h);

  EXPECT_EQ(link.last(), old);
}

// Dialling.

TEST(PickHealthyDial, TheNextAddressIsDialledAtOnce) {
  Harness link({}, {"a:1", "b:1", "c:1"});
  std::set<std::string> dialled{link.dials.back().address};

  for (int i = 0; i < 2; ++i) {
    link.close(link.last());
    dialled.insert(link.dials.back().address);
  }

  EXPECT_THAT(dialled, SizeIs(3));
  EXPECT_EQ(link.core.counts().failed_dials, 2u);
}

TEST(PickHealthyDial, AfterTheWholeListThereIsAShortWaitThatDoubles) {
  Harness link({}, {"a:1", "b:1"});

  for (const Duration wait : {100ms, 200ms, 400ms, 800ms, 1600ms, 2000ms, 2000ms}) {
    link.close(link.last());
    link.close(link.last());
    EXPECT_THAT(link.until_next_dial(), moved_between(wait / 2, wait));
  }
}

TEST(PickHealthyDial, EveryChildShufflesItsList) {
  std::set<std::string> first;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Harness link({}, {"a:1", "b:1", "c:1"}, seed);
    first.insert(link.dials.back().address);
  }

  EXPECT_THAT(first, SizeIs(3));
}

TEST(PickHealthyDial, ABackupTriesTheSickServersAddressLast) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Harness link({}, {"a:1", "b:1"}, seed);
    const std::string sick = link.dials.back().address;
    link.serve(link.bring_up(kReconnect), false);

    link.until_next_dial();

    EXPECT_NE(link.dials.back().address, sick);
  }
}

TEST(PickHealthyDial, ALostConnectionIsRedialledAtOnce) {
  Harness link;
  const uint64_t first = link.bring_up(kReconnect);
  link.advance(1s);

  link.close(first);

  EXPECT_THAT(link.dials, SizeIs(2));
  EXPECT_EQ(link.core.picked(), 0u);
  EXPECT_EQ(link.asked<Pick>().back(), Pick{0});
}

TEST(PickHealthyDial, AServerThatHangsUpAtOnceIsNotDialledInATightLoop) {
  Harness link;

  link.close(link.bring_up(kReconnect));

  EXPECT_THAT(link.dials, SizeIs(1));
  EXPECT_THAT(link.until_next_dial(), moved_between(50ms, 100ms));
}

// Ends and late words.

TEST(PickHealthy, WordsOfAnOlderConnectionAreDiscarded) {
  Harness link;
  const uint64_t old = link.bring_up(kReconnect);
  link.advance(1min);
  link.close(old);
  const uint64_t active = link.bring_up(kReconnect);
  const size_t before = link.all.size();

  link.serve(old, false);
  link.tell(old, kPickFirst);
  link.close(old);
  link.end_watch(old, WatchEnd::Other);
  link.unanswered(old);
  link.advance(1h);

  EXPECT_EQ(link.all.size(), before);
  EXPECT_EQ(link.core.picked(), active);
}

TEST(PickHealthy, NothingHappensAfterClose) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.serve(active, false);
  const size_t before = link.all.size();

  link.core.close();
  link.serve(active, true);
  link.close(active);
  link.unanswered(0);
  link.advance(1h);

  EXPECT_EQ(link.all.size(), before);
  EXPECT_EQ(link.core.picked(), 0u);
  EXPECT_FALSE(link.core.next_deadline());
}

TEST(PickHealthy, AnUpdateAfterCloseIsAnError) {
  Harness link;
  link.core.close();

  const auto wrong = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(link.core.set_addresses({"b:1"}, link.now).status().code(), wrong);
  EXPECT_EQ(link.core.use_credentials(link.now).status().code(), wrong);
  EXPECT_EQ(link.core.replace_credentials(link.now).status().code(), wrong);
}

TEST(PickHealthy, WhenTheHealthyServerDiesCallsGoToTheUnhealthyOne) {
  Harness link;
  link.serve(link.bring_up(kReconnect), false);
  link.until_next_dial();
  const uint64_t healthy = link.bring_up(kReconnect);
  link.advance(1min);

  link.close(healthy);
  const uint64_t unhealthy = link.bring_up(kReconnect, false);

  EXPECT_EQ(link.core.picked(), unhealthy);
}

TEST(PickHealthy, TheTimeOfARecoveryIsMeasured) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.advance(1min);
  link.serve(active, false);
  const Duration waited = link.until_next_dial();

  link.bring_up(kReconnect);

  EXPECT_EQ(link.core.counts().last_recovery, waited);
}

}  // namespace
}  // namespace holdfast::rpc::pick
