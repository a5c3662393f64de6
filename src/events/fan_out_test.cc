#include "events/fan_out.h"

#include <gtest/gtest.h>

#include "events/fan_out_fixture.h"

namespace holdfast::events {
namespace {

using namespace std::chrono_literals;

class FanOutTest : public ::testing::Test {
 protected:
  WatcherId watch(std::vector<WatchKind> kinds, int64_t after = 0) {
    const Result<WatcherId> id = fan_out.add(
        {.kinds = std::move(kinds), .allow_partial_success = false, .after_revision = after});
    EXPECT_TRUE(id.ok()) << id.status();
    return *id;
  }

  std::vector<WatcherId> append(int64_t revision, const std::string& kind_name = "service") {
    return fan_out.append({put(kind_name, "web", revision)}, now);
  }

  // The events of the next message; nullopt if there is none; fails the test if closed.
  std::optional<std::vector<v1::Event>> take(WatcherId id) {
    const Taken taken = fan_out.take(id);
    if (std::holds_alternative<Nothing>(taken)) return std::nullopt;
    if (const auto* closed = std::get_if<Closed>(&taken)) {
      ADD_FAILURE() << closed->why;
      return std::nullopt;
    }
    v1::WatchResponse response;
    EXPECT_TRUE(response.ParseFromString(std::get<0>(taken)->bytes));
    return std::vector<v1::Event>(response.events().begin(), response.events().end());
  }

  std::vector<int64_t> revisions(WatcherId id) {
    std::vector<int64_t> seen;
    while (const auto events = take(id)) {
      for (const v1::Event& event : *events) seen.push_back(event.revision());
    }
    return seen;
  }

  Status why_closed(WatcherId id) {
    const Taken taken = fan_out.take(id);
    const auto* closed = std::get_if<Closed>(&taken);
    return closed != nullptr ? closed->why : absl::OkStatus();
  }

  FanOut fan_out{{.capacity = 4,
                  .max_bytes = 1 << 20,
                  .grace = 10s,
                  .max_watchers = 100,
                  .max_message_bytes = 1 << 10},
                 kBoth};
  Time now{};
};

TEST_F(FanOutTest, InitComesFirstAndOnce) {
  fan_out.init(kBoth, 10, 10);
  const WatcherId id = watch({kind("service")});
  append(11);

  const auto first = take(id);
  const auto second = take(id);

  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->front().type(), v1::EVENT_TYPE_INIT);
  EXPECT_EQ(first->front().revision(), 10);
  EXPECT_EQ(second->front().revision(), 11);
  EXPECT_FALSE(take(id));
}

TEST_F(FanOutTest, AnEventWakesOnlyTheIdleWatchersItConcerns) {
  fan_out.init(kBoth, 10, 10);
  const WatcherId services = watch({kind("service")});
  const WatcherId agents = watch({kind("agent")});
  revisions(services);
  revisions(agents);

  EXPECT_EQ(append(11), std::vector{services});
  EXPECT_EQ(append(12), std::vector<WatcherId>{});  // awake already
  EXPECT_EQ(append(13, "agent"), std::vector{agents});
}

TEST_F(FanOutTest, WatchersInStepShareOneMessage) {
  fan_out.init(kBoth, 10, 10);
  std::vector<WatcherId> ids;
  for (int i = 0; i < 50; ++i) ids.push_back(watch({kind("service")}));
  for (const WatcherId id : ids) revisions(id);

  append(11);
  for (const WatcherId id : ids) EXPECT_EQ(revisions(id), std::vector<int64_t>{11});

  EXPECT_EQ(fan_out.stats().messages_built, 1u);
  EXPECT_EQ(fan_out.stats().messages_taken, 50u);
}

TEST_F(FanOutTest, ResumesAfterARevisionStillKept) {
  fan_out.init(kBoth, 10, 10);
  for (int64_t revision = 11; revision <= 14; ++revision) append(revision);

  const WatcherId id = watch({kind("service")}, 12);

  EXPECT_EQ(take(id)->front().revision(), 12);  // Init says from where
  EXPECT_EQ(revisions(id), (std::vector<int64_t>{13, 14}));
}

TEST_F(FanOutTest, RefusesARevisionForgottenOrInTheFuture) {
  fan_out.init(kBoth, 10, 10);
  for (int64_t revision = 11; revision <= 20; ++revision) append(revision);

  const auto forgotten = fan_out.add({.kinds = {kind("service")}, .after_revision = 12});
  const auto future = fan_out.add({.kinds = {kind("service")}, .after_revision = 21});

  EXPECT_EQ(forgotten.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(future.status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(FanOutTest, WhatHappenedBeforeAWatchIsSeenOnlyByThoseWhoResume) {
  fan_out.init(kBoth, 10, 12);  // 11 and 12 are still on their way
  const WatcherId fresh = watch({kind("service")});
  const WatcherId resumed = watch({kind("service")}, 11);
  EXPECT_EQ(take(fresh)->front().revision(), 12);
  EXPECT_EQ(take(resumed)->front().revision(), 11);

  for (int64_t revision = 11; revision <= 13; ++revision) append(revision);

  EXPECT_EQ(revisions(fresh), std::vector<int64_t>{13});
  EXPECT_EQ(revisions(resumed), (std::vector<int64_t>{12, 13}));
}

TEST_F(FanOutTest, AWatchMayBeginWhereTheSourceIsAndItsEventsAreNotYet) {
  fan_out.init(kBoth, 10, 10);
  fan_out.note_latest(15);
  const WatcherId id = watch({kind("service")}, 15);
  take(id);

  append(14);
  append(16);

  EXPECT_EQ(revisions(id), std::vector<int64_t>{16});
}

TEST_F(FanOutTest, OfSeveralEntriesForAKindTheOneThatMatchesCounts) {
  WatchKind a = kind("service"), b = kind("service");
  a.labels = {{"tier", "a"}};
  b.labels = {{"tier", "b"}};
  fan_out.init(kBoth, 10, 10);
  const WatcherId id = watch({a, b});
  revisions(id);
  v1::Resource resource;
  resource.set_kind("service");
  (*resource.mutable_metadata()->mutable_labels())["tier"] = "b";

  fan_out.append({make_put(resource, nullptr, 11)}, now);

  EXPECT_EQ(take(id)->front().type(), v1::EVENT_TYPE_PUT);
}

TEST_F(FanOutTest, ASlowWatcherIsKeptForItsGraceThenClosedWithTheReason) {
  fan_out.init(kBoth, 10, 10);
  const WatcherId slow = watch({kind("service")});
  const WatcherId quick = watch({kind("service")});
  take(slow);
  for (int64_t revision = 11; revision <= 20; ++revision) {
    append(revision);
    EXPECT_FALSE(revisions(quick).empty());
  }
  ASSERT_EQ(fan_out.event_count(), 10u);
  ASSERT_TRUE(fan_out.next_deadline());

  now += 9s;
  EXPECT_TRUE(fan_out.on_tick(now).empty());
  now += 1s;
  EXPECT_EQ(fan_out.on_tick(now), std::vector{slow});

  EXPECT_EQ(why_closed(slow).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(fan_out.event_count(), 4u);
  EXPECT_EQ(fan_out.stats().evicted, 1u);
  EXPECT_FALSE(fan_out.next_deadline());
  append(21);
  EXPECT_EQ(revisions(quick), std::vector<int64_t>{21});
}

TEST_F(FanOutTest, ASlowWatcherThatCatchesUpInTimeSeesEverything) {
  fan_out.init(kBoth, 10, 10);
  const WatcherId slow = watch({kind("service")});
  take(slow);
  std::vector<int64_t> expected;
  for (int64_t revision = 11; revision <= 40; ++revision) {
    append(revision);
    expected.push_back(revision);
  }

  EXPECT_EQ(revisions(slow), expected);
  append(41);  // what nobody needs any more goes with the next event
  EXPECT_LE(fan_out.event_count(), 5u);
}

TEST_F(FanOutTest, AnIdleWatcherIsNeverSlow) {
  fan_out.init(kBoth, 10, 10);
  const WatcherId agents = watch({kind("agent")});
  revisions(agents);

  for (int64_t revision = 11; revision <= 100; ++revision) append(revision);
  now += 1h;
  fan_out.on_tick(now);

  EXPECT_EQ(fan_out.event_count(), 4u);
  append(101, "agent");
  EXPECT_EQ(revisions(agents), std::vector<int64_t>{101});
}

TEST_F(FanOutTest, BytesAreBoundedWhateverTheGrace) {
  fan_out.init(kBoth, 10, 10);
  const WatcherId slow = watch({kind("service")});
  take(slow);

  for (int64_t revision = 11; revision <= 5000; ++revision) {
    fan_out.append({put("service", std::string(500, 'n'), revision)}, now);
    EXPECT_LE(fan_out.bytes(), (1u << 20) + 4096);
  }

  EXPECT_EQ(why_closed(slow).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(FanOutTest, MessagesEndWithAWholeRevision) {
  fan_out.init(kBoth, 10, 10);
  const WatcherId id = watch({kind("service")});
  revisions(id);
  std::vector<Event> one_revision;
  for (int i = 0; i < 20; ++i) one_revision.push_back(put("service", std::string(200, 'n'), 11));
  one_revision.push_back(put("service", "next", 12));

  fan_out.append(std::move(one_revision), now);

  EXPECT_EQ(take(id)->size(), 20u);
  EXPECT_EQ(take(id)->size(), 1u);
}

TEST_F(FanOutTest, RefusesWatchersBeyondTheLimit) {
  fan_out.init(kBoth, 10, 10);
  for (int i = 0; i < 100; ++i) watch({kind("service")});

  EXPECT_EQ(fan_out.add({.kinds = {kind("service")}}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(fan_out.stats().refused, 1u);
}

TEST_F(FanOutTest, BeforeInitWatchersWaitAndAreCheckedAgainstWhatIsConfigured) {
  EXPECT_EQ(fan_out.add({.kinds = {kind("token")}}).status().code(),
            absl::StatusCode::kUnimplemented);
  const WatcherId id = watch({kind("service")});

  EXPECT_FALSE(take(id));
  EXPECT_EQ(fan_out.init(kBoth, 10, 10), std::vector{id});
  EXPECT_EQ(take(id)->front().type(), v1::EVENT_TYPE_INIT);
}

TEST_F(FanOutTest, AtInitAStrictWatcherWhoseKindIsMissingFails) {
  const WatcherId strict = watch({kind("service"), kind("agent")});
  const Result<WatcherId> partial =
      fan_out.add({.kinds = {kind("service"), kind("agent")}, .allow_partial_success = true});
  const WatcherId lost = watch({kind("agent")});
  ASSERT_TRUE(partial.ok());

  fan_out.init({kind("service")}, 10, 10);

  EXPECT_EQ(why_closed(strict).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(why_closed(lost).code(), absl::StatusCode::kUnimplemented);
  const auto init = take(*partial);
  ASSERT_TRUE(init);
  ASSERT_EQ(init->front().status().kinds_size(), 1);
  EXPECT_EQ(init->front().status().kinds(0).kind(), "service");
}

TEST_F(FanOutTest, ResetClosesEveryWatcherAndStartsAfresh) {
  fan_out.init(kBoth, 10, 10);
  const WatcherId id = watch({kind("service")});
  revisions(id);
  append(11);

  EXPECT_EQ(fan_out.reset(absl::UnavailableError("fan-out reset")), std::vector{id});

  EXPECT_EQ(why_closed(id).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(fan_out.watcher_count(), 0u);
  fan_out.init(kBoth, 50, 50);
  const WatcherId next = watch({kind("service")});
  append(51);
  EXPECT_EQ(take(next)->front().revision(), 50);
  EXPECT_EQ(revisions(next), std::vector<int64_t>{51});
}

}  // namespace
}  // namespace holdfast::events
