// A store in memory: the contract without a disk, for tests, caches and simulations.
#pragma once

#include <functional>
#include <map>

#include "store/change_log.h"
#include "store/lineage.h"
#include "store/local_watch.h"
#include "store/plan.h"
#include "store/replica.h"
#include "store/store.h"

namespace holdfast::store {

struct MemoryStoreOptions {
  Limits limits;
  ChangeLogOptions history;
  std::string store_id = std::string(32, '0');  // who has two stores names them apart
};

class MemoryStore final : public Store, public Replica, private ChangeSource {
 public:
  MemoryStore(const asio::any_io_executor& executor, MemoryStoreOptions options);

  asio::awaitable<Result<Item>> get(std::string key) override;
  asio::awaitable<Result<RangeResult>> range(RangeRequest request) override;
  asio::awaitable<Result<Revision>> commit(std::vector<Operation> operations) override;
  asio::awaitable<Result<std::unique_ptr<Watch>>> watch(KeyRange range, Revision after) override;
  asio::awaitable<Result<size_t>> expire(WallTime now, size_t limit) override;
  asio::awaitable<Status> compact(Revision through) override;

  const ReplicaFacts& facts() const override { return lineage_.facts(); }
  Status disk() const override { return absl::OkStatus(); }
  void on_written(std::move_only_function<void()> listener) override {
    on_written_ = std::move(listener);
  }
  asio::awaitable<Status> begin_tenure(Epoch epoch) override;
  asio::awaitable<Status> promise(Epoch epoch) override;
  asio::awaitable<Status> keep_note(std::string note) override;
  asio::awaitable<Result<std::vector<Entry>>> entries(Revision after, size_t max_bytes) override;
  asio::awaitable<Result<Head>> append(Epoch promise, std::vector<Entry> entries) override;
  asio::awaitable<Result<ReplicaFacts>> begin_reading() override;
  asio::awaitable<Result<CopyPage>> read_page(size_t max_bytes) override;
  asio::awaitable<Status> end_reading() override;
  asio::awaitable<Status> begin_copy(ReplicaFacts of) override;
  asio::awaitable<Status> add_to_copy(CopyPage page) override;
  asio::awaitable<Result<Head>> finish_copy(Epoch promise) override;
  asio::awaitable<Status> back_up(std::string path) override;

 private:
  using Items = std::map<std::string, Item, std::less<>>;

  asio::awaitable<Result<ChangeSlice>> read_changes(const KeyRange& range, Revision after) override;
  Signal& changed() override { return changed_; }
  uint64_t generation() const override { return generation_; }
  Result<Revision> apply(std::vector<Operation> operations);
  void apply_changes(std::vector<Change> changes, const Head& head);
  void tell_changed();
  Result<CopyPage> next_page(size_t max_bytes);

  MemoryStoreOptions options_;
  Items items_;
  ChangeLog history_;
  Lineage lineage_;
  uint64_t generation_ = 0;
  std::move_only_function<void()> on_written_;
  std::optional<IncomingCopy> incoming_;
  Items incoming_items_;
  std::optional<std::vector<Item>> copy_;  // what is being read
  size_t copy_read_ = 0;
  Signal changed_;
};

}  // namespace holdfast::store
