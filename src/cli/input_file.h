// What a command reads: a file, or standard input.
#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::cli {

// "-" is standard input. At most `limit` bytes: give one more than may be used, and it is known
// that there is too much.
Result<std::string> read_input(const std::string& file, size_t limit);

}  // namespace holdfast::cli
