// Names of zones and the numbers that the kernel's maps have for them. The numbers are
// configuration, not allocated: they mean the same after every restart and on every node. A zone
// that is not listed is number 0, and is not counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace holdfast::track {

inline constexpr uint8_t kUnlistedZone = 0;

class ZoneMap {
 public:
  // As listed: names with numbers from 1 to 254, no name and no number twice (HF8111).
  static Result<ZoneMap> make(const std::vector<std::pair<std::string, int>>& listed);

  ZoneMap() = default;

  uint8_t id(std::string_view name) const;  // kUnlistedZone if it is not listed
  std::string_view name(uint8_t id) const;  // "" for what is not listed
  size_t size() const { return ids_.size(); }

 private:
  std::map<std::string, uint8_t, std::less<>> ids_;
  std::map<uint8_t, std::string> names_;
};

}  // namespace holdfast::track
