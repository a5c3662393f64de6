// review_timeout() of review.h: durations as Go writes them, "1h2m3.5s".
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "inject/review.h"

namespace holdfast::inject {
namespace {

using std::string_view;

constexpr std::array<std::pair<string_view, double>, 7> kUnits = {{{"ns", 1},
                                                                   {"us", 1e3},
                                                                   {"\u00b5s", 1e3},
                                                                   {"ms", 1e6},
                                                                   {"s", 1e9},
                                                                   {"m", 60e9},
                                                                   {"h", 3600e9}}};

bool is_number(char c) {
  return (c >= '0' && c <= '9') || c == '.';
}

// One number with its unit, taken off the front; in nanoseconds.
std::optional<double> take_part(string_view& text) {
  const auto after_number = std::ranges::find_if_not(text, is_number);
  const string_view digits = text.substr(0, static_cast<size_t>(after_number - text.begin()));
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  text.remove_prefix(digits.size());
  const auto after_unit = std::ranges::find_if(text, is_number);
  const string_view unit = text.substr(0, static_cast<size_t>(after_unit - text.begin()));
  text.remove_prefix(unit.size());
  for (const auto& [name, nanoseconds] : kUnits) {
    if (name == unit) return number * nanoseconds;
  }
  return std::nullopt;
}

}  // namespace

Duration review_timeout(string_view text, Duration otherwise, Duration most) {
  constexpr size_t kMaxBytes = 64;
  if (text.size() > kMaxBytes) return std::min(otherwise, most);
  double total = 0;
  while (!text.empty()) {
    const std::optional<double> part = take_part(text);
    if (!part) return std::min(otherwise, most);
    total += *part;
  }
  if (!(total >= 1)) return std::min(otherwise, most);
  if (total >= static_cast<double>(most.count())) return most;
  return Duration(static_cast<int64_t>(total));
}

}  // namespace holdfast::inject
