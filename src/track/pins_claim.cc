#include "track/pins_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/reason.h"

namespace holdfast::track {
namespace {

bool is_same(const Descriptor& one, const Descriptor& other) {
  struct stat a{};
  struct stat b{};
  return one.is_open() && ::fstat(one.get(), &a) == 0 && ::fstat(other.get(), &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

Status PinsClaim::take(const std::string& directory) {
  Descriptor folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) {
    return coded(absl::ErrnoToStatusCode(errno), "HF8108",
                 fmt::format("opening {}: {}", directory, std::strerror(errno)));
  }
  // A lock belongs to what was opened, not to the process: a second one of ours would be refused.
  if (is_same(folder_, folder)) return absl::OkStatus();
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF8114",
                 errno == EWOULDBLOCK
                     ? fmt::format("another agent uses the pins in {}", directory)
                     : fmt::format("locking {}: {}", directory, std::strerror(errno)));
  }
  folder_ = std::move(folder);
  return absl::OkStatus();
}

}  // namespace holdfast::track
