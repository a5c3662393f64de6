// The store contract on the stores of this process: memory and SQLite, the latter also with so
// little recent history in memory that watches read from the file, and as one half of a pair.
#include "store/memory_store.h"
#include "store/replicated_store.h"
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

// A half whose peer has everything at once.
class InstantAdmission final : public Admission {
 public:
  Status may_write() const override { return absl::OkStatus(); }
  Status may_read() const override { return absl::OkStatus(); }
  uint64_t activation() const override { return 1; }
  Revision acknowledged_through() const override { return std::numeric_limits<Revision>::max(); }
  asio::awaitable<Status> acknowledged(Revision) override { co_return absl::OkStatus(); }
};

class ReplicatedHarness final : public LocalHarness {
 public:
  ReplicatedHarness() {
    auto opened = SqliteStore::open(io_.get_executor(), {.path = dir_.file("store.db")});
    HF_CHECK(opened.ok(), opened.status().ToString());
    inner_ = *std::move(opened);
    const Status begun = run(io_, inner_->begin_tenure(1));
    HF_CHECK(begun.ok(), begun.ToString());
    store_ = std::make_unique<ReplicatedStore>(*inner_, admission_);
  }
  ~ReplicatedHarness() override { store_.reset(); }

 private:
  test::TempDir dir_;
  InstantAdmission admission_;
  std::unique_ptr<SqliteStore> inner_;
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

std::unique_ptr<StoreHarness> replicated() {
  return std::make_unique<ReplicatedHarness>();
}

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(memory));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, testing::Values(sqlite));
INSTANTIATE_TEST_SUITE_P(SqliteFromFile, StoreContract, testing::Values(sqlite_with_little_memory));

INSTANTIATE_TEST_SUITE_P(Replicated, StoreContract, testing::Values(replicated));

}  // namespace
}  // namespace holdfast::store
