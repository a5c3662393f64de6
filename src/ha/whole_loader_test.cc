#include "ha/whole_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "base/private_file.h"
#include "ha/quarantine_loader.h"
#include "ha/quarantine_service.h"
#include "store/sqlite_store.h"
#include "store/store_contract_fixture.h"
#include "support/temp_dir.h"

namespace holdfast::ha {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class WholeStores : public testing::Test {
 protected:
  template <typename T>
  T run(asio::awaitable<T> work) {
    return store::run(io_, std::move(work));
  }
  std::unique_ptr<store::SqliteStore> open(const std::string& path) {
    return *store::SqliteStore::open(io_.get_executor(), {.path = path});
  }
  void commit(const std::string& key) {
    std::vector<store::Operation> operations;
    operations.push_back(store::put(key, "1"));
    ASSERT_TRUE(run(mine_->commit(std::move(operations))).ok());
  }
  // As if the copy of another history, whose epoch is 8, were about to take its place.
  Status keep(WallTime now = WallTime(), store::Epoch acknowledged_through = 1) {
    store::ReplicaFacts winner;
    if (fork_ > 0) winner.tenures = mine_->facts().tenures;
    winner.head = {.epoch = 8, .revision = fork_ + 2};
    winner.tenures.push_back({8, fork_ + 1});
    return run(keep_lost(*mine_, winner,
                         {.folder = folder_, .acknowledged_through = acknowledged_through}, now,
                         worker_));
  }

  // What was written until now is the winner's too.
  void share_history() { fork_ = mine_->facts().head.revision; }

  asio::io_context io_;
  asio::thread_pool worker_{1};
  store::Revision fork_ = 0;
  test::TempDir temp_;
  std::string folder_ = temp_.file("divergence");
  std::unique_ptr<store::SqliteStore> mine_ = open(temp_.file("store.db"));
};

// Also what its history has forgotten: no file of changes could have it.
TEST_F(WholeStores, AStoreThatLostIsKeptWhole) {
  ASSERT_TRUE(run(mine_->begin_tenure(1)).ok());
  commit("old");
  commit("new");
  ASSERT_TRUE(run(mine_->compact(mine_->facts().head.revision)).ok());
  ASSERT_TRUE(keep().ok());

  const std::string name = find_whole_store(folder_, mine_->facts().head);
  ASSERT_FALSE(name.empty());
  const auto kept = open(folder_ + "/" + name);
  EXPECT_TRUE(run(kept->get("old")).ok());
  EXPECT_TRUE(run(kept->get("new")).ok());
  EXPECT_EQ(kept->facts().head, mine_->facts().head);
  EXPECT_EQ(quarantine_files(folder_).size(), 1U) << "beside what its history has";
}

TEST_F(WholeStores, ACopyThatIsBegunAgainKeepsItOnce) {
  ASSERT_TRUE(run(mine_->begin_tenure(1)).ok());
  commit("one");
  ASSERT_TRUE(keep().ok());
  ASSERT_TRUE(keep(WallTime(std::chrono::seconds(5))).ok());
  EXPECT_EQ(whole_stores(folder_).size(), 1U);
}

TEST_F(WholeStores, TheOldestGoesWhenThereAreTooMany) {
  ASSERT_TRUE(run(mine_->begin_tenure(1)).ok());
  commit("shared");
  share_history();
  for (int i = 0; i < 4; ++i) {
    commit("key" + std::to_string(i));
    ASSERT_TRUE(keep(WallTime(std::chrono::seconds(i))).ok());
  }
  const std::vector<std::string> left = whole_stores(folder_);
  ASSERT_EQ(left.size(), kMaxWholeStores);
  EXPECT_EQ(left.back(), find_whole_store(folder_, mine_->facts().head));
  EXPECT_THAT(left.front(), HasSubstr("19700101T000001"));
}

// The first of them has what its file lacks, and nobody has decided.
TEST_F(WholeStores, WhatIsNowhereElseIsNotRemovedForOthers) {
  ASSERT_TRUE(run(mine_->begin_tenure(1)).ok());
  commit("forgotten");
  commit("known");
  ASSERT_TRUE(run(mine_->compact(mine_->facts().head.revision - 1)).ok());
  ASSERT_TRUE(keep().ok());
  const std::string first = find_whole_store(folder_, mine_->facts().head);
  ASSERT_FALSE(first.empty());
  const std::string file = quarantine_files(folder_).front();
  ASSERT_GT(load_quarantine_header(folder_, file)->left_out, 0U);

  share_history();
  for (int i = 0; i < 6; ++i) {
    commit("key" + std::to_string(i));
    ASSERT_TRUE(keep(WallTime(std::chrono::seconds(10 + i))).ok());
  }

  EXPECT_THAT(whole_stores(folder_), Contains(first));
  EXPECT_EQ(whole_stores(folder_).size(), 1 + kMaxWholeStores);
  ASSERT_TRUE(discard_quarantine(folder_, file).ok());
  commit("last");
  ASSERT_TRUE(keep(WallTime(std::chrono::seconds(20))).ok());
  EXPECT_THAT(whole_stores(folder_), Not(Contains(first))) << "somebody has decided";
}

TEST_F(WholeStores, WhileAFileIsDamagedNoneIsRemoved) {
  ASSERT_TRUE(run(mine_->begin_tenure(1)).ok());
  ASSERT_TRUE(make_private_folder(folder_).ok());
  ASSERT_TRUE(write_private_file(folder_ + "/19700101T000000-1.jsonl", "{").ok());
  for (int i = 0; i < 5; ++i) {
    commit("key" + std::to_string(i));
    ASSERT_TRUE(keep(WallTime(std::chrono::seconds(i))).ok());
  }
  EXPECT_EQ(whole_stores(folder_).size(), 5U);
}

TEST_F(WholeStores, WithTooManyThatAreNeededNoCopyIsTaken) {
  ASSERT_TRUE(run(mine_->begin_tenure(1)).ok());
  for (size_t i = 0; i < kMaxNeededStores; ++i) {
    commit("key" + std::to_string(i));
    ASSERT_TRUE(run(mine_->compact(mine_->facts().head.revision)).ok());
    ASSERT_TRUE(keep(WallTime(std::chrono::seconds(i))).ok());
  }
  const std::string oldest = quarantine_files(folder_).front();
  commit("more");
  ASSERT_TRUE(run(mine_->compact(mine_->facts().head.revision)).ok());

  const Status kept = keep(WallTime(std::chrono::seconds(30)));

  EXPECT_THAT(std::string(kept.message()),
              AllOf(HasSubstr("HF4119"), HasSubstr("8 whole stores wait for a decision")));
  EXPECT_EQ(whole_stores(folder_).size(), kMaxNeededStores);
  EXPECT_EQ(quarantine_files(folder_).size(), kMaxNeededStores);
  discard_whole_store(folder_, load_quarantine_header(folder_, oldest)->head);
  ASSERT_TRUE(discard_quarantine(folder_, oldest).ok());
  EXPECT_TRUE(keep(WallTime(std::chrono::seconds(31))).ok());
}

// As every crash of an active half under writes leaves it.
TEST_F(WholeStores, OfAFewChangesThatNobodyWasToldOfThereIsTheFileAlone) {
  ASSERT_TRUE(run(mine_->begin_tenure(1)).ok());
  commit("shared");
  share_history();
  commit("one");
  ASSERT_TRUE(keep(WallTime(), 0).ok());
  EXPECT_TRUE(whole_stores(folder_).empty());
  ASSERT_EQ(quarantine_files(folder_).size(), 1U);
  EXPECT_EQ(load_quarantine_header(folder_, quarantine_files(folder_).front())->left_out, 0U);
}

TEST_F(WholeStores, WhatACrashLeftHalfMadeIsRemoved) {
  ASSERT_TRUE(run(mine_->begin_tenure(1)).ok());
  commit("one");
  const std::string unfinished = folder_ + "/19700101T000000-1-1-0.sqlite.part";
  ASSERT_TRUE(make_private_folder(folder_).ok());
  ASSERT_TRUE(write_private_file(unfinished, "half").ok());
  ASSERT_TRUE(keep().ok());
  EXPECT_FALSE(std::filesystem::exists(unfinished));
  EXPECT_EQ(whole_stores(folder_).size(), 1U);
}

TEST_F(WholeStores, WhatCannotBeSetAsideIsNotReplaced) {
  ASSERT_TRUE(run(mine_->begin_tenure(1)).ok());
  commit("one");
  ASSERT_TRUE(write_private_file(folder_, "a file where the folder should be").ok());
  const Status kept = keep();
  EXPECT_THAT(std::string(kept.message()), HasSubstr("HF4119"));
}

TEST_F(WholeStores, AHistoryThatGoesOnIsNotSetAside) {
  ASSERT_TRUE(run(mine_->begin_tenure(8)).ok());
  EXPECT_TRUE(keep().ok());
  EXPECT_TRUE(whole_stores(folder_).empty());
}

TEST_F(WholeStores, IsDiscardedByWhereItsHistoryEnded) {
  ASSERT_TRUE(run(mine_->begin_tenure(1)).ok());
  commit("one");
  ASSERT_TRUE(keep().ok());
  discard_whole_store(folder_, {.epoch = 1, .revision = 99});
  ASSERT_EQ(whole_stores(folder_).size(), 1U);
  discard_whole_store(folder_, mine_->facts().head);
  EXPECT_TRUE(whole_stores(folder_).empty());
}

}  // namespace
}  // namespace holdfast::ha
