// Which zone a connection goes to first, and where it spills.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::route {

// Zones in order of preference: the own one, then those that follow it in the order of `listed` (as
// the zone map lists them), round to its beginning: so zones spill to different neighbours. Zones
// that are not listed come last, by name. Each once.
std::vector<std::string> zone_order(std::string_view own, const std::vector<std::string>& listed,
                                    const std::vector<std::string>& available);

}  // namespace holdfast::route
