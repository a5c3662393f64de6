// Applies commits to the SQLite file, many in one transaction: the work of the store's writer
// thread. Decides nothing about waiting; SqliteStore hands it batches and takes its answers.
#pragma once

#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "store/plan.h"
#include "store/sqlite_database.h"
#include "store/sqlite_file.h"
#include "store/sqlite_ledger.h"
#include "store/store.h"

namespace holdfast::store {

struct ExpireRequest {
  WallTime now;
  size_t limit = 0;
};
struct CompactRequest {
  Revision through = 0;
};
using SqliteWrite =
    std::variant<std::vector<Operation>, ExpireRequest, CompactRequest, ReplicaWrite>;

struct SqliteWritten {
  Head head;                    // of the store after this write
  std::vector<Change> changes;  // of that revision; may be empty
  std::vector<Entry> entries;   // of an append
  bool replaced = false;        // by a copy: another history begins at the head
};

class SqliteWriter {
 public:
  struct Options {
    size_t max_operations = 128;     // of one revision, also when expiring
    Revision history = 100'000;      // revisions kept for watches
    Revision compact_every = 1'000;  // revisions between two automatic compactions
    std::string_view if_damaged = kRestoreOrStartEmpty;  // outlives open()
  };

  static Result<SqliteWriter> open(const std::string& path, Options options);

  // One answer per write, in order. They are durable together; if that fails, each is tried alone,
  // so that one write too large for the disk does not take its neighbours with it.
  std::vector<Result<SqliteWritten>> write(const std::vector<SqliteWrite>& batch);

  const ReplicaFacts& facts() const { return ledger_.lineage().facts(); }
  // All of it, if something changed since the last call that is neither the head nor the floor.
  std::optional<ReplicaFacts> changed_facts();

 private:
  SqliteWriter(SqliteDatabase database, SqliteLedger ledger, Options options)
      : database_(std::move(database)), ledger_(std::move(ledger)), options_(options) {}

  Status prepare_statements();
  Result<std::vector<SqliteWritten>> write_together(const std::vector<SqliteWrite>& batch,
                                                    std::vector<Status>& refused);
  // Why a write cannot be, before anything of it is written.
  Status refuse(const SqliteWrite& write);
  Result<SqliteWritten> apply(const SqliteWrite& write);
  Result<SqliteWritten> apply_replica(const ReplicaWrite& write);
  Status apply_entry(const Head& head, const std::vector<Change>& changes);
  Result<std::vector<Operation>> expired_items(const ExpireRequest& request);
  Result<std::optional<KeyState>> look_up(const std::string& key);
  Status apply_change(const Change& change, int64_t position, const Head& head);
  Status compact(Revision through);

  SqliteDatabase database_;
  SqliteLedger ledger_;  // as of the last commit, and inside a transaction as of the last write
  Options options_;
  SqliteStatement begin_, commit_, rollback_, find_, put_, erase_, log_, expired_, forget_;
};

}  // namespace holdfast::store
