#include "store/sqlite_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace holdfast::store {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMagic = "SQLite format 3\0"sv;
constexpr size_t kHeaderBytes = 100;
constexpr size_t kUserVersionOffset = 60;
constexpr size_t kApplicationIdOffset = 68;

// Keys are blobs so that they sort by byte. `change` is the history that watches resume from;
// `meta` says up to which revision it was forgotten.
constexpr std::string_view kSchema = R"sql(
  CREATE TABLE item(
    key BLOB PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL,
    created INTEGER NOT NULL, expires INTEGER) WITHOUT ROWID;
  CREATE INDEX item_expires ON item(expires) WHERE expires IS NOT NULL;
  CREATE TABLE change(
    revision INTEGER NOT NULL, position INTEGER NOT NULL, type INTEGER NOT NULL,
    key BLOB NOT NULL, value BLOB NOT NULL, created INTEGER NOT NULL, expires INTEGER,
    PRIMARY KEY(revision, position)) WITHOUT ROWID;
  CREATE TABLE meta(name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES('compacted', 0);
)sql";

// From version 1 to 2: what keeps a copy elsewhere in step (replica.h). `chain` is in the first row
// of a revision, if it belongs to a tenure; `incoming` is a copy that is being taken in.
constexpr std::string_view kUpgradeTo2 = R"sql(
  ALTER TABLE change ADD COLUMN chain INTEGER;
  CREATE TABLE tenure(epoch INTEGER PRIMARY KEY, first INTEGER NOT NULL);
  CREATE TABLE fact(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
  INSERT INTO fact VALUES('store_id', lower(hex(randomblob(16)))), ('note', x'');
  INSERT INTO meta VALUES('promised', 0), ('chain', 0);
  CREATE TABLE incoming(
    key BLOB PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL,
    created INTEGER NOT NULL, expires INTEGER) WITHOUT ROWID;
)sql";

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Status errno_status(std::string_view doing, const std::string& path) {
  const int error = errno;
  const std::string message = fmt::format("{} {}: {}", doing, path, std::strerror(error));
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  if (error == ENOSPC) return absl::ResourceExhaustedError(message);
  if (error == ENOENT) return absl::NotFoundError(message);
  return absl::UnavailableError(message);
}

uint32_t big_endian(std::string_view bytes) {
  uint32_t number = 0;
  for (const char byte : bytes.substr(0, 4)) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

Status check_version(const std::string& path, int64_t version) {
  if (version <= kSqliteSchemaVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "{} has schema version {}, this program knows up to {}; it was left as it is. Run the "
      "version of Holdfast that wrote it, or a newer one",
      path, version, kSqliteSchemaVersion));
}

// Looks at the header's bytes without SQLite, which could already write. True: a store of ours.
// False: there is no file yet, or an empty one.
Result<bool> inspect_header(const std::string& path, std::string_view if_damaged) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0 && errno == ENOENT) return false;
  if (file.number() < 0) return errno_status("opening", path);
  std::array<char, kHeaderBytes> bytes{};
  const ssize_t count = ::pread(file.number(), bytes.data(), bytes.size(), 0);
  if (count < 0) return errno_status("reading", path);
  if (count == 0) return false;
  const std::string_view header(bytes.data(), bytes.size());
  if (static_cast<size_t>(count) < kHeaderBytes || !header.starts_with(kMagic)) {
    return absl::DataLossError(fmt::format(
        "{} is not a store or its header is damaged; it was left as it is. {}", path, if_damaged));
  }
  if (big_endian(header.substr(kApplicationIdOffset)) != kSqliteApplicationId) {
    return absl::FailedPreconditionError(
        fmt::format("{} is a database of another program; it was left as it is", path));
  }
  TRY_OK(check_version(path, big_endian(header.substr(kUserVersionOffset))));
  return true;
}

// Through a connection that cannot write and does not checkpoint when it closes.
Status check_integrity(const std::string& path) {
  TRY(SqliteDatabase database, SqliteDatabase::open(path, SqliteDatabase::Mode::ReadOnly));
  sqlite3_db_config(database.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // The version of a file that was just upgraded may still be in its log.
  TRY(const int64_t version, database.query_number("PRAGMA user_version"));
  TRY_OK(check_version(path, version));
  TRY(SqliteStatement statement, database.prepare("PRAGMA integrity_check(1)"));
  TRY(const bool row, statement.step());
  const std::string answer = row ? statement.bytes(0) : "no answer";
  if (answer == "ok") return absl::OkStatus();
  return absl::DataLossError(answer);
}

Status use_write_ahead_log(SqliteDatabase& database, const std::string& path) {
  TRY_OK(
      database.execute("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=2000; "
                       "PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-32768"));
  TRY(SqliteStatement mode, database.prepare("PRAGMA journal_mode=WAL"));
  TRY(const bool row, mode.step());
  if (row && mode.bytes(0) == "wal") return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{}: this file system cannot hold a write-ahead log; use a local one", path));
}

// A new directory entry is durable only when its directory is.
Status sync_directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number() < 0) return errno_status("opening", directory);
  if (::fsync(folder.number()) != 0) return errno_status("syncing", directory);
  return absl::OkStatus();
}

Status upgrade(SqliteDatabase& database) {
  TRY(const int64_t version, database.query_number("PRAGMA user_version"));
  if (version == kSqliteSchemaVersion) return absl::OkStatus();
  TRY_OK(database.execute("BEGIN IMMEDIATE"));
  Status upgraded = database.execute(std::string(kUpgradeTo2));
  if (upgraded.ok()) {
    upgraded = database.execute(fmt::format("PRAGMA user_version={}", kSqliteSchemaVersion));
  }
  if (upgraded.ok()) upgraded = database.execute("COMMIT");
  if (!upgraded.ok()) {
    (void)database.execute("ROLLBACK");  // fails only if SQLite has rolled back by itself already
    return upgraded;
  }
  // Into the file's header, where an older program looks.
  return database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

Status write_schema(const std::string& path) {
  TRY(SqliteDatabase database, SqliteDatabase::open(path, SqliteDatabase::Mode::Create));
  TRY_OK(use_write_ahead_log(database, path));
  TRY_OK(database.execute("BEGIN IMMEDIATE"));
  TRY_OK(database.execute(fmt::format("PRAGMA application_id={}", kSqliteApplicationId)));
  TRY_OK(database.execute("PRAGMA user_version=1"));
  TRY_OK(database.execute(std::string(kSchema)));
  TRY_OK(database.execute("COMMIT"));
  return upgrade(database);
}

// Made aside and renamed into place: a crash leaves either no store or a whole one.
Status create_file(const std::string& path) {
  struct stat leftover{};
  const std::string log = path + "-wal";
  if (::stat(log.c_str(), &leftover) == 0 && leftover.st_size > 0) {
    return absl::FailedPreconditionError(fmt::format(
        "{} is there without {}: put the store's file back, or move the log away to start empty",
        log, path));
  }
  const std::string fresh = path + ".new";
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((fresh + suffix).c_str());
  TRY_OK(annotate(write_schema(fresh), "creating " + fresh));
  if (::chmod(fresh.c_str(), 0600) != 0) return errno_status("protecting", fresh);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return errno_status("naming", path);
  return sync_directory_of(path);
}

}  // namespace

Result<SqliteDatabase> open_sqlite_file(const std::string& path, std::string_view if_damaged) {
  TRY(const bool exists, inspect_header(path, if_damaged));
  if (!exists) TRY_OK(create_file(path));
  const Status whole = check_integrity(path);
  if (whole.code() == absl::StatusCode::kDataLoss) {
    return absl::DataLossError(fmt::format("{} is damaged and was left as it is: {}. {}", path,
                                           std::string(whole.message()), if_damaged));
  }
  TRY_OK(annotate(whole, "checking " + path));
  TRY(SqliteDatabase database, SqliteDatabase::open(path, SqliteDatabase::Mode::ReadWrite));
  if (sqlite3_db_readonly(database.handle(), "main") != 0) {
    return absl::PermissionDeniedError(
        fmt::format("{} cannot be written; give its owner the right to", path));
  }
  TRY_OK(use_write_ahead_log(database, path));
  TRY_OK(annotate(upgrade(database), "upgrading " + path));
  return database;
}

}  // namespace holdfast::store
