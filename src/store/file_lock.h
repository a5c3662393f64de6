// Keeps a second process off what the first one uses: a store's file, a controller's folder.
#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::store {

// Held for as long as it lives.
class FileLock {
 public:
  // Locks PATH.lock. kFailedPrecondition naming the process that has it.
  static Result<FileLock> acquire(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

  // False if the file was removed or replaced since: others no longer see this lock.
  bool is_current() const;

 private:
  FileLock(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_;
  std::string path_;
};

}  // namespace holdfast::store
