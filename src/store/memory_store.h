// A store in memory: the contract without a disk, for tests, caches and simulations.
#pragma once

#include <map>

#include "store/change_log.h"
#include "store/local_watch.h"
#include "store/plan.h"
#include "store/store.h"

namespace holdfast::store {

struct MemoryStoreOptions {
  Limits limits;
  ChangeLogOptions history;
};

class MemoryStore final : public Store, private ChangeSource {
 public:
  MemoryStore(const asio::any_io_executor& executor, MemoryStoreOptions options);

  asio::awaitable<Result<Item>> get(std::string key) override;
  asio::awaitable<Result<RangeResult>> range(RangeRequest request) override;
  asio::awaitable<Result<Revision>> commit(std::vector<Operation> operations) override;
  asio::awaitable<Result<std::unique_ptr<Watch>>> watch(KeyRange range, Revision after) override;
  asio::awaitable<Result<size_t>> expire(WallTime now, size_t limit) override;
  asio::awaitable<Status> compact(Revision through) override;

 private:
  asio::awaitable<Result<ChangeSlice>> read_changes(const KeyRange& range, Revision after) override;
  Signal& changed() override { return changed_; }
  Result<Revision> apply(std::vector<Operation> operations);

  MemoryStoreOptions options_;
  std::map<std::string, Item, std::less<>> items_;
  ChangeLog history_;
  Signal changed_;
};

}  // namespace holdfast::store
