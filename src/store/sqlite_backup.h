// A whole SQLite store in a second file, while the first is in use.
#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::store {

// For the owner only, whole or not at all: made beside its place, synced, then renamed. What a
// crash left half made is removed by the next. kResourceExhausted: the disk is full.
Status back_up_sqlite_file(const std::string& from, const std::string& to);

}  // namespace holdfast::store
