#include "store/sqlite_store.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

namespace holdfast::store {
namespace {

constexpr size_t kChangesAtOnce = 512;

size_t footprint(const std::vector<Operation>& operations) {
  size_t bytes = 0;
  for (const Operation& operation : operations) {
    bytes += sizeof(Operation) + operation.key.size() + operation.value.size();
  }
  return bytes;
}

// Runs `work` on `pool` and resumes the caller on its own executor with the answer.
template <typename T, typename Work>
asio::awaitable<T> run_on(asio::thread_pool& pool, Work work) {
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(T)>(
      [&pool](auto handler, Work body) {
        auto executor = asio::get_associated_executor(handler);
        asio::post(pool, [handler = std::move(handler), body = std::move(body),
                          guard = asio::make_work_guard(executor)]() mutable {
          T answer = body();
          asio::post(guard.get_executor(),
                     [handler = std::move(handler), answer = std::move(answer)]() mutable {
                       std::move(handler)(std::move(answer));
                     });
        });
      },
      asio::use_awaitable, std::move(work));
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const asio::any_io_executor& executor,
                                                       SqliteStoreOptions options) {
  options.writer.max_operations = options.limits.max_operations;
  TRY(FileLock lock, FileLock::acquire(options.path));
  TRY(SqliteWriter writer, SqliteWriter::open(options.path, options.writer));
  TRY(SqliteReader reader, SqliteReader::open(options.path));
  return std::unique_ptr<SqliteStore>(new SqliteStore(executor, std::move(options), std::move(lock),
                                                      std::move(writer), std::move(reader)));
}

SqliteStore::SqliteStore(const asio::any_io_executor& executor, SqliteStoreOptions options,
                         FileLock lock, SqliteWriter writer, SqliteReader reader)
    : executor_(executor),
      options_(std::move(options)),
      history_(options_.recent_history, writer.revision(), writer.revision()),
      changed_(executor),
      lock_(std::move(lock)),
      writer_(std::move(writer)),
      reader_(std::move(reader)) {}

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
  const size_t bytes = footprint(operations);
  CO_TRY(const Written written, co_await write(std::move(operations), bytes));
  co_return written.revision;
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
  CO_TRY_OK((co_await read_changes(range, after)).status());
  ChangeSource& source = *this;
  co_return std::make_unique<LocalWatch>(source, std::move(range), after);
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
        pending_.push_back({std::move(body), bytes, std::move(done)});
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
    std::vector<Result<SqliteWritten>> answers = writer_.write(writes);
    asio::post(executor_, [this, batch = std::move(batch), answers = std::move(answers),
                           floor = writer_.floor()]() mutable {
      finish_batch(std::move(batch), std::move(answers), floor);
    });
  });
}

void SqliteStore::finish_batch(std::vector<Pending> batch,
                               std::vector<Result<SqliteWritten>> answers, Revision floor) {
  writing_ = false;
  // The disk works on the next batch while this one is answered.
  if (!pending_.empty()) start_batch();
  for (size_t i = 0; i < batch.size(); ++i) {
    stats_.writes += 1;
    if (!answers[i].ok()) {
      const absl::StatusCode code = answers[i].status().code();
      const bool disk = code == absl::StatusCode::kUnavailable ||
                        code == absl::StatusCode::kResourceExhausted ||
                        code == absl::StatusCode::kDataLoss;
      if (disk) stats_.failed_writes += 1;
      batch[i].done(answers[i].status());
      continue;
    }
    const Written written{answers[i]->revision, answers[i]->changes.size()};
    if (written.changes > 0) history_.append(std::move(answers[i]->changes));
    batch[i].done(written);
  }
  history_.compact(std::min(floor, history_.last()));
  changed_.notify_all();
}

}  // namespace holdfast::store
