// The store contract: watches, their order, their range, and what compaction does to them.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include "store/store_contract_fixture.h"

namespace holdfast::store {

TEST_P(StoreContract, AWatchFromTheBeginningSeesEverything) {
  commit({put("a", "1")});
  commit({put("b", "2")});
  commit({erase("a")});

  const auto watch = open_watch(KeyRange{}, origin());

  EXPECT_THAT(collect_texts(*watch, 3),
              testing::ElementsAre("put a=1@1", "put b=2@2", "delete a@3"));
}

TEST_P(StoreContract, AWatchFromNowSeesOnlyWhatFollows) {
  commit({put("a", "1")});
  const auto watch = open_watch(KeyRange{}, range(KeyRange{})->revision);

  commit({put("a", "2")});

  EXPECT_THAT(collect_texts(*watch, 1), testing::ElementsAre("put a=2@2"));
}

TEST_P(StoreContract, AWatchFromTheMiddleSeesTheRest) {
  commit({put("a", "1")});
  const Revision middle = commit({put("a", "2")});
  commit({put("a", "3")});
  const auto watch = open_watch(KeyRange{}, middle);

  commit({put("a", "4")});

  EXPECT_THAT(collect_texts(*watch, 2), testing::ElementsAre("put a=3@3", "put a=4@4"));
}

// Commits after the watcher has begun to wait.
inline asio::awaitable<Status> put_soon(asio::io_context& io, Store& store, Operation operation) {
  asio::steady_timer timer(io, std::chrono::milliseconds(50));
  co_await timer.async_wait(asio::use_awaitable);
  std::vector<Operation> operations(1, std::move(operation));
  co_return (co_await store.commit(std::move(operations))).status();
}

TEST_P(StoreContract, AWatchWaitsForTheNextChange) {
  const auto watch = open_watch(KeyRange{}, origin());
  Status written = absl::UnknownError("not yet");
  asio::co_spawn(harness_->io(), put_soon(harness_->io(), store(), put("a", "1")),
                 [&written](std::exception_ptr, Status status) { written = status; });

  const auto seen = collect_texts(*watch, 1);
  while (written == absl::UnknownError("not yet")) harness_->io().run_one();

  EXPECT_THAT(seen, testing::ElementsAre("put a=1@1"));
  EXPECT_TRUE(written.ok()) << written;
}

TEST_P(StoreContract, AWatchSeesOnlyItsRange) {
  const auto watch = open_watch({.begin = "b", .end = "d"}, origin());

  commit({put("a", "1"), put("b", "1")});
  commit({put("d", "2")});
  commit({put("c", "3"), erase("a")});
  commit({erase("b")});

  EXPECT_THAT(collect_texts(*watch, 3),
              testing::ElementsAre("put b=1@1", "put c=3@3", "delete b@4"));
}

TEST_P(StoreContract, AWatchHasReachedWhatItHandedOutAndNoMore) {
  const auto watch = open_watch(KeyRange{}, origin());
  const Revision first = commit({put("a", "1")});
  EXPECT_EQ(watch->reached(), origin());

  collect(*watch, 1);
  const Revision after_first = watch->reached();
  const Revision second = commit({put("a", "2")});

  EXPECT_EQ(after_first, first);
  EXPECT_EQ(watch->reached(), first);
  collect(*watch, 1);
  EXPECT_EQ(watch->reached(), second);
}

TEST_P(StoreContract, AWaitingWatchMovesOnWithTheStore) {
  const auto watch = open_watch({.begin = "b", .end = "d"}, origin());
  std::optional<Result<std::vector<Change>>> seen;
  asio::co_spawn(harness_->io(), watch->next(),
                 [&seen](std::exception_ptr, auto changes) { seen = std::move(changes); });

  const Revision outside = commit({put("a", "1")});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  harness_->io().restart();
  while (watch->reached() < outside && harness_->io().run_one_until(deadline) > 0) continue;

  EXPECT_EQ(watch->reached(), outside);
  EXPECT_FALSE(seen);
  // What it has reached can be forgotten, and it goes on.
  EXPECT_TRUE(run(store().compact(outside)).ok());
  commit({put("b", "2")});
  while (!seen) harness_->io().run_one();
  ASSERT_TRUE(seen->ok()) << seen->status();
  EXPECT_THAT(texts(**seen, origin()), testing::ElementsAre("put b=2@2"));
}

TEST_P(StoreContract, AWatchHandsOutWholeRevisions) {
  constexpr size_t kCommits = 6;
  const size_t per_commit = harness_->limits().max_operations;
  const auto watch = open_watch(KeyRange{}, origin());
  for (size_t i = 0; i < kCommits; ++i) {
    std::vector<Operation> operations;
    for (size_t j = 0; j < per_commit; ++j) {
      operations.push_back(put("k" + std::to_string(j), std::string(5000, 'v')));
    }
    commit(std::move(operations));
  }

  size_t seen = 0;
  for (Revision last = origin(); seen < kCommits * per_commit;) {
    const auto batch = run(watch->next());
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(batch->size() % per_commit, 0u) << "a revision was split";
    EXPECT_EQ(batch->front().item.revision, last + 1);
    last = batch->back().item.revision;
    seen += batch->size();
  }
  EXPECT_EQ(seen, kCommits * per_commit);
}

TEST_P(StoreContract, FailedAndEmptyCommitsAreNotSeen) {
  const auto watch = open_watch(KeyRange{}, origin());

  EXPECT_FALSE(try_commit({put("a", "0", Precondition::Present)}).ok());
  commit({erase("nothing")});
  commit({check("nothing", Precondition::Absent)});
  commit({put("a", "1"), erase("nothing")});

  EXPECT_THAT(collect_texts(*watch, 1), testing::ElementsAre("put a=1@1"));
}

TEST_P(StoreContract, AWatchResumesWhereItLeftOff) {
  auto watch = open_watch(KeyRange{}, origin());
  commit({put("a", "1")});
  const auto first = collect(*watch, 1);
  watch->close();
  EXPECT_EQ(run(watch->next()).status().code(), absl::StatusCode::kCancelled);
  watch.reset();
  commit({put("a", "2")});
  commit({put("a", "3")});

  watch = open_watch(KeyRange{}, first.back().item.revision);

  EXPECT_THAT(collect_texts(*watch, 2), testing::ElementsAre("put a=2@2", "put a=3@3"));
}

TEST_P(StoreContract, SeveralWatchersSeeTheSame) {
  constexpr size_t kChanges = 20;
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 5; ++i) watches.push_back(open_watch(KeyRange{}, origin()));

  for (size_t i = 0; i < kChanges; ++i) commit({put("a", std::to_string(i))});

  const auto expected = collect_texts(*watches[0], kChanges);
  ASSERT_EQ(expected.size(), kChanges);
  for (size_t i = 1; i < watches.size(); ++i) {
    EXPECT_EQ(collect_texts(*watches[i], kChanges), expected);
  }
}

TEST_P(StoreContract, ADeletedKeyIsSeenWithKeyAndRevisionOnly) {
  commit({put("a", "1")});
  const Revision deleted = commit({erase("a")});
  const auto watch = open_watch(KeyRange{}, deleted - 1);

  const auto seen = collect(*watch, 1);

  Change expected;
  expected.type = Change::Type::Delete;
  expected.item.key = "a";
  expected.item.revision = deleted;
  EXPECT_THAT(seen, testing::ElementsAre(expected));
}

TEST_P(StoreContract, WatchingFromCompactedHistoryIsOutOfRange) {
  const Revision first = commit({put("a", "1")});
  const Revision second = commit({put("a", "2")});
  commit({put("a", "3")});

  EXPECT_TRUE(run(store().compact(second)).ok());

  EXPECT_EQ(try_watch(KeyRange{}, origin()).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(try_watch(KeyRange{}, first).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(get("a")->value, "3");
}

TEST_P(StoreContract, ALaggingWatchFindsItsHistoryCompacted) {
  const auto watch = open_watch(KeyRange{}, origin());
  commit({put("a", "1")});
  commit({put("a", "2")});
  const Revision third = commit({put("a", "3")});

  EXPECT_TRUE(run(store().compact(third)).ok());

  EXPECT_EQ(run(watch->next()).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_P(StoreContract, WhatIsNotCompactedCanBeWatched) {
  commit({put("a", "1")});
  const Revision second = commit({erase("a")});
  EXPECT_TRUE(run(store().compact(second)).ok());
  EXPECT_TRUE(run(store().compact(second)).ok()) << "twice is as good as once";
  commit({put("a", "3")});

  const auto watch = open_watch(KeyRange{}, second);

  EXPECT_THAT(collect_texts(*watch, 1), testing::ElementsAre("put a=3@3"));
}

TEST_P(StoreContract, WatchingTheFutureIsOutOfRange) {
  const Revision now = commit({put("a", "1")});

  EXPECT_EQ(try_watch(KeyRange{}, now + 1).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(try_watch(KeyRange{}, now).ok());
}

TEST_P(StoreContract, ClosingAWatchEndsItsNext) {
  const auto watch = open_watch(KeyRange{}, origin());
  std::optional<Status> ended;
  asio::co_spawn(harness_->io(), watch->next(),
                 [&ended](std::exception_ptr, Result<std::vector<Change>> changes) {
                   ended = changes.status();
                 });
  commit({check("nothing", Precondition::Absent)});
  EXPECT_EQ(ended, std::nullopt);

  close_soon(*watch);
  while (!ended) harness_->io().run_one();

  EXPECT_EQ(ended->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(run(watch->next()).status().code(), absl::StatusCode::kCancelled);
}

// Also while it is being opened: the commit ends before, with or after what the watch asks first.
TEST_P(StoreContract, ClosingAWatchAtAnyTimeEndsItsNext) {
  for (int round = 0; round < 100; ++round) {
    const auto watch = open_watch(KeyRange{}, origin());
    std::optional<Status> ended;
    asio::co_spawn(harness_->io(), watch->next(),
                   [&ended](std::exception_ptr, Result<std::vector<Change>> changes) {
                     ended = changes.status();
                   });
    commit({check("nothing", Precondition::Absent)});

    close_soon(*watch);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!ended && std::chrono::steady_clock::now() < deadline) {
      harness_->io().run_one_for(std::chrono::milliseconds(20));
    }

    ASSERT_TRUE(ended) << "in round " << round;
    EXPECT_EQ(ended->code(), absl::StatusCode::kCancelled);
  }
}

}  // namespace holdfast::store
