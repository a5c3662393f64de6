#include "store/sqlite_backup.h"

#include <absl/strings/str_replace.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/private_file.h"
#include "store/sqlite_database.h"

namespace holdfast::store {
namespace {

namespace fs = std::filesystem;

// SQLite does not sync what VACUUM INTO makes.
Status sync(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) return absl::UnavailableError(fmt::format("cannot open {}", path));
  const bool synced = ::fsync(descriptor) == 0;
  ::close(descriptor);
  return synced ? absl::OkStatus()
                : absl::UnavailableError(fmt::format("{} does not get to the disk", path));
}

Status make(const std::string& from, const std::string& beside) {
  TRY_OK(write_private_file(beside, ""));  // SQLite fills it, and leaves its rights as they are
  TRY(SqliteDatabase database, SqliteDatabase::open(from, SqliteDatabase::Mode::ReadOnly));
  const std::string quoted = absl::StrReplaceAll(beside, {{"'", "''"}});
  TRY_OK(database.execute(fmt::format("VACUUM INTO '{}'", quoted)));
  return sync(beside, O_RDWR);
}

}  // namespace

Status back_up_sqlite_file(const std::string& from, const std::string& to) {
  const std::string beside = to + ".part";
  std::error_code error;
  if (fs::exists(to, error)) return absl::AlreadyExistsError(fmt::format("{} is there", to));
  fs::remove(beside, error);
  Status made = make(from, beside);
  if (made.ok()) {
    fs::rename(beside, to, error);
    if (error) made = absl::UnavailableError(fmt::format("cannot rename {}", beside));
  }
  if (!made.ok()) {
    fs::remove(beside, error);
    return made;
  }
  return sync(fs::path(to).parent_path().string(), O_RDONLY | O_DIRECTORY);
}

}  // namespace holdfast::store
