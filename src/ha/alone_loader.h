// The last epoch that a half served alone, on its disk: what it wrote in it, or before, and the
// pair lost since, may have been acknowledged to clients.
#pragma once

#include <limits>
#include <string>

#include "base/result.h"
#include "ha/types.h"

namespace holdfast::ha {

// Nobody knows: rather is something that nobody was told of taken for acknowledged than the other
// way round.
inline constexpr Epoch kAloneUnknown = std::numeric_limits<Epoch>::max();

// kAloneUnknown if there is no file (a half that never was active on this disk, or whose file was
// lost), or one that cannot be read.
Epoch load_alone(const std::string& path);
Status save_alone(const std::string& path, Epoch epoch);

}  // namespace holdfast::ha
