// A cache as a source of events: whom it lets watch what, when they hear of it, and when they must
// begin again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/cache.h"
#include "cache/cache_fixture.h"

namespace holdfast::cache {
namespace {

using namespace std::chrono_literals;
using events::Closed;
using events::WatcherId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class CacheWatchTest : public testing::Test {
 protected:
  static CacheOptions options() {
    CacheOptions options;
    options.kinds = {{.kind = Kind::Agent},
                     {.kind = Kind::Service},
                     {.kind = Kind::CertAuthority, .with_secrets = true}};
    options.parallel_fetches = 3;
    options.fan_out = {.capacity = 2,
                       .max_bytes = 1 << 20,
                       .grace = 5s,
                       .max_watchers = 8,
                       .max_message_bytes = 1 << 16};
    return options;
  }

  v1::Event init(const std::vector<Kind>& kinds, int64_t revision) {
    v1::Event event = init_event(kinds, revision);
    for (v1::WatchKind& kind : *event.mutable_status()->mutable_kinds()) {
      kind.set_with_secrets(kind.kind() == kind_name(Kind::CertAuthority));
    }
    return event;
  }
  void load(const std::vector<Kind>& kinds) {
    rig.start();
    rig.send({init(kinds, 10)});
    for (const Kind kind : kinds) rig.answer(kind, {{"cluster", 5}}, {.revision = 10});
  }

  static events::WatchRequest request(const std::vector<Kind>& kinds, bool partial) {
    events::WatchRequest asked{.kinds = {}, .allow_partial_success = partial};
    for (const Kind kind : kinds) asked.kinds.push_back(watch_kind({.kind = kind}));
    return asked;
  }
  Result<WatcherId> watch(const std::vector<Kind>& kinds, bool partial = false) {
    return rig.cache.fan_out().add(request(kinds, partial));
  }
  // All there is for a watcher, up to where it must wait or is closed.
  std::vector<v1::Event> take_all(WatcherId id) {
    std::vector<v1::Event> taken;
    for (;;) {
      const events::Taken next = rig.cache.fan_out().take(id);
      const auto* some = std::get_if<std::shared_ptr<const events::Message>>(&next);
      closed = std::holds_alternative<Closed>(next) ? std::get<Closed>(next).why : absl::OkStatus();
      if (some == nullptr) return taken;
      v1::WatchResponse response;
      EXPECT_TRUE(response.ParseFromString((*some)->bytes));
      taken.insert(taken.end(), response.events().begin(), response.events().end());
    }
  }

  CacheRig rig{options()};
  Status closed;  // how the last take_all() ended
};

TEST_F(CacheWatchTest, AStrictWatcherFailsWithTheErrorOfTheFirstKindRefused) {
  load({Kind::Agent});

  const Result<WatcherId> refused = watch({Kind::Agent, Kind::Service, Kind::Token});

  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(refused.status().message(), HasSubstr("service"));
}

TEST_F(CacheWatchTest, PartialSuccessIsToldWhatIsLeft) {
  load({Kind::Agent});

  const Result<WatcherId> watcher = watch({Kind::Agent, Kind::Service}, /*partial=*/true);

  ASSERT_TRUE(watcher.ok());
  const std::vector<v1::Event> seen = take_all(*watcher);
  ASSERT_THAT(seen, SizeIs(1));
  ASSERT_THAT(seen[0].status().kinds(), SizeIs(1));
  EXPECT_EQ(seen[0].status().kinds(0).kind(), "agent");
  EXPECT_EQ(seen[0].revision(), 10);
}

TEST_F(CacheWatchTest, PartialSuccessWithNothingLeftIsAnError) {
  load({Kind::Agent});

  EXPECT_EQ(watch({Kind::Service, Kind::Token}, /*partial=*/true).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(CacheWatchTest, WatchingNothingIsAnErrorHealthyOrNot) {
  EXPECT_EQ(watch({}, true).status().code(), absl::StatusCode::kInvalidArgument);
  load({Kind::Agent});
  EXPECT_EQ(watch({}, true).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CacheWatchTest, AHealthyCacheComparesWithWhatItHasLoadedSecretsToo) {
  load({Kind::Agent, Kind::CertAuthority});
  events::WatchRequest secrets = request({Kind::Agent}, false);
  secrets.kinds[0].with_secrets = true;
  events::WatchRequest narrow = request({Kind::Agent}, false);
  narrow.kinds[0].name = "edge-7";

  EXPECT_FALSE(rig.cache.fan_out().add(secrets).ok()) << "the cache has agents without";
  EXPECT_TRUE(rig.cache.fan_out().add(narrow).ok());
  EXPECT_TRUE(watch({Kind::CertAuthority}).ok()) << "whoever wants no secrets may watch too";
}

TEST_F(CacheWatchTest, AnUnhealthyCacheComparesWithWhatItIsConfiguredForAndChecksAgainAtInit) {
  const Result<WatcherId> agents = watch({Kind::Agent});
  const Result<WatcherId> strict = watch({Kind::Agent, Kind::Service});
  const Result<WatcherId> partial = watch({Kind::Agent, Kind::Service}, true);
  const Result<WatcherId> nothing_left = watch({Kind::Service}, true);
  EXPECT_FALSE(watch({Kind::Token}).ok()) << "never configured";
  ASSERT_TRUE(agents.ok() && strict.ok() && partial.ok() && nothing_left.ok());

  load({Kind::Agent});

  EXPECT_THAT(take_all(*agents), SizeIs(1));
  EXPECT_THAT(take_all(*partial), SizeIs(1));
  EXPECT_THAT(take_all(*strict), IsEmpty());
  EXPECT_EQ(closed.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(take_all(*nothing_left), IsEmpty());
  EXPECT_EQ(closed.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CacheWatchTest, InitIsSentOnceTheCacheIsReadableAndNotBefore) {
  const Result<WatcherId> watcher = watch({Kind::Agent});
  rig.start();
  rig.send({init({Kind::Agent, Kind::Service}, 10)});
  rig.answer(Kind::Agent, {{"a", 3}}, {.revision = 10});
  EXPECT_THAT(take_all(*watcher), IsEmpty());
  EXPECT_THAT(rig.woken, IsEmpty());

  rig.answer(Kind::Service, {}, {.revision = 10});

  EXPECT_THAT(rig.woken, ElementsAre(*watcher));
  EXPECT_EQ(rig.source(Kind::Agent), Source::Cache);
  EXPECT_THAT(take_all(*watcher), SizeIs(1));
}

TEST_F(CacheWatchTest, AMessageIsOnePublishAndThenItsEvents) {
  load({Kind::Agent, Kind::Service});
  const Result<WatcherId> watcher = watch({Kind::Agent});
  take_all(*watcher);
  const uint64_t publishes = rig.cache.stats().publishes;

  rig.send({put_event(Kind::Agent, "a", 11), put_event(Kind::Service, "s", 12),
            put_event(Kind::Agent, "b", 13)});

  EXPECT_EQ(rig.cache.stats().publishes, publishes + 1);
  EXPECT_THAT(rig.woken, testing::Contains(*watcher));
  EXPECT_EQ(rig.shown(Kind::Agent).at("b"), 13);
  const std::vector<v1::Event> seen = take_all(*watcher);
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_EQ(seen[1].revision(), 13);
}

TEST_F(CacheWatchTest, AWatcherOfAnotherKindsEventIsWokenThoughTheLastEventIsNotForIt) {
  load({Kind::Agent, Kind::Service});
  const Result<WatcherId> watcher = watch({Kind::Agent});
  take_all(*watcher);
  rig.woken.clear();

  rig.send({put_event(Kind::Agent, "a", 11), put_event(Kind::Service, "s", 12)});

  EXPECT_THAT(rig.woken, ElementsAre(*watcher));
}

TEST_F(CacheWatchTest, WhatAPageHasShownIsStillToldToThoseWhoBeganBefore) {
  rig.start();
  rig.send({init({Kind::Agent}, 10)});
  rig.answer(Kind::Agent, {{"a", 12}}, {.revision = 14});
  const Result<WatcherId> watcher = watch({Kind::Agent});
  EXPECT_EQ(take_all(*watcher).front().revision(), 10);

  rig.send({put_event(Kind::Agent, "a", 12)});

  EXPECT_THAT(take_all(*watcher), SizeIs(1));
}

TEST_F(CacheWatchTest, SecretsAreForThoseWhoAskedForThem) {
  load({Kind::CertAuthority});
  events::WatchRequest secrets = request({Kind::CertAuthority}, false);
  secrets.kinds[0].with_secrets = true;
  const Result<WatcherId> trusted = rig.cache.fan_out().add(secrets);
  const Result<WatcherId> other = watch({Kind::CertAuthority});
  take_all(*trusted);
  take_all(*other);
  v1::Event rotated = put_event(Kind::CertAuthority, "cluster", 11);
  rotated.mutable_resource()->mutable_cert_authority()->add_keys()->set_private_key_pem("secret");

  rig.send({rotated});

  EXPECT_THAT(take_all(*trusted).front().ShortDebugString(), HasSubstr("secret"));
  EXPECT_THAT(take_all(*other).front().ShortDebugString(), testing::Not(HasSubstr("secret")));
}

TEST_F(CacheWatchTest, AStreamThatResumesIsNotNoticedByWatchers) {
  load({Kind::Agent});
  const Result<WatcherId> watcher = watch({Kind::Agent});
  take_all(*watcher);
  rig.close(absl::AbortedError("moves"));
  rig.send({init({Kind::Agent}, 10), put_event(Kind::Agent, "a", 11)});

  const std::vector<v1::Event> seen = take_all(*watcher);

  EXPECT_TRUE(closed.ok());
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_EQ(seen[0].revision(), 11);
  EXPECT_EQ(rig.cache.stats().resets, 0);
}

TEST_F(CacheWatchTest, AStreamThatBeginsAnewClosesWatchersAndThoseThatWaitAreTold) {
  load({Kind::Agent});
  const Result<WatcherId> old = watch({Kind::Agent});
  take_all(*old);
  rig.close(absl::OutOfRangeError("compacted"));
  rig.send({init({Kind::Agent}, 20)});
  EXPECT_THAT(take_all(*old), IsEmpty());
  EXPECT_EQ(closed.code(), absl::StatusCode::kAborted);
  const Result<WatcherId> waiting = watch({Kind::Agent});
  EXPECT_THAT(take_all(*waiting), IsEmpty());

  rig.answer(Kind::Agent, {}, {.revision = 20});

  EXPECT_EQ(take_all(*waiting).front().revision(), 20);
}

TEST_F(CacheWatchTest, AfterAnInitWithoutARevisionNobodyResumesFromBeforeTheFirstEvent) {
  load({Kind::Agent});
  rig.close(absl::OutOfRangeError("compacted"));
  rig.send({init({Kind::Agent}, 0)});
  rig.answer(Kind::Agent, {{"a", 15}}, {.revision = 20});
  events::WatchRequest resume = request({Kind::Agent}, false);
  resume.after_revision = 10;
  EXPECT_FALSE(rig.cache.fan_out().add(resume).ok());

  rig.send({put_event(Kind::Agent, "a", 21)});

  EXPECT_EQ(rig.cache.fan_out().add(resume).status().code(), absl::StatusCode::kOutOfRange);
  resume.after_revision = 21;
  EXPECT_TRUE(rig.cache.fan_out().add(resume).ok());
}

TEST_F(CacheWatchTest, AKindThatIsDroppedOrAddedLetsWatchersBeginAgain) {
  load({Kind::Agent, Kind::Service});
  const Result<WatcherId> first = watch({Kind::Service});
  take_all(*first);
  rig.close(absl::AbortedError("moves"));
  rig.send({init({Kind::Service}, 10)});
  EXPECT_THAT(take_all(*first), IsEmpty());
  EXPECT_EQ(closed.code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(watch({Kind::Agent}).ok());
  const Result<WatcherId> second = watch({Kind::Agent, Kind::Service}, true);
  ASSERT_TRUE(second.ok());
  take_all(*second);

  rig.close(absl::AbortedError("moves"));
  rig.send({init({Kind::Agent, Kind::Service}, 10)});
  rig.answer(Kind::Agent, {}, {.revision = 10});

  EXPECT_THAT(take_all(*second), IsEmpty());
  EXPECT_EQ(closed.code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(watch({Kind::Agent}).ok());
}

TEST_F(CacheWatchTest, WatchersOfACacheOlderThanItsBoundAreClosedAndGoOnFromWhereTheyWere) {
  load({Kind::Agent});
  const Result<WatcherId> watcher = watch({Kind::Agent});
  take_all(*watcher);
  rig.close(absl::UnavailableError("cut"));
  rig.advance(50s);
  take_all(*watcher);
  EXPECT_TRUE(closed.ok()) << "within the bound nothing happens to them";

  rig.advance(11s);

  take_all(*watcher);
  EXPECT_EQ(closed.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(closed.message(), HasSubstr("HF1204"));
  events::WatchRequest again = request({Kind::Agent}, false);
  again.after_revision = 10;
  const Result<WatcherId> resumed = rig.cache.fan_out().add(again);
  ASSERT_TRUE(resumed.ok());
  rig.send({init({Kind::Agent}, 10)});
  EXPECT_EQ(take_all(*resumed).front().revision(), 10);
}

TEST_F(CacheWatchTest, ASlowWatcherIsClosedOnTime) {
  load({Kind::Agent});
  const Result<WatcherId> watcher = watch({Kind::Agent});
  take_all(*watcher);
  for (int64_t revision = 11; revision <= 14; ++revision) {
    rig.send({put_event(Kind::Agent, "a", revision)});
  }
  rig.woken.clear();

  rig.advance(6s);

  EXPECT_THAT(rig.woken, ElementsAre(*watcher));
  take_all(*watcher);
  EXPECT_EQ(closed.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(CacheWatchTest, StopClosesEveryWatcher) {
  load({Kind::Agent});
  const Result<WatcherId> watcher = watch({Kind::Agent});

  rig.take(rig.cache.stop());

  take_all(*watcher);
  EXPECT_EQ(closed.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace holdfast::cache
