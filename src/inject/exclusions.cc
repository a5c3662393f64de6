#include "inject/exclusions.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace holdfast::inject {
namespace {

using std::string_view;

std::vector<std::string> parts(string_view list) {
  std::vector<std::string> out;
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(list.data(), list.size()), ',')) {
    const absl::string_view text = absl::StripAsciiWhitespace(part);
    if (!text.empty()) out.emplace_back(text);
  }
  return out;
}

bool covers(const std::string& part, uint16_t port) {
  const std::vector<std::string> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
  uint32_t first = 0;
  if (!absl::SimpleAtoi(ends.front(), &first)) return false;
  uint32_t last = first;
  if (ends.size() == 2 && !absl::SimpleAtoi(ends.back(), &last)) return false;
  return first <= port && port <= last;
}

}  // namespace

std::string with_ports(string_view list, std::span<const uint16_t> ports) {
  const std::vector<std::string> there = parts(list);
  std::string out;
  for (const uint16_t port : ports) {
    const auto is_there = [&](const std::string& part) { return covers(part, port); };
    if (std::ranges::any_of(there, is_there)) continue;
    out += fmt::format("{}{}", out.empty() ? "" : ",", port);
  }
  if (out.empty()) return std::string(list);
  return there.empty() ? out : fmt::format("{},{}", out, list);
}

std::string without_ports(string_view list, std::span<const uint16_t> ports) {
  std::vector<std::string> kept = parts(list);
  std::erase_if(kept, [&](const std::string& part) {
    return std::ranges::any_of(ports, [&](uint16_t port) { return part == std::to_string(port); });
  });
  return fmt::format("{}", fmt::join(kept, ","));
}

}  // namespace holdfast::inject
