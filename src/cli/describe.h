// One resource in full, for people.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "holdfast/v1/resource.pb.h"

namespace holdfast::cli {

// `agents`: for a service, those that carry it. Ends with a line end.
std::string render_description(const v1::Resource& resource,
                               const std::vector<v1::Resource>& agents, WallTime now);

}  // namespace holdfast::cli
