// Health watches (gRFC A17) and doubt, in PickHealthy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/pick_healthy_harness.h"

namespace holdfast::rpc::pick {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::Lt;
using testing::SizeIs;

auto between(Duration least, Duration most) {
  return AllOf(Ge(least), Lt(most));
}

// Both are seen by what follows: an unhealthy active of this mode gets a backup after 2 s.
bool is_unhealthy(Harness& link) {
  return link.until_next_dial(5s) != Duration::max();
}

TEST(PickHealthyWatch, TheServiceOfTheConfigIsWatched) {
  Harness link;
  link.connect(link.last());

  link.tell(link.last(), {.reconnect = true, .health_service = "api"});

  EXPECT_THAT(link.asked<WatchHealth>(), ElementsAre(WatchHealth{link.last(), "api"}));
}

TEST(PickHealthyWatch, WithoutAServiceNameHealthIsNotWatched) {
  Harness link;
  link.connect(link.last());

  link.tell(link.last(), {.reconnect = true});

  EXPECT_THAT(link.asked<WatchHealth>(), IsEmpty());
  EXPECT_FALSE(is_unhealthy(link));
}

TEST(PickHealthyWatch, UntilTheFirstAnswerItIsConnecting) {
  Harness link;
  link.connect(link.last());
  link.tell(link.last(), kReconnect);

  EXPECT_THAT(link.until_next_dial(), between(30s, 33s));
}

TEST(PickHealthyWatch, WhatIsNotServingIsUnhealthy) {
  Harness link;
  link.bring_up(kReconnect, false);

  EXPECT_TRUE(is_unhealthy(link));
}

TEST(PickHealthyWatch, AServerWithoutHealthIsHealthyAndNotAskedAgain) {
  Harness link;
  link.connect(link.last());
  link.tell(link.last(), kReconnect);

  link.end_watch(link.last(), WatchEnd::Unimplemented);

  EXPECT_FALSE(is_unhealthy(link));
  link.advance(1h);
  EXPECT_EQ(link.count<WatchHealth>(), 1u);
}

TEST(PickHealthyWatch, AnyOtherEndIsUnhealthy) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);

  link.end_watch(active, WatchEnd::Other);

  EXPECT_TRUE(is_unhealthy(link));
}

TEST(PickHealthyWatch, AWatchThatEndsIsTriedAgainEverMoreSeldom) {
  Harness link;
  const uint64_t active = link.bring_up(kPickFirst);
  link.advance(1min);

  for (const Duration wait : {1s, 2s, 4s, 8s, 16s, 16s}) {
    const size_t watches = link.count<WatchHealth>();
    link.end_watch(active, WatchEnd::Other);
    link.advance(wait / 2 - 1ns);
    EXPECT_EQ(link.count<WatchHealth>(), watches);
    link.advance(wait / 2);
    EXPECT_EQ(link.count<WatchHealth>(), watches + 1);
  }
}

TEST(PickHealthyWatch, AnAnswerMakesTheNextRetryQuickAgain) {
  Harness link;
  const uint64_t active = link.bring_up(kPickFirst);
  for (int i = 0; i < 4; ++i) {
    link.end_watch(active, WatchEnd::Other);
    link.advance(16s);
  }
  link.serve(active, true);

  const size_t watches = link.count<WatchHealth>();
  link.end_watch(active, WatchEnd::Other);
  link.advance(1s);

  EXPECT_EQ(link.count<WatchHealth>(), watches + 1);
}

TEST(PickHealthyWatch, ALostConnectionIsNotWatchedAgain) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.end_watch(active, WatchEnd::Other);
  link.close(active);

  link.advance(1h);

  EXPECT_EQ(link.count<WatchHealth>(), 1u);
}

// Doubt.

TEST(PickHealthyDoubt, AnUnansweredCallSendsAProbe) {
  Harness link;
  const uint64_t active = link.bring_up({.reconnect = true, .health_service = "api"});

  link.unanswered(active);
  link.unanswered(active);

  EXPECT_THAT(link.asked<Probe>(), ElementsAre(Probe{active, "api"}));
}

TEST(PickHealthyDoubt, ACallerWhoMayNotAskAsksNothingAndStillLeavesWhoCannot) {
  Harness link({.ask_server = false});
  const uint64_t active = link.last();
  link.connect(active);
  link.unanswered(active);
  link.advance(1h);

  EXPECT_THAT(link.asked<Discover>(), IsEmpty());
  EXPECT_THAT(link.asked<Probe>(), IsEmpty());
  EXPECT_THAT(link.dials, SizeIs(1));

  link.unavailable(active);
  link.connect(link.last());

  EXPECT_NE(link.last(), active);
  EXPECT_EQ(link.core.picked(), link.last());
}

TEST(PickHealthyDoubt, AnAnsweredProbeChangesNothing) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.unanswered(active);

  link.advance(999ms);
  link.take(link.core.on_probe_ended(active, true, link.now));
  link.advance(1h);

  EXPECT_THAT(link.dials, SizeIs(1));
  EXPECT_EQ(link.core.counts().doubts, 0u);
}

TEST(PickHealthyDoubt, ASilentServerIsLeftAtOnce) {
  Harness link;
  const uint64_t silent = link.bring_up(kReconnect);
  link.unanswered(silent);

  EXPECT_EQ(link.until_next_dial(), 1s) << "the probe's time and no backoff";
  const uint64_t other = link.bring_up(kReconnect);

  EXPECT_EQ(link.core.picked(), other);
  EXPECT_TRUE(link.has_dropped(silent));
}

TEST(PickHealthyDoubt, ASilentServerThatAnswersAfterAllIsKept) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.unanswered(active);
  link.until_next_dial();
  const uint64_t backup = link.last();

  link.take(link.core.on_probe_ended(active, true, link.now));

  EXPECT_TRUE(link.has_dropped(backup));
  EXPECT_EQ(link.core.picked(), active);
}

TEST(PickHealthyDoubt, AProbeThatFailsIsSentAgain) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.unanswered(active);

  link.take(link.core.on_probe_ended(active, false, link.now));
  link.advance(1s);

  EXPECT_EQ(link.count<Probe>(), 2u);
}

TEST(PickHealthyDoubt, ASilentServerIsWorseThanOneThatSaysItIsUnhealthy) {
  Harness link;
  const uint64_t silent = link.bring_up(kReconnect);
  link.unanswered(silent);
  link.until_next_dial();

  const uint64_t unhealthy = link.bring_up(kReconnect, false);

  EXPECT_EQ(link.core.picked(), unhealthy);
  EXPECT_THAT(link.until_next_dial(), between(2s, 3s)) << "and a healthy one is looked for";
}

TEST(PickHealthyDoubt, UnavailableDoubtsForFiveSecondsWithoutAProbe) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);

  link.unavailable(active);

  EXPECT_THAT(link.asked<Probe>(), IsEmpty());
  EXPECT_THAT(link.dials, SizeIs(2)) << "dialled at once";
  link.advance(5s - 1ns);
  EXPECT_EQ(link.core.children(), 2u);
  link.advance(1ns);
  EXPECT_EQ(link.core.children(), 1u);
}

TEST(PickHealthyDoubt, HurriedReconnectsAreSpacedAndForgottenAfterAQuietMinute) {
  Harness link;
  link.bring_up(kReconnect);
  const auto doubt = [&link] {
    const size_t before = link.dials.size();
    link.unavailable(link.core.picked());
    const bool at_once = link.dials.size() > before;
    if (!at_once) link.until_next_dial();
    link.bring_up(kReconnect);
    return at_once;
  };

  EXPECT_TRUE(doubt());
  link.advance(1900ms);
  EXPECT_FALSE(doubt()) << "once per base backoff";
  link.advance(4s);
  EXPECT_TRUE(doubt());
  link.advance(3s);
  EXPECT_FALSE(doubt()) << "then twice as long";
  link.advance(61s);
  EXPECT_TRUE(doubt());
  link.advance(2s);
  EXPECT_TRUE(doubt()) << "the base backoff again";
}

TEST(PickHealthyDoubt, InPickFirstModeDoubtMovesNobody) {
  Harness link;
  const uint64_t active = link.bring_up(kPickFirst);

  link.unanswered(active);
  link.unavailable(active);
  link.advance(1h);

  EXPECT_THAT(link.dials, SizeIs(1));
  EXPECT_EQ(link.core.picked(), active);
}

TEST(PickHealthyDoubt, AServerStuckInDiscoveryIsLeftWhenACallWaits) {
  Harness link;
  const uint64_t stuck = link.last();
  link.connect(stuck);
  link.unanswered(stuck);

  EXPECT_EQ(link.until_next_dial(), 1s);
  EXPECT_EQ(link.bring_up(kPickFirst), link.core.picked());
}

TEST(PickHealthyDoubt, ACallThatWaitsForAnyConnectionStartsASecondDial) {
  Harness link({}, {"a:1", "b:1"});
  const std::string hung = link.dials.back().address;

  link.unanswered(0);

  ASSERT_THAT(link.dials, SizeIs(2));
  EXPECT_NE(link.dials.back().address, hung);
  EXPECT_EQ(link.bring_up(kPickFirst), link.core.picked());
  EXPECT_EQ(link.core.children(), 1u);
}

TEST(PickHealthyDoubt, ThatIsSoBetweenTwoRoundsOfDiallingToo) {
  Harness link;
  link.close(link.last());

  link.unanswered(0);

  EXPECT_THAT(link.dials, SizeIs(2));
}

// Calls have deadlines, so what suffers looks further than the backoff allows.

// With any number of calls that are refused: the dials within `span`.
size_t dials_while_refused(Harness& link, Duration span) {
  const size_t before = link.dials.size();
  for (const Time end = link.now + span; link.now < end; link.advance(100ms)) {
    link.take(link.core.on_refused(link.core.picked(), link.now));
    if (link.core.children() == 1) continue;
    link.connect(link.last());
    link.fail_discovery(link.last(), Discovery::Outcome::Failed);
  }
  return link.dials.size() - before;
}

TEST(PickHealthyRefused, WhoRefusesUsIsLeftForOneThatAcceptsUs) {
  Harness link;
  const uint64_t refusing = link.bring_up(kReconnect);

  link.take(link.core.on_refused(refusing, link.now));

  EXPECT_THAT(link.dials, SizeIs(2)) << "at once";
  EXPECT_EQ(link.core.picked(), refusing);
  EXPECT_EQ(link.bring_up(kReconnect), link.core.picked());
  EXPECT_TRUE(link.has_dropped(refusing));
}

TEST(PickHealthyRefused, AnotherThatRefusesUsDoesNotTakeOver) {
  Harness link;
  const uint64_t refusing = link.bring_up(kReconnect);
  link.take(link.core.on_refused(refusing, link.now));
  link.connect(link.last());

  link.fail_discovery(link.last(), Discovery::Outcome::Failed);

  EXPECT_EQ(link.core.picked(), refusing);
  link.advance(10s);
  EXPECT_EQ(link.core.children(), 1u) << "the doubt is over";
}

TEST(PickHealthyRefused, IfAllRefuseUsTriesAreFew) {
  Harness link;
  link.bring_up(kReconnect);

  EXPECT_LE(dials_while_refused(link, 1min), 12u);
  EXPECT_LE(dials_while_refused(link, 10min), 90u) << "less than one in seven seconds";
}

TEST(PickHealthyRefused, TheFirstServerOfAllMayBeLeftToo) {
  Harness link;
  link.connect(link.last());
  link.fail_discovery(link.last(), Discovery::Outcome::Failed);
  const uint64_t refusing = link.core.picked();

  link.take(link.core.on_refused(refusing, link.now));

  EXPECT_THAT(link.dials, SizeIs(2)) << "although nobody said that clients may move";
}

TEST(PickHealthyRefused, InPickFirstModeItIsStayedWith) {
  Harness link;
  link.bring_up(kPickFirst);

  link.take(link.core.on_refused(link.core.picked(), link.now));
  link.advance(1min);

  EXPECT_THAT(link.dials, SizeIs(1));
}

TEST(PickHealthyPressed, AnUnhealthyServerMetAgainIsTriedAgainSoonAndThenLessSoon) {
  Harness link;
  link.unavailable(link.bring_up(kReconnect));
  Duration longest = 100ms;

  for (int i = 0; i < 6; ++i) {
    link.bring_up(kReconnect, false);
    link.unavailable(link.core.picked());
    EXPECT_THAT(link.until_next_dial(), Lt(longest * 3 / 2)) << i;
    longest = longest * 3 / 2;
  }

  EXPECT_EQ(link.bring_up(kReconnect), link.core.picked());
  EXPECT_EQ(link.core.children(), 1u);
}

TEST(PickHealthyPressed, ABackupStuckInDiscoveryMakesWayWhileCallsSuffer) {
  Harness link;
  link.unavailable(link.bring_up(kReconnect));
  link.connect(link.last());

  EXPECT_THAT(link.until_next_dial(), between(1s, 1500ms));
  EXPECT_EQ(link.bring_up(kReconnect), link.core.picked());
}

TEST(PickHealthyPressed, TriesGrowApartWhileEveryServerIsUnhealthy) {
  Harness link;
  link.unavailable(link.bring_up(kReconnect));

  for (int i = 0; i < 600; ++i) {
    link.bring_up(kReconnect, false);
    link.advance(100ms);
    link.unavailable(link.core.picked());
  }

  EXPECT_THAT(link.dials, SizeIs(AllOf(Ge(8u), Lt(25u)))) << "in a minute";
}

TEST(PickHealthyPressed, AServerThatSaysItIsUnhealthyAndIsSilentIsLeftSoon) {
  Harness link;
  const uint64_t active = link.bring_up(kReconnect);
  link.serve(active, false);

  link.unanswered(active);

  EXPECT_THAT(link.dials, SizeIs(2));
}

}  // namespace
}  // namespace holdfast::rpc::pick
