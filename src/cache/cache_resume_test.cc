// What a cache does when its stream ends and begins again, when fetches fail, and when its tables
// grow old: what is readable, from when on, and that no name goes back in time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/cache.h"
#include "cache/cache_fixture.h"

namespace holdfast::cache {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class CacheResumeTest : public testing::Test {
 protected:
  static CacheOptions options() {
    CacheOptions options;
    options.kinds = {{.kind = Kind::Agent},
                     {.kind = Kind::Service, .max_staleness = 5min},
                     {.kind = Kind::NetworkingConfig}};
    options.parallel_fetches = 3;
    options.max_held_events = 4;
    options.max_restarts = 2;
    options.max_items = 5;
    return options;
  }

  // Everything at revision 10: agents a and b, a service, no networking_config.
  void load_all() {
    rig.start();
    rig.send({init_event(kAll, 10)});
    rig.answer(Kind::Agent, {{"a", 3}, {"b", 4}}, {.revision = 10});
    rig.answer(Kind::Service, {{"web", 5}}, {.revision = 10});
    rig.answer(Kind::NetworkingConfig, {}, {.revision = 10});
  }
  void open_again() { rig.advance(*rig.cache.next_deadline() - rig.clock.now()); }

  const std::vector<Kind> kAll = {Kind::Agent, Kind::Service, Kind::NetworkingConfig};
  CacheRig rig{options()};
};

TEST_F(CacheResumeTest, AStreamThatResumesNeedsNoFetch) {
  load_all();
  rig.send({put_event(Kind::Agent, "c", 12)});
  rig.close(absl::UnavailableError("cut"));
  EXPECT_EQ(rig.source(Kind::Agent), Source::Stale);
  EXPECT_EQ(rig.row(Kind::Agent).code(), "HF1201");
  open_again();
  EXPECT_EQ(rig.request.after_revision(), 12);

  rig.send({init_event(kAll, 12)});

  EXPECT_THAT(rig.fetches, IsEmpty());
  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
  EXPECT_EQ(rig.view(Kind::Agent).generation, 2);
  EXPECT_EQ(rig.cache.stats().resumes, 1);
  rig.send({delete_event(Kind::Agent, "a", 13)});
  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("b", 4), Pair("c", 12)));
}

TEST_F(CacheResumeTest, TheRevisionOfInitIsResumedFromToo) {
  load_all();

  rig.close(absl::AbortedError("moves"));

  EXPECT_EQ(rig.request.after_revision(), 10) << "no event has come since Init";
}

TEST_F(CacheResumeTest, AServerThatBeginsElsewhereHasNotResumed) {
  load_all();
  rig.close(absl::AbortedError("moves"));

  rig.send({init_event(kAll, 15)});

  EXPECT_THAT(rig.fetches, SizeIs(3));
  EXPECT_EQ(rig.source(Kind::Agent), Source::Stale);
}

TEST_F(CacheResumeTest, NewKindsAreFetchedBesideThoseThatGoOn) {
  rig.start();
  rig.send({init_event({Kind::Agent}, 10)});
  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 10});
  rig.close(absl::AbortedError("moves"));

  rig.send({init_event({Kind::Agent, Kind::Service}, 10)});

  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
  ASSERT_THAT(rig.fetches, SizeIs(1));
  rig.answer(Kind::Service, {{"web", 5}}, {.revision = 10});
  EXPECT_EQ(rig.source(Kind::Service), Source::Cache);
  EXPECT_THAT(rig.shown(Kind::Agent), SizeIs(1));
}

TEST_F(CacheResumeTest, KindsNoLongerConfirmedAreDropped) {
  load_all();
  rig.close(absl::AbortedError("moves"));

  rig.send({init_event({Kind::Service, Kind::NetworkingConfig}, 10)});

  EXPECT_EQ(rig.row(Kind::Agent).code(), "HF1202");
  EXPECT_EQ(rig.source(Kind::Agent), Source::Upstream);
  EXPECT_THAT(rig.shown(Kind::Agent), IsEmpty());
  EXPECT_EQ(rig.source(Kind::Service), Source::Cache);
}

TEST_F(CacheResumeTest, ForgottenHistoryMeansFetchingAnewBesideTheOldTables) {
  load_all();
  rig.close(absl::AbortedError("moves"));
  rig.close(absl::OutOfRangeError("compacted"));
  EXPECT_EQ(rig.request.after_revision(), 0);

  rig.send({init_event(kAll, 20)});
  rig.answer(Kind::Agent, {{"b", 18}}, {.revision = 20});
  EXPECT_EQ(rig.source(Kind::Agent), Source::Stale);
  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("a", 3), Pair("b", 4)));
  rig.answer(Kind::Service, {}, {.revision = 20});
  rig.answer(Kind::NetworkingConfig, {}, {.revision = 20});

  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("b", 18)));
  EXPECT_THAT(rig.shown(Kind::Service), IsEmpty());
}

TEST_F(CacheResumeTest, StaleKindsGoUpstreamAfterABoundOfTheirOwnAndKeepTheirTables) {
  load_all();
  rig.close(absl::UnavailableError("cut"));

  rig.advance(59s);
  EXPECT_EQ(rig.source(Kind::Agent), Source::Stale);
  rig.advance(2s);

  EXPECT_EQ(rig.source(Kind::Agent), Source::Upstream);
  EXPECT_EQ(rig.row(Kind::Agent).code(), "HF1204");
  EXPECT_THAT(rig.shown(Kind::Agent), SizeIs(2)) << "for when upstream fails too";
  EXPECT_EQ(rig.source(Kind::Service), Source::Stale);
  rig.advance(5min);
  EXPECT_EQ(rig.source(Kind::Service), Source::Upstream);
}

TEST_F(CacheResumeTest, AKindPastItsBoundResumesAllTheSame) {
  load_all();
  rig.close(absl::UnavailableError("cut"));
  open_again();
  rig.advance(65s);
  ASSERT_EQ(rig.source(Kind::Agent), Source::Upstream);

  rig.send({init_event(kAll, 10)});

  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
  EXPECT_THAT(rig.fetches, IsEmpty());
}

TEST_F(CacheResumeTest, AsOfIsWhenTheTableWasLastKnownToBeWhole) {
  load_all();
  rig.advance(10s);
  const WallTime cut = rig.clock.wall_now();
  rig.close(absl::UnavailableError("cut"));
  rig.advance(90s);

  EXPECT_EQ(rig.view(Kind::Agent).as_of, cut);
}

TEST_F(CacheResumeTest, OneKindsFailedFetchIsItsOwn) {
  rig.start();
  rig.send({init_event(kAll, 10)});
  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 10});
  rig.answer(Kind::NetworkingConfig, {}, {.revision = 10});

  rig.answer(Kind::Service, absl::InternalError("disk"));

  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
  EXPECT_EQ(rig.source(Kind::NetworkingConfig), Source::Cache);
  EXPECT_EQ(rig.row(Kind::Service).source(), "upstream");
  EXPECT_EQ(rig.row(Kind::Service).code(), "HF1203");
  EXPECT_THAT(rig.row(Kind::Service).reason(), HasSubstr("disk"));
  rig.advance(90s / 16);
  rig.answer(Kind::Service, {{"web", 5}}, {.revision = 10});
  EXPECT_EQ(rig.source(Kind::Service), Source::Cache);
  EXPECT_EQ(rig.view(Kind::Agent).generation, 1) << "others were not touched";
}

TEST_F(CacheResumeTest, WhatWillHardlyChangeIsAskedForSlowly) {
  for (const auto& why : {absl::UnimplementedError("what?"), absl::PermissionDeniedError("no")}) {
    CacheRig one(options());
    one.start();
    one.send({init_event({Kind::Service}, 10)});

    one.answer(Kind::Service, why);

    EXPECT_GE(*one.cache.next_deadline() - one.clock.now(), 45s);
  }
}

TEST_F(CacheResumeTest, ASingletonThatIsNotFoundIsEmpty) {
  rig.start();
  rig.send({init_event({Kind::NetworkingConfig}, 10)});

  rig.answer(Kind::NetworkingConfig, absl::NotFoundError("none"));

  EXPECT_EQ(rig.source(Kind::NetworkingConfig), Source::Cache);
  EXPECT_THAT(rig.shown(Kind::NetworkingConfig), IsEmpty());
}

TEST_F(CacheResumeTest, NotFoundForAnythingElseIsAFailure) {
  rig.start();
  rig.send({init_event({Kind::Service}, 10)});

  rig.answer(Kind::Service, absl::NotFoundError("none"));

  EXPECT_EQ(rig.row(Kind::Service).code(), "HF1203");
}

TEST_F(CacheResumeTest, EventsThatComeWhileAKindLoadsAreAppliedOnTop) {
  rig.start();
  rig.send({init_event({Kind::Agent}, 10)});
  rig.answer(Kind::Agent, {{"a", 3}, {"b", 4}}, {.revision = 10, .next = "b"});
  rig.send({delete_event(Kind::Agent, "a", 11), put_event(Kind::Agent, "x", 12)});

  rig.answer(Kind::Agent, {{"k", 7}, {"x", 12}}, {.revision = 12});

  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("b", 4), Pair("k", 7), Pair("x", 12)));
  EXPECT_EQ(rig.cache.stats().events_skipped, 1);
}

TEST_F(CacheResumeTest, AnEventThatAPageHasShownAlreadyIsSkipped) {
  rig.start();
  rig.send({init_event({Kind::Agent}, 10)});
  rig.answer(Kind::Agent, {{"a", 15}}, {.revision = 16});

  // Of a's past, and of a name that was gone when the page was read.
  rig.send({put_event(Kind::Agent, "a", 12), put_event(Kind::Agent, "gone", 13)});
  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("a", 15)));
  rig.send({delete_event(Kind::Agent, "gone", 14), delete_event(Kind::Agent, "a", 17)});

  EXPECT_THAT(rig.shown(Kind::Agent), IsEmpty());
  EXPECT_EQ(rig.cache.stats().events_skipped, 3);
}

TEST_F(CacheResumeTest, WithoutPageRevisionsTheListingsRevisionCounts) {
  rig.start();
  rig.send({init_event({Kind::Agent}, 10)});
  v1::ListResponse old = page_of(Kind::Agent, {{"a", 15}}, {.revision = 10});
  old.set_page_revision(0);
  rig.answer(Kind::Agent, old);

  rig.send({put_event(Kind::Agent, "a", 12), put_event(Kind::Agent, "b", 13)});

  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("a", 15), Pair("b", 13)));
}

TEST_F(CacheResumeTest, APageOlderThanTheStreamIsRefused) {
  rig.start();
  rig.send({init_event({Kind::Agent}, 10)});

  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 9});

  EXPECT_EQ(rig.row(Kind::Agent).code(), "HF1203");
  EXPECT_THAT(rig.row(Kind::Agent).reason(), HasSubstr("behind"));
}

TEST_F(CacheResumeTest, NothingOlderTakesTheTablesPlaceWithinItsBound) {
  load_all();
  rig.close(absl::AbortedError("moves"));
  rig.close(absl::OutOfRangeError("that is the future"));
  rig.send({init_event({Kind::Agent}, 8)});

  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 8});
  EXPECT_EQ(rig.row(Kind::Agent).code(), "HF1203");
  EXPECT_THAT(rig.shown(Kind::Agent), SizeIs(2));

  // Later the history must have been replaced.
  rig.advance(61s);
  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 8});
  rig.advance(90s);
  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 8});
  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
  EXPECT_THAT(rig.shown(Kind::Agent), SizeIs(1));
}

// Shown up to 15, though the stream has told of nothing after 10.
TEST_F(CacheResumeTest, NothingOlderThanThePagesTakesTheirPlaceEither) {
  rig.start();
  rig.send({init_event({Kind::Agent}, 10)});
  rig.answer(Kind::Agent, {{"a", 14}}, {.revision = 15});
  rig.close(absl::AbortedError("moves"));
  rig.close(absl::OutOfRangeError("that is the future"));
  rig.send({init_event({Kind::Agent}, 12)});

  rig.answer(Kind::Agent, {{"a", 3}, {"gone", 4}}, {.revision = 12});

  EXPECT_EQ(rig.row(Kind::Agent).code(), "HF1203");
  EXPECT_THAT(rig.row(Kind::Agent).reason(), HasSubstr("behind"));
  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("a", 14)));
  rig.advance(90s / 16);
  rig.answer(Kind::Agent, {{"a", 14}}, {.revision = 15});
  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
}

TEST_F(CacheResumeTest, NothingOlderThanThePagesTakesThePlaceOfACopyOfThem) {
  rig.start();
  rig.send({init_event({Kind::Agent}, 10)});
  rig.answer(Kind::Agent, {{"a", 14}}, {.revision = 15});
  CacheRig next(options());
  next.take(next.cache.restored(rig.cache.copies(), next.now()));
  next.start();
  EXPECT_EQ(next.view(Kind::Agent).revision, 10) << "it is not whole up to more than that";
  next.send({init_event({Kind::Agent}, 12)});

  next.answer(Kind::Agent, {{"a", 3}, {"gone", 4}}, {.revision = 12});

  EXPECT_EQ(next.row(Kind::Agent).code(), "HF1203");
  EXPECT_THAT(next.shown(Kind::Agent), ElementsAre(Pair("a", 14)));
  EXPECT_EQ(next.cache.copies().at(0).newest, 15) << "the next copy knows it too";
}

TEST_F(CacheResumeTest, AKindThatFailsUnderALiveStreamIsNotReplacedByAnythingOlder) {
  rig.start();
  rig.send({init_event({Kind::Service}, 10)});
  rig.answer(Kind::Service, {{"a", 1}, {"b", 1}}, {.revision = 10, .next = "b"});
  rig.answer(Kind::Service, {{"x", 14}, {"y", 1}, {"z", 1}}, {.revision = 15});
  rig.send({put_event(Kind::Service, "aa", 11)});
  ASSERT_EQ(rig.row(Kind::Service).code(), "HF1203") << "one too many";
  rig.advance(90s);

  rig.answer(Kind::Service, {{"x", 2}}, {.revision = 12});

  EXPECT_EQ(rig.shown(Kind::Service).at("x"), 14);
  EXPECT_THAT(rig.row(Kind::Service).reason(), HasSubstr("behind"));
}

TEST_F(CacheResumeTest, TooManyEventsWhileAKindLoadsStartItsFetchAgain) {
  rig.start();
  rig.send({init_event({Kind::Agent, Kind::Service}, 10)});
  rig.answer(Kind::Service, {}, {.revision = 10});
  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 10, .next = "a"});
  for (int64_t revision = 11; revision <= 15; ++revision) {
    rig.send({put_event(Kind::Agent, "x", revision)});
  }
  EXPECT_EQ(rig.cache.stats().fetches_restarted, 1);
  ASSERT_THAT(rig.fetches, SizeIs(1));
  EXPECT_EQ(rig.fetches[0].request.page_token(), "");

  rig.answer(Kind::Agent, {{"a", 3}, {"x", 15}}, {.revision = 15});

  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
  EXPECT_THAT(rig.shown(Kind::Agent), ElementsAre(Pair("a", 3), Pair("x", 15)));
}

TEST_F(CacheResumeTest, AKindThatNeverEndsLoadingDoesNotHoldUpOthers) {
  rig.start();
  rig.send({init_event({Kind::Agent, Kind::Service}, 10)});
  rig.answer(Kind::Service, {}, {.revision = 10});

  for (int64_t revision = 11; revision <= 30; ++revision) {
    rig.send({put_event(Kind::Agent, "x", revision)});
  }

  EXPECT_EQ(rig.row(Kind::Agent).code(), "HF1203");
  EXPECT_EQ(rig.source(Kind::Service), Source::Cache);
}

TEST_F(CacheResumeTest, PagesOutOfOrderOrOfAnotherKindOrWithoutEndAreRefused) {
  const v1::ListResponse second = page_of(Kind::Agent, {{"a", 3}}, {.revision = 10});
  const v1::ListResponse foreign = page_of(Kind::Service, {{"x", 3}}, {.revision = 10});
  const v1::ListResponse same = page_of(Kind::Agent, {}, {.revision = 10, .next = "t"});
  const v1::ListResponse many =
      page_of(Kind::Agent, {{"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}, {"g", 1}}, {.revision = 10});
  for (const v1::ListResponse& page : {second, foreign, same, many}) {
    CacheRig one(options());
    one.start();
    one.send({init_event({Kind::Agent}, 10)});
    one.answer(Kind::Agent, {{"b", 3}}, {.revision = 10, .next = "t"});

    one.answer(Kind::Agent, page);

    EXPECT_EQ(one.row(Kind::Agent).code(), "HF1203") << page.ShortDebugString();
  }
}

TEST_F(CacheResumeTest, AKindThatGrowsBeyondItsLimitGoesUpstream) {
  load_all();

  for (int64_t revision = 11; revision <= 14; ++revision) {
    rig.send({put_event(Kind::Agent, "n" + std::to_string(revision), revision)});
  }

  EXPECT_EQ(rig.row(Kind::Agent).code(), "HF1203");
  EXPECT_EQ(rig.source(Kind::Service), Source::Cache);
}

TEST_F(CacheResumeTest, TablesFromDiskAreStaleAndOfGenerationZeroUntilTheFirstReal) {
  load_all();
  std::vector<KindCopy> copies = rig.cache.copies();
  EXPECT_THAT(copies, SizeIs(3));
  copies[2].with_secrets = true;  // not as it is wanted now
  CacheRig next(options());

  next.take(next.cache.restored(std::move(copies), next.now()));
  next.start();

  EXPECT_EQ(next.source(Kind::Agent), Source::Stale);
  EXPECT_EQ(next.row(Kind::Agent).code(), "HF1205");
  EXPECT_EQ(next.view(Kind::Agent).generation, 0);
  EXPECT_THAT(next.shown(Kind::Agent), SizeIs(2));
  EXPECT_EQ(next.source(Kind::NetworkingConfig), Source::Upstream);
  EXPECT_EQ(next.request.after_revision(), 0) << "a copy is not resumed from";
  next.send({init_event({Kind::Agent}, 10)});
  next.answer(Kind::Agent, {{"b", 4}}, {.revision = 10});
  EXPECT_EQ(next.source(Kind::Agent), Source::Cache);
  EXPECT_THAT(next.shown(Kind::Agent), ElementsAre(Pair("b", 4)));
}

}  // namespace
}  // namespace holdfast::cache
