#include "store/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::store {
namespace {

Status failed(std::string_view doing, const std::string& path) {
  return absl::UnavailableError(fmt::format("{} {}: {}", doing, path, std::strerror(errno)));
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::string& path) {
  const std::string lock_path = path + ".lock";
  const int descriptor = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return failed("opening", lock_path);
  FileLock lock(descriptor, lock_path);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 16> holder{};
    const ssize_t count = ::pread(descriptor, holder.data(), holder.size() - 1, 0);
    return absl::FailedPreconditionError(
        fmt::format("{} is in use by process {}; stop it first, or use another path", path,
                    count > 0 ? holder.data() : "?"));
  }
  // For people only: a full disk takes the name of the holder, not the lock.
  const std::string pid = std::to_string(::getpid());
  const bool named =
      ::ftruncate(descriptor, 0) == 0 && ::pwrite(descriptor, pid.data(), pid.size(), 0) > 0;
  static_cast<void>(named);
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(other.descriptor_), path_(other.path_) {
  other.descriptor_ = -1;
}

bool FileLock::is_current() const {
  struct stat held{};
  struct stat named{};
  return ::fstat(descriptor_, &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace holdfast::store
