// What the SQLite store offers to whoever keeps a copy of it (replica.h).
#include "store/lineage.h"
#include "store/sqlite_backup.h"
#include "store/sqlite_store.h"
#include "store/sqlite_store_thread.h"

namespace holdfast::store {
namespace {

size_t entry_footprint(const Item& item) {
  return sizeof(Change) + item.key.size() + item.value.size();
}

size_t entry_footprint(const std::vector<Entry>& entries) {
  size_t bytes = 0;
  for (const Entry& entry : entries) {
    for (const Change& change : entry.changes) bytes += entry_footprint(change.item);
  }
  return bytes;
}

size_t entry_footprint(const CopyPage& page) {
  size_t bytes = 0;
  for (const Item& item : page.items) bytes += entry_footprint(item);
  return bytes;
}

}  // namespace

asio::awaitable<Status> SqliteStore::begin_tenure(Epoch epoch) {
  co_return (co_await write(TenureRequest{epoch}, 0)).status();
}

asio::awaitable<Status> SqliteStore::promise(Epoch epoch) {
  co_return (co_await write(PromiseRequest{epoch}, 0)).status();
}

asio::awaitable<Status> SqliteStore::keep_note(std::string note) {
  co_return (co_await write(NoteRequest{std::move(note)}, 0)).status();
}

asio::awaitable<Result<std::vector<Entry>>> SqliteStore::entries(Revision after, size_t max_bytes) {
  CO_TRY_OK(may_read_entries(facts_, after));
  if (after >= history_.floor()) co_return history_.entries(after, max_bytes);
  co_return co_await run_on<Result<std::vector<Entry>>>(
      reader_thread_, [this, after, max_bytes] { return reader_.entries(after, max_bytes); });
}

asio::awaitable<Result<Head>> SqliteStore::append(Epoch promise, std::vector<Entry> entries) {
  const size_t bytes = entry_footprint(entries);
  CO_TRY(const Written written, co_await write(AppendRequest{promise, std::move(entries)}, bytes));
  co_return written.head;
}

asio::awaitable<Result<ReplicaFacts>> SqliteStore::begin_reading() {
  copying_ = true;
  bytes_behind_copy_ = 0;
  co_return co_await run_on<Result<ReplicaFacts>>(reader_thread_,
                                                  [this] { return snapshot_.begin(); });
}

asio::awaitable<Result<CopyPage>> SqliteStore::read_page(size_t max_bytes) {
  Result<CopyPage> page = co_await run_on<Result<CopyPage>>(
      reader_thread_, [this, max_bytes] { return snapshot_.page(max_bytes); });
  if (!page.ok() || page->last) copying_ = false;
  co_return page;
}

asio::awaitable<Status> SqliteStore::end_reading() {
  copying_ = false;
  co_return co_await run_on<Status>(reader_thread_, [this] {
    snapshot_.end(absl::FailedPreconditionError("no copy is being read"));
    return absl::OkStatus();
  });
}

void SqliteStore::note_written(size_t bytes) {
  bytes_behind_copy_ += bytes;
  if (bytes_behind_copy_ <= options_.max_bytes_behind_copy) return;
  copying_ = false;
  stats_.copies_ended += 1;
  asio::post(reader_thread_, [this] {
    snapshot_.end(absl::ResourceExhaustedError(
        "the copy was read too slowly, too much was written since it began; begin again"));
  });
}

asio::awaitable<Status> SqliteStore::begin_copy(ReplicaFacts of) {
  co_return (co_await write(BeginCopyRequest{std::move(of)}, 0)).status();
}

asio::awaitable<Status> SqliteStore::add_to_copy(CopyPage page) {
  const size_t bytes = entry_footprint(page);
  co_return (co_await write(ReplicaWrite(std::move(page)), bytes)).status();
}

asio::awaitable<Result<Head>> SqliteStore::finish_copy(Epoch promise) {
  CO_TRY(const Written written, co_await write(FinishCopyRequest{promise}, 0));
  co_return written.head;
}

asio::awaitable<Status> SqliteStore::back_up(std::string path) {
  co_return co_await run_on<Status>(reader_thread_, [from = options_.path, to = std::move(path)] {
    return back_up_sqlite_file(from, to);
  });
}

}  // namespace holdfast::store
