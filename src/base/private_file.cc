#include "base/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/bytes.h"

namespace holdfast {
namespace {

Status failed(std::string_view doing, const std::string& path) {
  const std::string message =
      fmt::format("{} {}: {}", doing, in_quotes(path, 256), std::strerror(errno));
  if (errno == ENOENT) return absl::NotFoundError(message);
  return absl::InvalidArgumentError(message);
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// Whole or not at all; but the folder may not remember it yet.
Status replace_file(const std::string& path, std::string_view text) {
  std::string beside = path + ".XXXXXX";
  const int descriptor = ::mkostemp(beside.data(), O_CLOEXEC);  // made 0600
  if (descriptor < 0) return failed("cannot write", path);
  const bool written = write_all(descriptor, text) && ::fsync(descriptor) == 0;
  const int kept_errno = errno;
  ::close(descriptor);
  if (!written) {
    errno = kept_errno;
    const Status status = failed("cannot write", path);
    ::unlink(beside.c_str());
    return status;
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) {
    const Status status = failed("cannot write", path);
    ::unlink(beside.c_str());
    return status;
  }
  return absl::OkStatus();
}

}  // namespace

Status write_private_file(const std::string& path, std::string_view text) {
  TRY_OK(replace_file(path, text));
  static_cast<void>(sync_folder_of(path));
  return absl::OkStatus();
}

Status write_lasting_file(const std::string& path, std::string_view text) {
  TRY_OK(replace_file(path, text));
  return sync_folder_of(path);
}

Status sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed("cannot sync the folder of", path);
  // Where folders cannot be synced (EINVAL), the file system has another way to remember.
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL;
  const Status status = synced ? absl::OkStatus() : failed("cannot sync the folder of", path);
  ::close(descriptor);
  return status;
}

Status make_private_folder(const std::string& path) {
  const std::filesystem::path wanted(path);
  std::error_code error;
  if (std::filesystem::is_directory(wanted, error)) return absl::OkStatus();
  if (wanted.has_parent_path() && wanted.parent_path() != wanted) {
    TRY_OK(make_private_folder(wanted.parent_path().string()));
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed("cannot make the folder", path);
  }
  return absl::OkStatus();
}

bool is_open_to_others(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

Result<std::string> read_small_file(const std::string& path) {
  const bool standard_input = path == "-";
  const int descriptor = standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed("cannot read", path);
  std::string text;
  std::array<char, 65536> buffer{};
  ssize_t count = 1;
  while (count != 0 && text.size() <= kMaxPrivateFileBytes) {
    count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno != EINTR) break;
    if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
  }
  const Status status = count < 0 ? failed("cannot read", path) : absl::OkStatus();
  if (!standard_input) ::close(descriptor);
  TRY_OK(status);
  if (text.size() > kMaxPrivateFileBytes) {
    return absl::InvalidArgumentError(
        fmt::format("{} is larger than {} bytes", in_quotes(path, 256), kMaxPrivateFileBytes));
  }
  return text;
}

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  // Opening a pipe would wait for somebody to write to it.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return failed("cannot read", path);
  struct stat facts{};
  Status status = ::fstat(descriptor, &facts) != 0 ? failed("cannot read", path) : absl::OkStatus();
  if (status.ok() && !S_ISREG(facts.st_mode)) {
    status = absl::InvalidArgumentError(fmt::format("{} is not a file", in_quotes(path, 256)));
  }
  if (status.ok() && static_cast<size_t>(facts.st_size) > max_bytes) {
    status = absl::InvalidArgumentError(
        fmt::format("{} is larger than {} bytes", in_quotes(path, 256), max_bytes));
  }
  std::string text;
  if (status.ok()) text.resize(static_cast<size_t>(facts.st_size));
  size_t have = 0;
  while (status.ok() && have < text.size()) {
    const ssize_t count = ::read(descriptor, text.data() + have, text.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) status = failed("cannot read", path);
    if (count <= 0) break;
    have += static_cast<size_t>(count);
  }
  ::close(descriptor);
  TRY_OK(status);
  text.resize(have);  // it may have become shorter meanwhile
  return text;
}

}  // namespace holdfast
