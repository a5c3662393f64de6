// A whole copy of the SQLite file as of one moment, read in pages while the writer goes on: a
// connection of its own, so that other reads have theirs. The work of the store's reader thread.
#pragma once

#include <string>

#include "store/replica.h"
#include "store/sqlite_database.h"

namespace holdfast::store {

class SqliteSnapshot {
 public:
  static Result<SqliteSnapshot> open(const std::string& path);

  // Takes the snapshot; one that was taken before ends.
  Result<ReplicaFacts> begin();
  // The last page ends the snapshot. kFailedPrecondition without one.
  Result<CopyPage> page(size_t max_bytes);
  // Gives back what the disk kept for it. `why` answers the pages that are asked for hereafter.
  void end(Status why);

 private:
  explicit SqliteSnapshot(SqliteDatabase database) : database_(std::move(database)) {}
  Result<CopyPage> read(size_t max_bytes);

  SqliteDatabase database_;
  Status ended_ = absl::FailedPreconditionError("no copy is being read");
  uint64_t items_ = 0;
  std::string last_key_;
  SqliteStatement begin_, end_, page_;
};

}  // namespace holdfast::store
