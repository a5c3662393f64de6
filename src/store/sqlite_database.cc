#include "store/sqlite_database.h"

#include <fmt/format.h>

#include "base/check.h"

namespace holdfast::store {

Status sqlite_status(sqlite3* handle, int code) {
  const std::string why = handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
  const int extended = handle != nullptr ? sqlite3_extended_errcode(handle) : code;
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return absl::OkStatus();
    case SQLITE_FULL:
      return absl::ResourceExhaustedError("the disk is full; nothing was written");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(fmt::format("the store's file is damaged: {}", why));
    case SQLITE_IOERR:
      return absl::UnavailableError(fmt::format("the disk failed: {} (SQLite {})", why, extended));
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return absl::UnavailableError(fmt::format("cannot use the store's file: {}", why));
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return absl::ResourceExhaustedError(why);
    default:
      return absl::UnavailableError(fmt::format("{} (SQLite {})", why, extended));
  }
}

SqliteStatement& SqliteStatement::bind(int index, int64_t number) {
  HF_CHECK(sqlite3_bind_int64(statement_.get(), index, number) == SQLITE_OK, "a bind index exists");
  return *this;
}

SqliteStatement& SqliteStatement::bind_bytes(int index, std::string_view bytes) {
  // A null pointer would bind NULL instead of an empty blob.
  const char* data = bytes.empty() ? "" : bytes.data();
  HF_CHECK(
      sqlite3_bind_blob64(statement_.get(), index, data, bytes.size(), SQLITE_STATIC) == SQLITE_OK,
      "a bind index exists");
  return *this;
}

SqliteStatement& SqliteStatement::bind_null(int index) {
  HF_CHECK(sqlite3_bind_null(statement_.get(), index) == SQLITE_OK, "a bind index exists");
  return *this;
}

Result<bool> SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  const Status status = sqlite_status(sqlite3_db_handle(statement_.get()), code);
  reset();
  if (!status.ok()) return status;
  return false;
}

Status SqliteStatement::run() {
  for (;;) {
    TRY(const bool row, step());
    if (!row) return absl::OkStatus();
  }
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_.get());
}

int64_t SqliteStatement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string SqliteStatement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

bool SqliteStatement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Result<SqliteDatabase> SqliteDatabase::open(const std::string& path, Mode mode) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == Mode::ReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == Mode::Create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  SqliteDatabase database;
  database.handle_.reset(handle);
  if (code != SQLITE_OK) return annotate(sqlite_status(handle, code), "opening " + path);
  sqlite3_busy_timeout(handle, 10'000);
  return database;
}

Status SqliteDatabase::execute(const std::string& sql) {
  return sqlite_status(handle_.get(),
                       sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

Result<SqliteStatement> SqliteDatabase::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  SqliteStatement statement;
  statement.statement_.reset(raw);
  TRY_OK(sqlite_status(handle_.get(), code));
  return statement;
}

Result<int64_t> SqliteDatabase::query_number(std::string_view sql) {
  TRY(SqliteStatement statement, prepare(sql));
  TRY(const bool row, statement.step());
  if (!row) return absl::NotFoundError("no row");
  return statement.number(0);
}

}  // namespace holdfast::store
