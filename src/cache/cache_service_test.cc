#include "cache/cache_service.h"

#include "cache/cache_fixture_service.h"

namespace holdfast::cache {
namespace {

TEST_F(CacheServiceTest, AnswersFromItsTableOnceItHasLoaded) {
  for (const char* name : {"edge-1", "edge-2", "edge-3"}) upstream_.put(Kind::Agent, name);
  const auto cache = make(options());

  run(cache->start());
  const size_t before = upstream_.operations;
  const auto one = ask(cache->get_one<Kind::Agent>("edge-2"));
  const auto all = ask(cache->get_all<Kind::Agent>());
  const auto none = ask(cache->get_one<Kind::Agent>("edge-9"));

  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->value->metadata().name(), "edge-2");
  EXPECT_EQ(one->source, Source::Cache);
  EXPECT_EQ(all->value.size(), 3u);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(upstream_.operations, before) << "nobody was asked";
  run(cache->stop());
}

TEST_F(CacheServiceTest, FollowsChanges) {
  const auto cache = make(options());
  run(cache->start());

  upstream_.put(Kind::Agent, "edge-1", "new");
  upstream_.put(Kind::Service, "web");
  upstream_.erase(Kind::Service, "web");

  EXPECT_TRUE(run_until([&] { return row(*cache, "agent").items() == 1; }));
  EXPECT_EQ(row(*cache, "service").items(), 0u);
  EXPECT_EQ(row(*cache, "service").revision(), upstream_.revision());
  run(cache->stop());
}

TEST_F(CacheServiceTest, AKindThatUpstreamDoesNotKnowTakesNothingFromTheOthers) {
  CacheServiceOptions skewed = options();
  skewed.cache.kinds.push_back({.kind = Kind::ZoneMap});
  upstream_.put(Kind::Agent, "edge-1");
  const auto cache = make(skewed);

  run(cache->start());
  const auto known = ask(cache->get_one<Kind::Agent>("edge-1"));

  EXPECT_EQ(known->source, Source::Cache);
  EXPECT_EQ(row(*cache, "zone_map").source(), "upstream");
  EXPECT_EQ(row(*cache, "zone_map").code(), "HF1202");
  EXPECT_EQ(row(*cache, "service").source(), "cache");
  run(cache->stop());
}

TEST_F(CacheServiceTest, HoweverManyAskForAnUnknownKindUpstreamIsAskedOnceASecond) {
  CacheServiceOptions skewed = options();
  skewed.cache.kinds.push_back({.kind = Kind::ZoneMap});
  const auto cache = make(skewed);
  run(cache->start());
  std::vector<absl::StatusCode> answers;
  const auto ask_often = [&] {
    for (int i = 0; i < 50; ++i) {
      asio::co_spawn(io_, cache->get_one<Kind::ZoneMap>("zones"),
                     [&](const std::exception_ptr&, const Result<Read<Shared>>& read) {
                       answers.push_back(read.status().code());
                     });
    }
    settle();
  };

  ask_often();
  ask_often();
  EXPECT_EQ(upstream_.gets["zone_map"], 1u);
  clock_.advance(1s);
  ask_often();
  EXPECT_EQ(upstream_.gets["zone_map"], 2u);

  EXPECT_EQ(answers.size(), 150u);
  EXPECT_THAT(answers, testing::Each(absl::StatusCode::kUnimplemented));
  EXPECT_EQ(ask(cache->get_one<Kind::Agent>("x")).status().code(), absl::StatusCode::kNotFound)
      << "another caller, of another kind, notices nothing";
  run(cache->stop());
}

TEST_F(CacheServiceTest, WithUpstreamGoneItAnswersAndSaysHowOldTheAnswerIs) {
  upstream_.put(Kind::Agent, "edge-1");
  CacheServiceOptions patient = options();
  patient.cache.kinds[0].max_staleness = 1h;
  const auto cache = make(patient);
  run(cache->start());

  upstream_.leave();
  ASSERT_TRUE(run_until([&] { return row(*cache, "agent").source() == "stale"; }));
  clock_.advance(7s);
  const size_t gets = upstream_.gets["agent"];
  const auto read = ask(cache->get_one<Kind::Agent>("edge-1"));

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->source, Source::Stale);
  EXPECT_GE(read->age, 7s);
  EXPECT_LT(read->age, 8s);
  EXPECT_EQ(upstream_.gets["agent"], gets) << "within its bound nobody is asked";
  EXPECT_EQ(row(*cache, "agent").code(), "HF1201");
  run(cache->stop());
}

TEST_F(CacheServiceTest, PastItsBoundItAsksUpstreamAndFallsBackOnTheLastGoodGeneration) {
  upstream_.put(Kind::Agent, "edge-1");
  const auto cache = make(options());
  run(cache->start());
  upstream_.leave();

  ASSERT_TRUE(run_until([&] { return row(*cache, "agent").source() == "upstream"; }));
  const auto one = ask(cache->get_one<Kind::Agent>("edge-1"));
  const auto all = ask(cache->get_all<Kind::Agent>());
  v1::ListRequest listing;
  listing.set_kind("agent");
  const auto page = ask(cache->read(listing));

  EXPECT_EQ(row(*cache, "agent").code(), "HF1204");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->source, Source::Stale);
  EXPECT_GE(one->age, 50ms);
  EXPECT_EQ(upstream_.gets["agent"], 1u) << "upstream was tried first";
  EXPECT_EQ(all->source, Source::Stale);
  EXPECT_EQ(all->value.size(), 1u);
  EXPECT_EQ(page->source, Source::Stale);
  EXPECT_EQ(page->value.resources_size(), 1);
  View view(cache->published());
  {
    const auto agents = view.read<Kind::Agent>();
    ASSERT_TRUE(agents) << "who carries traffic goes on with what was known last";
    EXPECT_TRUE(agents.find("edge-1"));
    EXPECT_EQ(agents.source(), Source::Upstream);
  }
  run(cache->stop());
}

TEST_F(CacheServiceTest, AKindThatDoesNotFailStaticFailsAsUpstreamDoes) {
  upstream_.put(Kind::Agent, "edge-1");
  CacheServiceOptions strict = options();
  strict.cache.kinds[0].fail_static = false;
  const auto cache = make(strict);
  run(cache->start());
  upstream_.leave();
  ASSERT_TRUE(run_until([&] { return row(*cache, "agent").source() == "upstream"; }));

  const auto read = ask(cache->get_one<Kind::Agent>("edge-1"));

  EXPECT_EQ(read.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(View(cache->published()).read<Kind::Agent>());
  run(cache->stop());
}

TEST_F(CacheServiceTest, AnUpstreamThatHangsIsNotWaitedForWhenThereIsALastGoodGeneration) {
  upstream_.put(Kind::Agent, "edge-1");
  const auto cache = make(options());
  run(cache->start());
  upstream_.leave();
  ASSERT_TRUE(run_until([&] { return row(*cache, "agent").source() == "upstream"; }));
  upstream_.hang_gets = true;

  const auto read = ask(cache->get_one<Kind::Agent>("edge-1"));

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->source, Source::Stale);
  run(cache->stop());
}

TEST_F(CacheServiceTest, IsFreshAgainWhenUpstreamComesBack) {
  upstream_.put(Kind::Agent, "edge-1");
  const auto cache = make(options());
  run(cache->start());
  upstream_.leave();
  ASSERT_TRUE(run_until([&] { return row(*cache, "agent").source() == "upstream"; }));
  upstream_.put(Kind::Agent, "edge-2");

  upstream_.come_back();

  ASSERT_TRUE(run_until([&] { return all_cached(*cache); }));
  EXPECT_TRUE(run_until([&] { return row(*cache, "agent").items() == 2; }));
  run(cache->stop());
}

TEST_F(CacheServiceTest, AStreamThatMovesIsResumedAtOnce) {
  upstream_.put(Kind::Agent, "edge-1");
  const auto cache = make(options());
  run(cache->start());
  const size_t lists = upstream_.lists["agent"];

  upstream_.end_streams(absl::AbortedError("moving"));
  settle();

  EXPECT_TRUE(all_cached(*cache)) << "no time has passed";
  EXPECT_EQ(upstream_.resumed_after.back(), upstream_.revision());
  EXPECT_EQ(upstream_.lists["agent"], lists) << "nothing was fetched again";
  EXPECT_EQ(cache->stats().resumes, 1u);
  run(cache->stop());
}

TEST_F(CacheServiceTest, StartReturnsWhenTheFirstTryHasFailed) {
  upstream_.gone = true;
  const auto cache = make(options());

  run(cache->start());

  EXPECT_LT(clock_.now(), Time(1s)) << "it did not wait for all of first_wait";
  const auto read = ask(cache->get_one<Kind::Agent>("edge-1"));
  EXPECT_EQ(read.status().code(), absl::StatusCode::kUnavailable);
  upstream_.come_back();
  EXPECT_TRUE(run_until([&] { return all_cached(*cache); })) << "it goes on in the background";
  run(cache->stop());
}

TEST_F(CacheServiceTest, StartDoesNotWaitForEver) {
  upstream_.hang_at = 1;
  CacheServiceOptions hasty = options();
  hasty.first_wait = 20ms;
  hasty.cache.init_timeout = 1h;
  const auto cache = make(hasty);

  run(cache->start());

  EXPECT_EQ(row(*cache, "agent").source(), "upstream");
  run(cache->stop());
}

TEST_F(CacheServiceTest, TellsThoseWhoWantToKnow) {
  const auto cache = make(options());
  int changes = 0;
  size_t woken = 0;
  cache->on_change([&] { changes += 1; });
  cache->on_wake([&](const std::vector<events::WatcherId>& ids) { woken += ids.size(); });
  run(cache->start());
  const int at_start = changes;
  const events::WatchRequest request{.kinds = {{.kind = "agent"}}};
  ASSERT_TRUE(cache->fan_out().add(request).ok());

  upstream_.leave();
  ASSERT_TRUE(run_until([&] { return row(*cache, "agent").source() == "upstream"; }));

  EXPECT_GT(at_start, 0);
  EXPECT_GT(changes, at_start);
  EXPECT_EQ(woken, 1u) << "the watcher learns that what it follows is too old";
  run(cache->stop());
}

TEST_F(CacheServiceTest, CountsWhatItDoes) {
  upstream_.put(Kind::Agent, "edge-1");
  const auto cache = make(options());
  run(cache->start());
  (void)ask(cache->get_one<Kind::Agent>("edge-1"));
  (void)ask(cache->get_one<Kind::Role>("admin"));
  upstream_.end_streams(absl::AbortedError("moving"));
  settle();

  cache->update_metrics();

  const std::string text = registry_.expose();
  for (const char* line :
       {"holdfast_cache_source{kind=\"agent\"} 1", "holdfast_cache_items{kind=\"agent\"} 1",
        "holdfast_cache_age_seconds{kind=\"agent\"} 0", "holdfast_cache_resumes_total 1",
        "holdfast_cache_reads_total{table=\"current\"} 1",
        "holdfast_cache_upstream_reads_total{outcome=\"not_found\"} 1"}) {
    EXPECT_THAT(text, testing::HasSubstr(line));
  }
  run(cache->stop());
}

}  // namespace
}  // namespace holdfast::cache
