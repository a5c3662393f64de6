#include "store/memory_store.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "store/change_log.h"

namespace holdfast::store {
namespace {}  // namespace

MemoryStore::MemoryStore(const asio::any_io_executor& executor, MemoryStoreOptions options)
    : options_(options),
      history_(options.history, 0, kFirstRevision),
      lineage_({.store_id = std::move(options.store_id), .tenures = {}, .note = {}}),
      changed_(executor) {}

asio::awaitable<Result<Item>> MemoryStore::get(std::string key) {
  const auto found = items_.find(key);
  if (found == items_.end()) {
    co_return absl::NotFoundError(fmt::format("key {} does not exist", in_quotes(key, 256)));
  }
  co_return found->second;
}

asio::awaitable<Result<RangeResult>> MemoryStore::range(RangeRequest request) {
  RangeResult result;
  result.revision = history_.last();
  for (auto it = items_.lower_bound(request.range.begin);
       it != items_.end() && request.range.contains(it->first); ++it) {
    if (request.limit > 0 && result.items.size() == request.limit) {
      result.more = true;
      break;
    }
    result.items.push_back(it->second);
  }
  co_return result;
}

asio::awaitable<Result<Revision>> MemoryStore::commit(std::vector<Operation> operations) {
  CO_TRY_OK(validate(operations, options_.limits));
  co_return apply(std::move(operations));
}

Result<Revision> MemoryStore::apply(std::vector<Operation> operations) {
  const KeyLookup lookup = [&](const std::string& key) -> Result<std::optional<KeyState>> {
    const auto found = items_.find(key);
    if (found == items_.end()) return std::optional<KeyState>();
    return KeyState{found->second.revision, found->second.created_revision};
  };
  TRY_OK(lineage_.may_commit());
  TRY(std::vector<Change> changes, plan(std::move(operations), history_.last() + 1, lookup));
  if (changes.empty()) return history_.last();
  const Head head = lineage_.next(changes);
  apply_changes(std::move(changes), head);
  lineage_.commit(head);
  lineage_.forget(history_.floor());  // it forgets by itself when it is full
  tell_changed();
  return history_.last();
}

void MemoryStore::tell_changed() {
  changed_.notify_all();
  if (on_written_) on_written_();
}

void MemoryStore::apply_changes(std::vector<Change> changes, const Head& head) {
  for (const Change& change : changes) {
    if (change.type == Change::Type::Put) items_[change.item.key] = change.item;
    if (change.type == Change::Type::Delete) items_.erase(change.item.key);
  }
  history_.append(std::move(changes), head);
}

asio::awaitable<Result<std::unique_ptr<Watch>>> MemoryStore::watch(KeyRange range, Revision after) {
  ChangeSource& source = *this;
  auto watch = std::make_unique<LocalWatch>(source, std::move(range), after);
  CO_TRY_OK(co_await watch->check());
  co_return watch;
}

asio::awaitable<Result<size_t>> MemoryStore::expire(WallTime now, size_t limit) {
  std::vector<Operation> operations;
  for (const auto& [key, item] : items_) {
    if (operations.size() == std::min(limit, options_.limits.max_operations)) break;
    if (!item.expires || *item.expires > now) continue;
    operations.push_back({.type = Operation::Type::Delete, .key = key, .value = {}, .expires = {}});
  }
  const size_t count = operations.size();
  if (count > 0) CO_TRY_OK(apply(std::move(operations)).status());
  co_return count;
}

asio::awaitable<Status> MemoryStore::compact(Revision through) {
  history_.compact(through);
  lineage_.forget(through);
  tell_changed();
  co_return absl::OkStatus();
}

asio::awaitable<Result<ChangeSlice>> MemoryStore::read_changes(const KeyRange& range,
                                                               Revision after) {
  co_return history_.read(range, after, kChangesAtOnce);
}

}  // namespace holdfast::store
