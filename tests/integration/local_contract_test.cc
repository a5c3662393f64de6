// The store contract on the stores of this process: memory and SQLite, the latter also with so
// little recent history in memory that watches read from the file.
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "store/store_contract.h"
#include "support/temp_dir.h"

namespace holdfast::store {
namespace {

// Time stands still until a test lets it pass.
class LocalHarness : public StoreHarness {
 public:
  asio::io_context& io() override { return io_; }
  Store& store() override { return *store_; }
  Limits limits() const override { return {}; }
  Revision origin() const override { return kFirstRevision; }
  WallTime now() const override { return clock_.wall_now(); }
  std::chrono::milliseconds short_life() const override { return std::chrono::seconds(5); }
  void pass(WallTime when) override {
    clock_.advance(when - now());
    const Result<size_t> expired = run(io_, store_->expire(now(), 100));
    HF_CHECK(expired.ok(), expired.status().ToString());
  }

 protected:
  asio::io_context io_;
  ManualClock clock_;
  std::unique_ptr<Store> store_;
};

class MemoryHarness final : public LocalHarness {
 public:
  MemoryHarness() {
    store_ = std::make_unique<MemoryStore>(io_.get_executor(), MemoryStoreOptions{});
  }
};

class SqliteHarness final : public LocalHarness {
 public:
  explicit SqliteHarness(ChangeLogOptions recent_history) {
    auto opened = SqliteStore::open(
        io_.get_executor(), {.path = dir_.file("store.db"), .recent_history = recent_history});
    HF_CHECK(opened.ok(), opened.status().ToString());
    store_ = *std::move(opened);
  }
  ~SqliteHarness() override { store_.reset(); }

 private:
  test::TempDir dir_;
};

std::unique_ptr<StoreHarness> memory() {
  return std::make_unique<MemoryHarness>();
}
std::unique_ptr<StoreHarness> sqlite() {
  return std::make_unique<SqliteHarness>(ChangeLogOptions{});
}
std::unique_ptr<StoreHarness> sqlite_with_little_memory() {
  return std::make_unique<SqliteHarness>(ChangeLogOptions{.max_changes = 2});
}

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(memory));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, testing::Values(sqlite));
INSTANTIATE_TEST_SUITE_P(SqliteFromFile, StoreContract, testing::Values(sqlite_with_little_memory));

}  // namespace
}  // namespace holdfast::store
