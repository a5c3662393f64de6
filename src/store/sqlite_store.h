// The embedded store: one SQLite file, write-ahead log, every commit on disk before it is
// acknowledged. Commits that arrive while the disk is busy share the next sync (group commit).
//
//   commit ──► pending ──► [writer thread: one transaction, one sync] ──► history ──► watches
//   get, range ─────────► [reader thread: one snapshot]
//
// What a copy elsewhere needs (replica.h) goes the same two ways. The two threads are the only
// ones; all other state belongs to the executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include <deque>
#include <functional>
#include <string>

#include "store/change_log.h"
#include "store/file_lock.h"
#include "store/local_watch.h"
#include "store/replica.h"
#include "store/sqlite_reader.h"
#include "store/sqlite_snapshot.h"
#include "store/sqlite_writer.h"
#include "store/store.h"

namespace holdfast::store {

struct SqliteStoreOptions {
  std::string path;
  Limits limits;
  ChangeLogOptions recent_history;
  SqliteWriter::Options writer;
  // One transaction takes at most this much.
  size_t max_batch_writes = 512;
  size_t max_batch_bytes = 8 << 20;
  // Commits waiting for the disk; beyond it a commit is refused with kResourceExhausted.
  size_t max_pending_writes = 8'192;
  size_t max_pending_bytes = 128 << 20;
  // A copy that is being read is ended when this much was written since it began: the log keeps it.
  size_t max_bytes_behind_copy = 256 << 20;
};

struct SqliteStoreStats {
  uint64_t batches = 0;
  uint64_t writes = 0;
  uint64_t failed_writes = 0;  // the disk's fault, not a precondition's
  uint64_t refused_when_full = 0;
  uint64_t copies_ended = 0;  // for max_bytes_behind_copy
};

class SqliteStore final : public Store, public Replica, private ChangeSource {
 public:
  // Opens or creates the file. Blocks: call it at start-up.
  static Result<std::unique_ptr<SqliteStore>> open(const asio::any_io_executor& executor,
                                                   SqliteStoreOptions options);
  ~SqliteStore() override;

  asio::awaitable<Result<Item>> get(std::string key) override;
  asio::awaitable<Result<RangeResult>> range(RangeRequest request) override;
  asio::awaitable<Result<Revision>> commit(std::vector<Operation> operations) override;
  asio::awaitable<Result<std::unique_ptr<Watch>>> watch(KeyRange range, Revision after) override;
  asio::awaitable<Result<size_t>> expire(WallTime now, size_t limit) override;
  asio::awaitable<Status> compact(Revision through) override;

  const ReplicaFacts& facts() const override { return facts_; }
  Status disk() const override { return disk_; }
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

  const SqliteStoreStats& stats() const { return stats_; }

 private:
  struct Written {
    Head head;
    size_t changes = 0;
  };
  struct Pending {
    SqliteWrite write;
    size_t bytes = 0;
    bool is_append = false;
    std::move_only_function<void(Result<Written>)> done;
  };

  // What the writer thread has made of a batch.
  struct Batch {
    std::vector<Pending> writes;
    std::vector<Result<SqliteWritten>> answers;
    Head head;
    Revision floor = 0;
    std::optional<ReplicaFacts> facts;  // if more than head and floor changed
  };
  // The file and what is done to it.
  struct Parts {
    FileLock lock;
    SqliteWriter writer;
    SqliteReader reader;
    SqliteSnapshot snapshot;
  };

  SqliteStore(const asio::any_io_executor& executor, SqliteStoreOptions options, Parts parts);

  asio::awaitable<Result<Written>> write(SqliteWrite write, size_t bytes);
  void start_batch();
  void finish_batch(Batch batch);
  void finish_write(Pending& write, Result<SqliteWritten> answer);
  void note_written(size_t bytes);
  asio::awaitable<Result<ChangeSlice>> read_changes(const KeyRange& range, Revision after) override;
  Signal& changed() override { return changed_; }
  uint64_t generation() const override { return generation_; }

  asio::any_io_executor executor_;
  SqliteStoreOptions options_;
  SqliteStoreStats stats_;
  ReplicaFacts facts_;
  Status disk_{};  // of the last write that had something in it
  ChangeLog history_;
  uint64_t generation_ = 0;
  std::move_only_function<void()> on_written_;
  Signal changed_;
  std::deque<Pending> pending_;
  size_t pending_bytes_ = 0;
  bool writing_ = false;
  bool copying_ = false;
  size_t bytes_behind_copy_ = 0;
  FileLock lock_;
  SqliteWriter writer_;      // touched by the writer thread only
  SqliteReader reader_;      // touched by the reader thread only
  SqliteSnapshot snapshot_;  // touched by the reader thread only
  asio::thread_pool writer_thread_{1};
  asio::thread_pool reader_thread_{1};
};

}  // namespace holdfast::store
