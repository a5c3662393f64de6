#include "track/zone_map.h"

#include <fmt/format.h>

#include "base/reason.h"

namespace holdfast::track {
namespace {

constexpr int kLowest = 1;
constexpr int kHighest = 254;

Status wrong(const std::string& what) {
  return coded(absl::StatusCode::kInvalidArgument, "HF8111", what);
}

}  // namespace

Result<ZoneMap> ZoneMap::make(const std::vector<std::pair<std::string, int>>& listed) {
  ZoneMap map;
  for (const auto& [name, id] : listed) {
    if (name.empty()) return wrong(fmt::format("the zone with number {} has no name", id));
    if (id < kLowest || id > kHighest) {
      return wrong(fmt::format("zone \"{}\" has number {}; numbers are {} to {}", name, id, kLowest,
                               kHighest));
    }
    const auto small = static_cast<uint8_t>(id);
    if (const auto taken = map.names_.find(small); taken != map.names_.end()) {
      return wrong(
          fmt::format("zones \"{}\" and \"{}\" both have number {}", taken->second, name, id));
    }
    if (!map.ids_.emplace(name, small).second) {
      return wrong(fmt::format("zone \"{}\" is listed twice", name));
    }
    map.names_.emplace(small, name);
  }
  return map;
}

uint8_t ZoneMap::id(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? kUnlistedZone : found->second;
}

std::string_view ZoneMap::name(uint8_t id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace holdfast::track
