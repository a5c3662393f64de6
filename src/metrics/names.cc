#include "metrics/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"

namespace holdfast::metrics {
namespace {

constexpr std::string_view kPrefix = "holdfast_";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

struct Unit {
  std::string_view word;
  std::string_view base;
};
constexpr auto kScaledUnits = std::to_array<Unit>({
    {"ns", "seconds"},      {"nanoseconds", "seconds"},  {"us", "seconds"},
    {"ms", "seconds"},      {"microseconds", "seconds"}, {"milliseconds", "seconds"},
    {"minutes", "seconds"}, {"hours", "seconds"},        {"days", "seconds"},
    {"kb", "bytes"},        {"kilobytes", "bytes"},      {"kib", "bytes"},
    {"mb", "bytes"},        {"megabytes", "bytes"},      {"mib", "bytes"},
    {"gb", "bytes"},        {"gigabytes", "bytes"},      {"gib", "bytes"},
    {"bits", "bytes"},      {"percent", "ratio"},
});
// The exposition adds these to a histogram's name, or as labels, by itself.
constexpr std::array<std::string_view, 3> kReservedEndings = {"_bucket", "_count", "_sum"};
constexpr std::array<std::string_view, 2> kReservedLabels = {"le", "quantile"};

bool is_snake_case(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' && name.back() != '_' &&
         name.find("__") == name.npos && std::all_of(name.begin(), name.end(), allowed);
}

Status bad(std::string_view name, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("metric name {}: {}", in_quotes(name), what));
}

Status validate_units(std::string_view name) {
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('_', at), name.size());
    const std::string_view word = name.substr(at, end - at);
    const auto unit = std::find_if(kScaledUnits.begin(), kScaledUnits.end(),
                                   [&](const Unit& scaled) { return scaled.word == word; });
    if (unit != kScaledUnits.end()) {
      return bad(name, fmt::format("measure in {}, not {}", unit->base, word));
    }
    at = end + 1;
  }
  return absl::OkStatus();
}

// Longest start of valid UTF-8 `text` that fits and ends between characters.
std::string_view cut(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) end -= 1;
  return text.substr(0, end);
}

}  // namespace

Status validate_name(Type type, std::string_view name) {
  if (!name.starts_with(kPrefix)) return bad(name, "start it with holdfast_");
  if (!is_snake_case(name)) return bad(name, "use lower-case words joined by single underscores");
  const bool total = name.ends_with("_total");
  if (type == Type::Counter && !total) return bad(name, "end a counter's name in _total");
  if (type != Type::Counter && total) return bad(name, "only a counter's name ends in _total");
  for (const std::string_view ending : kReservedEndings) {
    if (name.ends_with(ending)) {
      return bad(name, fmt::format("{} is what a histogram adds; choose another ending", ending));
    }
  }
  return validate_units(name);
}

Status validate_label_name(std::string_view name) {
  if (!is_snake_case(name)) {
    return absl::InvalidArgumentError(fmt::format(
        "label name {}: use lower-case words joined by single underscores", in_quotes(name)));
  }
  if (std::find(kReservedLabels.begin(), kReservedLabels.end(), name) != kReservedLabels.end()) {
    return absl::InvalidArgumentError(fmt::format(
        "label name {}: the exposition adds it itself; choose another", in_quotes(name)));
  }
  return absl::OkStatus();
}

std::string printable_label_value(std::string_view value, size_t max_bytes) {
  std::string out;
  std::string_view rest = value.substr(0, std::min(value.size(), max_bytes + kReplacement.size()));
  while (const auto invalid = first_invalid_utf8(rest)) {
    out += rest.substr(0, *invalid);
    out += kReplacement;
    rest.remove_prefix(*invalid + 1);
  }
  out += rest;
  return std::string(cut(out, max_bytes));
}

}  // namespace holdfast::metrics
