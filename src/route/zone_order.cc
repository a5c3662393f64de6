#include "route/zone_order.h"

#include <algorithm>

namespace holdfast::route {

std::vector<std::string> zone_order(std::string_view own, const std::vector<std::string>& listed,
                                    const std::vector<std::string>& available) {
  const auto own_place = std::ranges::find(listed, own);
  const size_t begin = own_place == listed.end() ? 0 : size_t(own_place - listed.begin());
  const auto rank = [&](const std::string& zone) -> size_t {
    if (zone == own) return 0;
    const auto place = std::ranges::find(listed, zone);
    if (place == listed.end()) return listed.size() + 1;
    return 1 + (size_t(place - listed.begin()) + listed.size() - begin) % listed.size();
  };
  std::vector<std::string> zones = available;
  std::ranges::sort(zones, {},
                    [&](const std::string& zone) { return std::pair(rank(zone), zone); });
  zones.erase(std::ranges::unique(zones).begin(), zones.end());
  return zones;
}

}  // namespace holdfast::route
