#include "inject/warning.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace holdfast::inject {

std::string without_code(const Warning& warning) {
  return warning.place.empty() ? warning.text : fmt::format("{}: {}", warning.place, warning.text);
}

std::string to_text(const Warning& warning) {
  return fmt::format("{}: {}", warning.code, without_code(warning));
}

std::vector<Warning> condensed(const std::vector<Warning>& warnings) {
  std::map<std::string_view, size_t> count;
  for (const Warning& warning : warnings) count[warning.code] += 1;
  std::map<std::string_view, size_t> shown;
  std::vector<Warning> out;
  for (const Warning& warning : warnings) {
    const size_t so_far = ++shown[warning.code];
    const size_t all = count[warning.code];
    // One more is as short as saying that there is one more.
    if (so_far <= kShownOfAKind || all == kShownOfAKind + 1) out.push_back(warning);
    if (so_far != kShownOfAKind || all <= kShownOfAKind + 1) continue;
    out.push_back({warning.code, "", fmt::format("and {} more like these", all - kShownOfAKind)});
  }
  return out;
}

}  // namespace holdfast::inject
