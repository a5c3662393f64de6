// The cache's copy in a node's data folder: cache.copy, sealed with the secret in cache.key. Both
// are for their owner only and written whole or not at all. These calls block; copy_service.h keeps
// them off the loop.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cache/sealed_copy.h"

namespace holdfast::cache {

struct CopyPlace {
  std::string folder;
  CopyOwner owner;
  CopyLimits limits;
};

// kNotFound if there is none; else fails as open_copy() does, or HF1254 if a file cannot be read.
Result<OpenedCopy> load_copy(const CopyPlace& place);

// Makes the secret if there is none, or one of a wrong size. HF1255, kUnavailable, naming the file
// that cannot be written, or the secret that cannot be read; what was there before is still there
// then.
Status save_copy(const CopyPlace& place, WallTime now, std::vector<KindToSeal> kinds);

}  // namespace holdfast::cache
