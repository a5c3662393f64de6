// A whole SQLite store in a second file, while the first is in use.
#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::store {

// For the owner only, whole or not at all: made beside its place (`to`.part, which a crash leaves
// there), synced, then renamed. kResourceExhausted: the disk is full.
Status back_up_sqlite_file(const std::string& from, const std::string& to);

}  // namespace holdfast::store
