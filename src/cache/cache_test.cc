// The life of a cache: its stream, its fetches, what is readable when, and why.
#include "cache/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/cache_fixture.h"

namespace holdfast::cache {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class CacheTest : public testing::Test {
 protected:
  static CacheOptions options() {
    CacheOptions options;
    options.kinds = {{.kind = Kind::Agent}, {.kind = Kind::Service}};
    options.max_held_events = 4;
    return options;
  }

  void start_with(const std::vector<Kind>& confirmed, int64_t revision) {
    rig.start();
    rig.send({init_event(confirmed, revision)});
  }
  // Both kinds loaded at revision 10: agents a and b, one service.
  void load_both() {
    start_with({Kind::Agent, Kind::Service}, 10);
    rig.answer(Kind::Agent, {{"a", 3}, {"b", 4}}, {.revision = 10});
    rig.answer(Kind::Service, {{"web", 5}}, {.revision = 10});
  }

  // Lets time pass until the stream is opened again; how much it was.
  Duration wait_for_stream() {
    const Time from = rig.clock.now();
    for (const int before = rig.subscribes; rig.subscribes == before;) {
      rig.advance(std::max(Duration(0), *rig.cache.next_deadline() - rig.clock.now()));
    }
    return rig.clock.now() - from;
  }

  CacheRig rig{options()};
};

TEST_F(CacheTest, AsksForEveryKindAndAcceptsFewer) {
  rig.start();

  EXPECT_THAT(rig.request.kinds(), SizeIs(2));
  EXPECT_TRUE(rig.request.allow_partial_success());
  EXPECT_EQ(rig.request.after_revision(), 0);
}

TEST_F(CacheTest, AnAuthoritativeCacheAcceptsNothingLess) {
  CacheOptions strict = options();
  strict.strict = true;
  CacheRig authority(strict);
  authority.start();
  EXPECT_FALSE(authority.request.allow_partial_success());

  authority.send({init_event({Kind::Agent}, 1)});

  EXPECT_EQ(authority.unsubscribes, 1);
  EXPECT_THAT(authority.row(Kind::Agent).reason(), HasSubstr("does not offer kind service"));
}

TEST_F(CacheTest, AnythingButInitFirstIsAnError) {
  rig.start();

  rig.send({put_event(Kind::Agent, "a", 3)});

  EXPECT_EQ(rig.unsubscribes, 1);
  EXPECT_THAT(rig.row(Kind::Agent).reason(), HasSubstr("must be Init"));
  EXPECT_THAT(rig.fetches, IsEmpty());
}

TEST_F(CacheTest, ASecondInitIsAnError) {
  load_both();

  rig.send({init_event({Kind::Agent, Kind::Service}, 11)});

  EXPECT_EQ(rig.unsubscribes, 1);
  EXPECT_EQ(rig.source(Kind::Agent), Source::Stale);
}

TEST_F(CacheTest, WaitsForInitOnlyNinetySeconds) {
  rig.start();
  rig.advance(89s);
  EXPECT_EQ(rig.unsubscribes, 0);

  rig.advance(1s);

  EXPECT_EQ(rig.unsubscribes, 1);
  EXPECT_TRUE(rig.cache.first_try_over());
  EXPECT_THAT(rig.row(Kind::Agent).reason(), HasSubstr("no Init within"));
}

TEST_F(CacheTest, AnEmptyMessageIsNeitherInitNorAnError) {
  rig.start();

  rig.send({});
  rig.send({init_event({Kind::Agent}, 1)});

  EXPECT_EQ(rig.unsubscribes, 0);
  EXPECT_THAT(rig.fetches, SizeIs(1));
}

TEST_F(CacheTest, FetchesOnlyWhatIsConfirmed) {
  start_with({Kind::Agent}, 10);

  ASSERT_THAT(rig.fetches, SizeIs(1));
  EXPECT_EQ(rig.fetches[0].kind, Kind::Agent);
  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 10});
  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
  EXPECT_EQ(rig.row(Kind::Service).source(), "upstream");
  EXPECT_EQ(rig.row(Kind::Service).code(), "HF1202");
}

TEST_F(CacheTest, AnOldServerThatListsNothingHasConfirmedEverything) {
  rig.start();
  v1::Event bare;
  rig.send({bare});

  EXPECT_THAT(rig.fetches, SizeIs(2));
}

TEST_F(CacheTest, AKindConfirmedForLessThanWasAskedIsNotConfirmed) {
  rig.start();
  v1::Event init = init_event({Kind::Agent, Kind::Service}, 10);
  init.mutable_status()->mutable_kinds(0)->set_name("only-this");

  rig.send({init});

  ASSERT_THAT(rig.fetches, SizeIs(1));
  EXPECT_EQ(rig.fetches[0].kind, Kind::Service);
}

TEST_F(CacheTest, FetchesAFewKindsAtATime) {
  CacheOptions one = options();
  one.parallel_fetches = 1;
  CacheRig slow(one);
  slow.start();
  slow.send({init_event({Kind::Agent, Kind::Service}, 1)});
  ASSERT_THAT(slow.fetches, SizeIs(1));

  slow.answer(Kind::Agent, {}, {.revision = 1});

  ASSERT_THAT(slow.fetches, SizeIs(1));
  EXPECT_EQ(slow.fetches[0].kind, Kind::Service);
}

TEST_F(CacheTest, NothingIsReadableUntilEveryKindOfTheGenerationIs) {
  start_with({Kind::Agent, Kind::Service}, 10);
  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 10});
  EXPECT_EQ(rig.source(Kind::Agent), Source::Upstream);
  EXPECT_EQ(rig.row(Kind::Agent).code(), "HF1206");
  EXPECT_FALSE(rig.cache.first_try_over());

  rig.answer(Kind::Service, {}, {.revision = 12});

  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
  EXPECT_EQ(rig.source(Kind::Service), Source::Cache);
  EXPECT_EQ(rig.view(Kind::Agent).generation, 1);
  EXPECT_EQ(rig.view(Kind::Agent).revision, 10);
  EXPECT_TRUE(rig.cache.first_try_over());
}

TEST_F(CacheTest, PagesAreFetchedUntilTheLast) {
  start_with({Kind::Agent}, 10);
  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 10, .next = "more"});
  ASSERT_THAT(rig.fetches, SizeIs(1));
  EXPECT_EQ(rig.fetches[0].request.page_token(), "more");

  rig.answer(Kind::Agent, {{"b", 11}}, {.revision = 12});

  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("a", 3), Pair("b", 11)));
}

TEST_F(CacheTest, EventsChangeTheTable) {
  load_both();

  rig.send({put_event(Kind::Agent, "c", 11), delete_event(Kind::Agent, "a", 12)});
  rig.send({put_event(Kind::Agent, "b", 13), delete_event(Kind::Agent, "never-was", 14)});

  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("b", 13), Pair("c", 11)));
  EXPECT_EQ(rig.view(Kind::Agent).revision, 14);
  EXPECT_EQ(rig.view(Kind::Service).revision, 14) << "nothing else has happened to it";
}

TEST_F(CacheTest, EventsOfUnknownKindsAreIgnored) {
  load_both();
  v1::Event foreign = put_event(Kind::Agent, "x", 11);
  foreign.mutable_resource()->set_kind("comet");
  v1::Event future = put_event(Kind::Agent, "y", 12);
  future.set_type(static_cast<v1::EventType>(77));

  rig.send({foreign, future, put_event(Kind::Token, "t", 13), put_event(Kind::Agent, "", 14)});

  EXPECT_EQ(rig.unsubscribes, 0);
  EXPECT_THAT(rig.shown(Kind::Agent), SizeIs(2));
  EXPECT_EQ(rig.cache.stats().events_ignored, 4);
  EXPECT_EQ(rig.view(Kind::Agent).revision, 14);
}

TEST_F(CacheTest, EventsOutOfOrderEndTheStream) {
  load_both();

  rig.send({put_event(Kind::Agent, "c", 12), put_event(Kind::Agent, "d", 11)});

  EXPECT_EQ(rig.unsubscribes, 1);
  EXPECT_THAT(rig.shown(Kind::Agent), SizeIs(2)) << "nothing of such a message is used";
}

TEST_F(CacheTest, ARevisionThatContinuesInASecondMessageEndsTheStream) {
  load_both();
  rig.send({put_event(Kind::Agent, "c", 12)});

  rig.send({put_event(Kind::Agent, "d", 12)});

  EXPECT_EQ(rig.unsubscribes, 1);
}

TEST_F(CacheTest, WhatEarlierStreamsAndFetchesSayIsIgnored) {
  start_with({Kind::Agent, Kind::Service}, 10);
  const uint64_t stale_attempt = rig.attempt;
  const uint64_t stale_fetch = rig.fetches[0].id;
  rig.close(absl::AbortedError("moves"));
  rig.send({init_event({Kind::Agent}, 10)});

  rig.take(
      rig.cache.on_message(stale_attempt, message({put_event(Kind::Agent, "x", 11)}), rig.now()));
  rig.take(rig.cache.on_closed(stale_attempt, absl::UnavailableError("gone"), rig.now()));
  rig.take(rig.cache.on_page(stale_fetch, page_of(Kind::Agent, {{"x", 3}}, {.revision = 10}),
                             rig.now()));

  EXPECT_EQ(rig.row(Kind::Agent).source(), "upstream");
  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 10});
  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("a", 3)));
}

TEST_F(CacheTest, BackoffBeginsAnywhereUpToASixteenthAndDoublesToTheLongest) {
  RetryDelay delay(160s, 7);
  EXPECT_LT(delay.next(), 10s);
  for (const Duration step : {10s, 20s, 40s, 80s, 160s, 160s, 160s}) {
    const Duration wait = delay.next();
    EXPECT_GE(wait, step / 2);
    EXPECT_LT(wait, step);
  }
  delay.reset();
  EXPECT_LT(delay.next(), 10s);
}

TEST_F(CacheTest, AFailedStreamIsOpenedAgainAfterAWaitThatGrows) {
  rig.start();
  std::vector<Duration> waits;
  for (int i = 0; i < 8; ++i) {
    rig.close(absl::UnavailableError("refused"));
    waits.push_back(*rig.cache.next_deadline() - rig.clock.now());
    rig.advance(waits.back());
  }

  EXPECT_EQ(rig.subscribes, 9);
  EXPECT_LT(waits.front(), 90s / 16);
  EXPECT_GE(waits.back(), 45s);
  EXPECT_LE(waits.back(), 90s);
}

TEST_F(CacheTest, ASwapResetsTheBackoff) {
  rig.start();
  for (int i = 0; i < 8; ++i) {
    rig.close(absl::UnavailableError("refused"));
    rig.advance(*rig.cache.next_deadline() - rig.clock.now());
  }
  rig.send({init_event({Kind::Agent}, 1)});
  rig.answer(Kind::Agent, {}, {.revision = 1});

  rig.close(absl::UnavailableError("gone"));

  EXPECT_LT(*rig.cache.next_deadline() - rig.clock.now(), 90s / 16);
}

TEST_F(CacheTest, AStreamThatGoesOnResetsTheBackoff) {
  load_both();
  for (int i = 0; i < 8; ++i) {
    rig.close(absl::UnavailableError("refused"));
    wait_for_stream();
  }
  rig.send({init_event({Kind::Agent, Kind::Service}, 10)});

  rig.close(absl::UnavailableError("gone"));

  EXPECT_LT(wait_for_stream(), 90s / 16);
}

TEST_F(CacheTest, AServerThatDiesUnderTheFetchesIsLeftAloneForLongerAndLonger) {
  rig.start();
  Duration wait{};
  for (int i = 0; i < 8; ++i) {
    rig.send({init_event({Kind::Agent, Kind::Service}, 10)});
    rig.answer(Kind::Agent, {}, {.revision = 10});
    rig.close(absl::UnavailableError("overloaded"));
    wait = wait_for_stream();
  }

  EXPECT_GE(wait, 45s);
}

TEST_F(CacheTest, AServerWithoutAnyGoodFetchIsLeftAloneForLongerAndLonger) {
  rig.start();
  Duration wait{};
  for (int i = 0; i < 8; ++i) {
    rig.send({init_event({Kind::Agent}, 10)});
    rig.answer(Kind::Agent, absl::UnavailableError("overloaded"));
    rig.close(absl::UnavailableError("overloaded"));
    wait = wait_for_stream();
  }

  EXPECT_GE(wait, 45s);
}

TEST_F(CacheTest, AStreamThatMovesIsOpenedAgainAtOnce) {
  load_both();

  rig.close(absl::AbortedError("moves"));

  EXPECT_EQ(rig.subscribes, 2);
  EXPECT_EQ(rig.request.after_revision(), 10);
}

TEST_F(CacheTest, AStreamThatAlwaysMovesIsNotOpenedInALoop) {
  rig.start();

  for (int i = 0; i < 20; ++i) rig.close(absl::AbortedError("moves"));

  EXPECT_LE(rig.subscribes, 5);
}

TEST_F(CacheTest, AStreamThatAlwaysMovesIsOpenedOnceAfterEachWait) {
  rig.start();
  for (int i = 0; i < 4; ++i) rig.close(absl::AbortedError("moves"));
  ASSERT_EQ(rig.subscribes, 4) << "the rest waits";

  for (int waits = 1; waits <= 5; ++waits) {
    wait_for_stream();
    rig.send({init_event({Kind::Agent, Kind::Service}, 10)});
    rig.clock.advance(2s);  // it loads for a while
    rig.close(absl::AbortedError("moves"));
    EXPECT_EQ(rig.subscribes, 4 + waits);
  }
}

TEST_F(CacheTest, AStreamThatLivedForAWhileMayHurryAgain) {
  load_both();
  for (int i = 0; i < 10; ++i) {
    rig.clock.advance(2s);
    rig.close(absl::AbortedError("moves"));
    EXPECT_EQ(rig.subscribes, i + 2);
    rig.send({init_event({Kind::Agent, Kind::Service}, 10)});
  }
}

TEST_F(CacheTest, StopClosesTheStreamAndKeepsTheTables) {
  load_both();

  rig.take(rig.cache.stop());
  rig.send({put_event(Kind::Agent, "c", 11)});

  EXPECT_EQ(rig.unsubscribes, 1);
  EXPECT_THAT(rig.shown(Kind::Agent), SizeIs(2));
  EXPECT_FALSE(rig.cache.next_deadline());
}

TEST_F(CacheTest, AStoppedCacheWaitsForNothing) {
  load_both();
  rig.close(absl::UnavailableError("cut"));

  rig.take(rig.cache.stop());

  EXPECT_FALSE(rig.cache.next_deadline());
}

TEST_F(CacheTest, ABatchThatEndsWithNothingNewIsAChangeAllTheSame) {
  load_both();
  const int changes = rig.changes;
  const uint64_t applied = rig.cache.stats().events_applied;
  rig.close(absl::AbortedError("moves"));

  // The kind that is dropped comes first; nothing is new about the last one.
  rig.send({init_event({Kind::Service}, 10), put_event(Kind::Service, "db", 11),
            put_event(Kind::Token, "t", 12)});

  EXPECT_GT(rig.changes, changes);
  EXPECT_EQ(rig.cache.stats().events_applied, applied + 1);
  EXPECT_THAT(rig.shown(Kind::Service), SizeIs(2));
}

TEST_F(CacheTest, SavesTheFirstGenerationAtOnceAndLaterNowAndThen) {
  load_both();
  EXPECT_EQ(rig.saves, 1);
  rig.send({put_event(Kind::Agent, "c", 11)});
  EXPECT_EQ(rig.saves, 1);

  rig.advance(1min);
  EXPECT_EQ(rig.saves, 2);
  rig.advance(10min);
  EXPECT_EQ(rig.saves, 2) << "nothing is new";
}

TEST_F(CacheTest, SavesAtOnceWhatIsNewWhenTheStreamBreaks) {
  load_both();
  rig.send({put_event(Kind::Agent, "c", 11)});

  rig.close(absl::UnavailableError("gone"));

  EXPECT_EQ(rig.saves, 2) << "the node may have to start without a controller";
  rig.advance(10min);
  EXPECT_EQ(rig.saves, 2) << "once";
}

TEST_F(CacheTest, DescribesEveryConfiguredKind) {
  load_both();

  const std::vector<v1::CachedKind> rows = rig.cache.describe();

  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].kind(), "agent");
  EXPECT_EQ(rows[0].source(), "cache");
  EXPECT_EQ(rows[0].generation(), 1);
  EXPECT_EQ(rows[0].items(), 2);
  EXPECT_EQ(rows[0].revision(), 10);
  EXPECT_EQ(rows[0].code(), "");
}

}  // namespace
}  // namespace holdfast::cache
