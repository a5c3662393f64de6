// Whether a node that announced itself is there.
#pragma once

#include <string>

#include "base/clock.h"
#include "holdfast/v1/resource.pb.h"

namespace holdfast::cli {

// "online, heard 3s ago", "late, heard 2m05s ago", "offline for 4m10s"; empty for what is not a
// node.
std::string presence_text(const v1::Resource& node, WallTime now);

}  // namespace holdfast::cli
