// SQLite's C interface as values and statuses: one connection, prepared statements, no policy.
// Not thread-safe: a connection belongs to the thread that uses it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::store {

// A prepared statement, used again and again. Binds are 1-based and copy nothing: what they refer
// to must live until the next reset().
class SqliteStatement {
 public:
  SqliteStatement() = default;

  SqliteStatement& bind(int index, int64_t number);
  SqliteStatement& bind_bytes(int index, std::string_view bytes);
  SqliteStatement& bind_null(int index);
  // True: a row is there to read. False: done, and reset.
  Result<bool> step();
  // Runs to the end, then resets.
  Status run();
  void reset();

  int64_t number(int column) const;
  std::string bytes(int column) const;
  bool is_null(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class SqliteDatabase {
 public:
  enum class Mode { ReadOnly, ReadWrite, Create };

  static Result<SqliteDatabase> open(const std::string& path, Mode mode);

  Status execute(const std::string& sql);
  Result<SqliteStatement> prepare(std::string_view sql);
  // The single number a query answers.
  Result<int64_t> query_number(std::string_view sql);
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

// kResourceExhausted: disk full; kDataLoss: corrupt; kUnavailable: the disk or a lock.
Status sqlite_status(sqlite3* handle, int code);

}  // namespace holdfast::store
