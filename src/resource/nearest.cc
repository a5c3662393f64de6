#include "resource/nearest.h"

#include <algorithm>

#include "base/bytes.h"

namespace holdfast::resource {
namespace {

bool is_swapped(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const auto at = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  return at + 1 < a.size() && a[at] == b[at + 1] && a[at + 1] == b[at] &&
         a.substr(at + 2) == b.substr(at + 2);
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view wrong,
                                        std::span<const std::string_view> candidates) {
  for (const std::string_view candidate : candidates) {
    if (is_swapped(wrong, candidate)) return candidate;
  }
  return did_you_mean(wrong, candidates);
}

}  // namespace holdfast::resource
