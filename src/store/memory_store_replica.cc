// What the store in memory offers to whoever keeps a copy of it (replica.h).
#include "store/memory_store.h"

namespace holdfast::store {

asio::awaitable<Status> MemoryStore::begin_tenure(Epoch epoch) {
  CO_TRY_OK(lineage_.may_begin(epoch));
  lineage_.begin(epoch);
  tell_changed();
  co_return absl::OkStatus();
}

asio::awaitable<Status> MemoryStore::promise(Epoch epoch) {
  CO_TRY_OK(lineage_.may_promise(epoch));
  lineage_.promise(epoch);
  co_return absl::OkStatus();
}

asio::awaitable<Status> MemoryStore::keep_note(std::string note) {
  CO_TRY_OK(check_note(note));
  lineage_.note(std::move(note));
  co_return absl::OkStatus();
}

asio::awaitable<Result<std::vector<Entry>>> MemoryStore::entries(Revision after, size_t max_bytes) {
  CO_TRY_OK(may_read_entries(lineage_.facts(), after));
  co_return history_.entries(after, max_bytes);
}

asio::awaitable<Result<Head>> MemoryStore::append(Epoch promise, std::vector<Entry> entries) {
  CO_TRY_OK(lineage_.may_append(promise, entries));
  lineage_.append(promise, entries);
  for (Entry& entry : entries) apply_changes(std::move(entry.changes), entry.head);
  lineage_.forget(history_.floor());
  tell_changed();
  co_return lineage_.head();
}

asio::awaitable<Result<ReplicaFacts>> MemoryStore::begin_reading() {
  copy_.emplace();
  copy_read_ = 0;
  for (const auto& [key, item] : items_) copy_->push_back(item);
  co_return lineage_.facts();
}

asio::awaitable<Result<CopyPage>> MemoryStore::read_page(size_t max_bytes) {
  co_return next_page(max_bytes);
}

Result<CopyPage> MemoryStore::next_page(size_t max_bytes) {
  if (!copy_) return absl::FailedPreconditionError("no copy is being read");
  CopyPage page{.before = copy_read_, .items = {}, .last = false};
  size_t bytes = 0;
  while (copy_read_ < copy_->size() && (page.items.empty() || bytes < max_bytes)) {
    page.items.push_back((*copy_)[copy_read_]);
    copy_read_ += 1;
    bytes += sizeof(Item) + page.items.back().key.size() + page.items.back().value.size();
  }
  page.last = copy_read_ == copy_->size();
  if (page.last) copy_.reset();
  return page;
}

asio::awaitable<Status> MemoryStore::end_reading() {
  copy_.reset();
  co_return absl::OkStatus();
}

asio::awaitable<Status> MemoryStore::begin_copy(ReplicaFacts of) {
  CO_TRY_OK(check_copy(of));
  incoming_.emplace(std::move(of));
  incoming_items_.clear();
  co_return absl::OkStatus();
}

asio::awaitable<Status> MemoryStore::add_to_copy(CopyPage page) {
  if (!incoming_) co_return absl::FailedPreconditionError("no copy was begun");
  const Status refused = incoming_->may_add(page);
  if (!refused.ok()) {
    incoming_.reset();
    co_return refused;
  }
  incoming_->add(page);
  for (Item& item : page.items) incoming_items_[item.key] = std::move(item);
  co_return absl::OkStatus();
}

asio::awaitable<Result<Head>> MemoryStore::finish_copy(Epoch promise) {
  if (!incoming_) co_return absl::FailedPreconditionError("no copy was begun");
  CO_TRY_OK(incoming_->may_finish());
  CO_TRY_OK(lineage_.may_replace(incoming_->of(), promise));
  lineage_.replace(incoming_->of(), promise);
  items_ = std::exchange(incoming_items_, {});
  incoming_.reset();
  history_.restart(lineage_.head().revision);
  generation_ += 1;
  tell_changed();
  co_return lineage_.head();
}

asio::awaitable<Status> MemoryStore::back_up(std::string /*path*/) {
  co_return absl::UnimplementedError("a store in memory has no file");
}

}  // namespace holdfast::store
