#include "api/follow_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>

#include "api/faulty_store_fixture.h"
#include "base/rng.h"
#include "net/task_group.h"
#include "store/memory_store.h"
#include "store/store_contract_fixture.h"

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;
using store::erase;
using store::put;
using testing::ElementsAre;

class Follow : public testing::Test {
 protected:
  // What a listener knows: the keys and values, kept as a follower would.
  FollowService make(FollowOptions options = {}) {
    options.backoff = {.first = 1ms, .cap = 2ms};
    return FollowService(store_, "/agent/",
                         {.on_reset =
                              [this](std::vector<store::Item> items, store::Revision revision) {
                                resets_ += 1;
                                reset_revision_ = revision;
                                known_.clear();
                                for (const store::Item& item : items) known_[item.key] = item.value;
                              },
                          .on_change =
                              [this](const store::Change& change) {
                                changes_.push_back(change);
                                if (change.type == store::Change::Type::Put) {
                                  known_[change.item.key] = change.item.value;
                                } else {
                                  known_.erase(change.item.key);
                                }
                              },
                          .on_lost = [this](const Status& why) { lost_.push_back(why.code()); }},
                         options);
  }
  void commit(store::Operation operation) {
    std::vector<store::Operation> operations;
    operations.push_back(std::move(operation));
    const auto done = [](std::exception_ptr, Result<store::Revision> revision) {
      HF_CHECK(revision.ok(), revision.status().ToString());
    };
    asio::co_spawn(io_, memory_.commit(std::move(operations)), done);
  }
  // Everything that can happen without time passing, and 20 ms of what needs it.
  void settle() {
    io_.restart();
    io_.run_for(20ms);
    // A machine that stood still for longer has run nothing of it.
    io_.restart();
    io_.poll();
  }
  bool until(const std::function<bool()>& condition) {
    for (const auto end = std::chrono::steady_clock::now() + 30s; !condition();) {
      if (std::chrono::steady_clock::now() > end) return false;
      settle();
    }
    return true;
  }
  void finish(FollowService& following) {
    following.stop();
    asio::co_spawn(io_, tasks_.join(), [](const std::exception_ptr&) {});
    io_.restart();
    io_.run_for(5s);
    EXPECT_EQ(tasks_.size(), 0u);
  }

  asio::io_context io_;
  store::MemoryStore memory_{io_.get_executor(), {.limits = {}, .history = {.max_changes = 8}}};
  FaultyStore store_{memory_};
  net::TaskGroup tasks_{io_.get_executor()};
  std::map<std::string, std::string> known_;
  std::vector<store::Change> changes_;
  std::vector<absl::StatusCode> lost_;
  int resets_ = 0;
  store::Revision reset_revision_ = 0;
};

TEST_F(Follow, GivesAllThereIsAndThenEachChange) {
  commit(put("/agent/a", "1"));
  commit(put("/proxy/p", "1"));
  settle();
  FollowService following = make();
  tasks_.spawn(following.run());
  settle();
  EXPECT_EQ(resets_, 1);
  EXPECT_THAT(known_, ElementsAre(testing::Pair("/agent/a", "1")));

  commit(put("/agent/b", "2"));
  commit(put("/proxy/p", "2"));
  commit(erase("/agent/a"));
  settle();

  EXPECT_THAT(store::texts(changes_, reset_revision_),
              ElementsAre("put /agent/b=2@1", "delete /agent/a@3"));
  EXPECT_TRUE(following.in_step());
  finish(following);
}

TEST_F(Follow, ReadsInPagesAndShowsNothingTwice) {
  for (const char* key : {"/agent/a", "/agent/b", "/agent/c", "/agent/d"}) commit(put(key, "old"));
  settle();
  // Between the first page and the second: one change behind the reader, one ahead of it.
  store_.after_range = [this] {
    if (store_.ranges != 1) return;
    commit(put("/agent/a", "new"));
    commit(put("/agent/d", "new"));
    commit(erase("/agent/c"));
  };
  FollowService following = make({.page_items = 2});
  tasks_.spawn(following.run());
  settle();

  EXPECT_EQ(resets_, 1);
  EXPECT_THAT(known_,
              ElementsAre(testing::Pair("/agent/a", "new"), testing::Pair("/agent/b", "old"),
                          testing::Pair("/agent/d", "new")));
  for (const store::Change& change : changes_) {
    EXPECT_NE(change.item.key, "/agent/d") << "its newest version was in the second page";
  }
  finish(following);
}

TEST_F(Follow, StartsAgainWithEverythingWhenItsHistoryIsGone) {
  FollowService following = make();
  tasks_.spawn(following.run());
  settle();
  // More than the store keeps, before the follower gets to run.
  for (int i = 0; i < 40; ++i) commit(put("/agent/" + std::to_string(i), "x"));

  EXPECT_TRUE(until([&] { return resets_ == 2; }));
  EXPECT_THAT(lost_, ElementsAre(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(known_.size(), 40u);
  finish(following);
}

TEST_F(Follow, TriesAgainUntilTheStoreAnswers) {
  commit(put("/agent/a", "1"));
  settle();
  store_.failing_ranges = 3;
  FollowService following = make();
  tasks_.spawn(following.run());

  EXPECT_TRUE(until([&] { return resets_ == 1; }));
  EXPECT_EQ(lost_.size(), 3u);
  EXPECT_EQ(known_.size(), 1u);
  finish(following);
}

TEST_F(Follow, LosesNothingOverRandomWritesAndCompactions) {
  Rng rng(7);
  FollowService following = make({.page_items = 3});
  tasks_.spawn(following.run());
  for (int round = 0; round < 200; ++round) {
    const uint64_t writes = rng.below(uint64_t{12});
    for (uint64_t i = 0; i < writes; ++i) {
      const std::string key = "/agent/" + std::to_string(rng.below(uint64_t{10}));
      if (rng.below(uint64_t{3}) == 0) {
        commit(erase(key));
      } else {
        commit(put(key, std::to_string(round)));
      }
    }
    io_.restart();
    for (uint64_t steps = rng.below(uint64_t{40}); steps > 0; --steps) io_.poll_one();
  }
  settle();

  const auto all = store::run(io_, memory_.range({store::prefix_range("/agent/")}));
  std::map<std::string, std::string> truth;
  for (const store::Item& item : all->items) truth[item.key] = item.value;
  EXPECT_EQ(known_, truth);
  EXPECT_GT(resets_, 1) << "the history was outrun at least once";
  finish(following);
}

}  // namespace
}  // namespace holdfast::api
