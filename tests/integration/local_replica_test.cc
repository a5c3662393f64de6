// The replica contract on the stores of this process: memory and SQLite, the latter also with so
// little recent history in memory that entries are read from the file.
#include <map>

#include "store/memory_store.h"
#include "store/replica_contract.h"
#include "store/sqlite_store.h"
#include "support/temp_dir.h"

namespace holdfast::store {
namespace {

class MemoryReplicas final : public ReplicaHarness {
 public:
  asio::io_context& io() override { return io_; }
  ReplicaUnderTest make() override {
    made_ += 1;
    auto store = std::make_unique<MemoryStore>(
        io_.get_executor(),
        MemoryStoreOptions{.store_id = std::string(31, 'e') + std::to_string(made_)});
    Replica* replica = store.get();
    return {.store = std::move(store), .replica = replica};
  }
  void reopen(ReplicaUnderTest&) override {}

 private:
  asio::io_context io_;
  int made_ = 0;
};

class SqliteReplicas final : public ReplicaHarness {
 public:
  explicit SqliteReplicas(ChangeLogOptions recent_history) : recent_history_(recent_history) {}
  asio::io_context& io() override { return io_; }
  ReplicaUnderTest make() override {
    paths_.push_back(dir_.file("store" + std::to_string(paths_.size())));
    return open(paths_.back());
  }
  void reopen(ReplicaUnderTest& store) override {
    const std::string path = path_of_[store.replica];
    store = {};
    store = open(path);
  }

 private:
  ReplicaUnderTest open(const std::string& path) {
    auto opened =
        SqliteStore::open(io_.get_executor(), {.path = path, .recent_history = recent_history_});
    HF_CHECK(opened.ok(), opened.status().ToString());
    Replica* replica = opened->get();
    path_of_[replica] = path;
    return {.store = *std::move(opened), .replica = replica};
  }

  ChangeLogOptions recent_history_;
  test::TempDir dir_;
  asio::io_context io_;
  std::vector<std::string> paths_;
  std::map<const Replica*, std::string> path_of_;
};

std::unique_ptr<ReplicaHarness> memory_replicas() {
  return std::make_unique<MemoryReplicas>();
}
std::unique_ptr<ReplicaHarness> sqlite_replicas() {
  return std::make_unique<SqliteReplicas>(ChangeLogOptions{});
}
std::unique_ptr<ReplicaHarness> sqlite_replicas_with_little_memory() {
  return std::make_unique<SqliteReplicas>(ChangeLogOptions{.max_changes = 2});
}

INSTANTIATE_TEST_SUITE_P(Memory, ReplicaContract, testing::Values(memory_replicas));
INSTANTIATE_TEST_SUITE_P(Sqlite, ReplicaContract, testing::Values(sqlite_replicas));
INSTANTIATE_TEST_SUITE_P(SqliteFromFile, ReplicaContract,
                         testing::Values(sqlite_replicas_with_little_memory));

}  // namespace
}  // namespace holdfast::store
