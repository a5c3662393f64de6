// Reads the SQLite file beside its writer, each answer from one snapshot: the work of the store's
// reader thread.
#pragma once

#include <string>

#include "store/change_log.h"
#include "store/sqlite_database.h"
#include "store/store.h"

namespace holdfast::store {

class SqliteReader {
 public:
  static Result<SqliteReader> open(const std::string& path);

  Result<Item> get(const std::string& key);
  Result<RangeResult> range(const RangeRequest& request);
  // As ChangeLog::read, from the history in the file.
  Result<ChangeSlice> changes(const KeyRange& range, Revision after, size_t max_changes);
  // As Replica::entries.
  Result<std::vector<Entry>> entries(Revision after, size_t max_bytes);

 private:
  explicit SqliteReader(SqliteDatabase database) : database_(std::move(database)) {}
  Result<RangeResult> range_in_snapshot(const RangeRequest& request);
  Result<ChangeSlice> changes_in_snapshot(const KeyRange& range, Revision after,
                                          size_t max_changes);
  Result<std::vector<Entry>> entries_in_snapshot(Revision after, size_t max_bytes);
  Result<Head> head_of_row();
  Result<Revision> number_of(SqliteStatement& statement);

  SqliteDatabase database_;
  SqliteStatement begin_, end_, get_, range_, range_open_, changes_, newest_, floor_, tenure_;
};

}  // namespace holdfast::store
