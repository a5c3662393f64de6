#include "store/sqlite_store.h"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>

#include "store/change_log.h"
#include "store/sqlite_store_thread.h"

namespace holdfast::store {
namespace {

size_t commit_footprint(const std::vector<Operation>& operations) {
  size_t bytes = 0;
  for (const Operation& operation : operations) {
    bytes += sizeof(Operation) + operation.key.size() + operation.value.size();
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const asio::any_io_executor& executor,
                                                       SqliteStoreOptions options) {
  options.writer.max_operations = options.limits.max_operations;
  TRY(FileLock lock, FileLock::acquire(options.path));
  TRY(SqliteWriter writer, SqliteWriter::open(options.path, options.writer));
  TRY(SqliteReader reader, SqliteReader::open(options.path));
  TRY(SqliteSnapshot snapshot, SqliteSnapshot::open(options.path));
  Parts parts{std::move(lock), std::move(writer), std::move(reader), std::move(snapshot)};
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(executor, std::move(options), std::move(parts)));
}

SqliteStore::SqliteStore(const asio::any_io_executor& executor, SqliteStoreOptions options,
                         Parts parts)
    : executor_(executor),
      options_(std::move(options)),
      facts_(parts.writer.facts()),
      history_(options_.recent_history, facts_.head.revision, facts_.head.revision),
      changed_(executor),
      lock_(std::move(parts.lock)),
      writer_(std::move(parts.writer)),
      reader_(std::move(parts.reader)),
      snapshot_(std::move(parts.snapshot)) {}

SqliteStore::~SqliteStore() {
  writer_thread_.join();
  reader_thread_.join();
}

asio::awaitable<Result<Item>> SqliteStore::get(std::string key) {
  co_return co_await run_on<Result<Item>>(
      reader_thread_, [this, key = std::move(key)] { return reader_.get(key); });
}

asio::awaitable<Result<RangeResult>> SqliteStore::range(RangeRequest request) {
  co_return co_await run_on<Result<RangeResult>>(
      reader_thread_, [this, request = std::move(request)] { return reader_.range(request); });
}

asio::awaitable<Result<Revision>> SqliteStore::commit(std::vector<Operation> operations) {
  CO_TRY_OK(validate(operations, options_.limits));
  const size_t bytes = commit_footprint(operations);
  CO_TRY(const Written written, co_await write(std::move(operations), bytes));
  co_return written.head.revision;
}

asio::awaitable<Result<size_t>> SqliteStore::expire(WallTime now, size_t limit) {
  CO_TRY(const Written written, co_await write(ExpireRequest{.now = now, .limit = limit}, 0));
  co_return written.changes;
}

asio::awaitable<Status> SqliteStore::compact(Revision through) {
  const Result<Written> written = co_await write(CompactRequest{.through = through}, 0);
  co_return written.status();
}

asio::awaitable<Result<std::unique_ptr<Watch>>> SqliteStore::watch(KeyRange range, Revision after) {
  ChangeSource& source = *this;
  auto watch = std::make_unique<LocalWatch>(source, std::move(range), after);
  CO_TRY_OK(co_await watch->check());
  co_return watch;
}

asio::awaitable<Result<ChangeSlice>> SqliteStore::read_changes(const KeyRange& range,
                                                               Revision after) {
  if (after >= history_.floor()) co_return history_.read(range, after, kChangesAtOnce);
  co_return co_await run_on<Result<ChangeSlice>>(reader_thread_, [this, range, after] {
    return reader_.changes(range, after, kChangesAtOnce);
  });
}

asio::awaitable<Result<SqliteStore::Written>> SqliteStore::write(SqliteWrite write, size_t bytes) {
  if (pending_.size() >= options_.max_pending_writes ||
      pending_bytes_ + bytes > options_.max_pending_bytes) {
    stats_.refused_when_full += 1;
    co_return absl::ResourceExhaustedError("too many writes wait for the disk; try again later");
  }
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(Result<Written>)>(
      [this, bytes](auto handler, SqliteWrite body) {
        auto done = [handler = std::move(handler)](Result<Written> written) mutable {
          auto executor = asio::get_associated_executor(handler);
          asio::post(executor,
                     [handler = std::move(handler), written = std::move(written)]() mutable {
                       std::move(handler)(std::move(written));
                     });
        };
        const auto* replica = std::get_if<ReplicaWrite>(&body);
        const bool is_append =
            replica != nullptr && std::holds_alternative<AppendRequest>(*replica);
        pending_.push_back({std::move(body), bytes, is_append, std::move(done)});
        pending_bytes_ += bytes;
        if (!writing_) start_batch();
      },
      asio::use_awaitable, std::move(write));
}

void SqliteStore::start_batch() {
  std::vector<Pending> batch;
  std::vector<SqliteWrite> writes;
  size_t bytes = 0;
  while (!pending_.empty() && batch.size() < options_.max_batch_writes &&
         (batch.empty() || bytes + pending_.front().bytes <= options_.max_batch_bytes)) {
    bytes += pending_.front().bytes;
    writes.push_back(std::move(pending_.front().write));
    batch.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  pending_bytes_ -= bytes;
  writing_ = true;
  stats_.batches += 1;
  asio::post(writer_thread_, [this, batch = std::move(batch), writes = std::move(writes),
                              guard = asio::make_work_guard(executor_)]() mutable {
    Batch finished{.writes = std::move(batch), .answers = writer_.write(writes)};
    finished.head = writer_.facts().head;
    finished.floor = writer_.facts().floor;
    finished.facts = writer_.changed_facts();
    asio::post(executor_, [this, finished = std::move(finished)]() mutable {
      finish_batch(std::move(finished));
    });
  });
}

void SqliteStore::finish_batch(Batch batch) {
  writing_ = false;
  // The disk works on the next batch while this one is answered.
  if (!pending_.empty()) start_batch();
  if (batch.facts) facts_ = *std::move(batch.facts);
  facts_.head = batch.head;
  facts_.floor = batch.floor;
  size_t bytes = 0;
  for (size_t i = 0; i < batch.writes.size(); ++i) {
    bytes += batch.writes[i].bytes;
    finish_write(batch.writes[i], std::move(batch.answers[i]));
  }
  if (copying_) note_written(bytes);
  history_.compact(std::min(batch.floor, history_.last()));
  changed_.notify_all();
  if (on_written_) on_written_();
}

void SqliteStore::finish_write(Pending& write, Result<SqliteWritten> answer) {
  stats_.writes += 1;
  if (!answer.ok()) {
    const absl::StatusCode code = answer.status().code();
    const bool disk = code == absl::StatusCode::kUnavailable ||
                      code == absl::StatusCode::kResourceExhausted ||
                      (code == absl::StatusCode::kDataLoss && !write.is_append);
    if (disk) {
      stats_.failed_writes += 1;
      disk_ = answer.status();
    }
    write.done(answer.status());
    return;
  }
  const bool said = !answer->changes.empty() || !answer->entries.empty() || answer->replaced;
  if (said) disk_ = absl::OkStatus();
  const Written written{answer->head, answer->changes.size()};
  if (written.changes > 0) history_.append(std::move(answer->changes), answer->head);
  for (Entry& entry : answer->entries) history_.append(std::move(entry.changes), entry.head);
  if (answer->replaced) {
    history_.restart(answer->head.revision);
    generation_ += 1;
  }
  write.done(written);
}

}  // namespace holdfast::store
