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

using testing::HasSubstr;

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
  Status keep(WallTime now = WallTime()) {
    store::ReplicaFacts winner;
    winner.head = {.epoch = 8, .revision = 2};
    winner.tenures.push_back({8, 1});
    return run(keep_lost(*mine_, winner, {.folder = folder_}, now));
  }

  asio::io_context io_;
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
  for (int i = 0; i < 4; ++i) {
    commit("key" + std::to_string(i));
    ASSERT_TRUE(keep(WallTime(std::chrono::seconds(i))).ok());
  }
  const std::vector<std::string> left = whole_stores(folder_);
  ASSERT_EQ(left.size(), kMaxWholeStores);
  EXPECT_EQ(left.back(), find_whole_store(folder_, mine_->facts().head));
  EXPECT_THAT(left.front(), HasSubstr("19700101T000001"));
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
