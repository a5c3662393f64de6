// The last epoch that a half served alone, on its disk: what it wrote in it, or before, and the
// pair lost since, was acknowledged to clients.
#pragma once

#include <string>

#include "base/result.h"
#include "ha/types.h"

namespace holdfast::ha {

// 0 if there is no file. One that cannot be read counts as the latest there can be: rather is
// something that nobody was told of taken for acknowledged than the other way round.
Epoch load_alone(const std::string& path);
Status save_alone(const std::string& path, Epoch epoch);

}  // namespace holdfast::ha
