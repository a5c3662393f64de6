#include "inject/exclusions.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

namespace holdfast::inject {
namespace {

using std::string_view;

constexpr uint32_t kMaxPort = 65'535;
constexpr size_t kMaxDigits = 5;

// Without the blanks around them; empty ones too.
std::vector<string_view> parts(string_view list) {
  std::vector<string_view> out;
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(list.data(), list.size()), ',')) {
    const absl::string_view text = absl::StripAsciiWhitespace(part);
    out.emplace_back(text.data(), text.size());
  }
  return out;
}

bool is_space(string_view list) {
  return list.find_first_not_of(" \t\r\n\v\f") == string_view::npos;
}

struct Range {
  uint16_t first = 0;
  uint16_t last = 0;
};

// "80" or "1-1023"; nothing if it is neither.
std::optional<Range> read_range(string_view part) {
  const size_t dash = part.find('-');
  const std::optional<uint16_t> first = read_port(part.substr(0, dash));
  const std::optional<uint16_t> last =
      dash == string_view::npos ? first : read_port(part.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return Range{*first, *last};
}

// Which ports a list names, as ranges that do not touch, in order: looking one up takes no longer
// because somebody wrote a long list.
class NamedPorts {
 public:
  // What is no port names none.
  explicit NamedPorts(string_view list) {
    std::vector<Range> all;
    for (const string_view part : parts(list)) {
      if (const std::optional<Range> range = read_range(part)) all.push_back(*range);
    }
    std::ranges::sort(all, {}, &Range::first);
    for (const Range& range : all) {
      if (!ranges_.empty() && range.first <= ranges_.back().last) {
        ranges_.back().last = std::max(ranges_.back().last, range.last);
      } else {
        ranges_.push_back(range);
      }
    }
  }

  bool has(uint16_t port) const {
    const auto after = std::ranges::upper_bound(ranges_, port, {}, &Range::first);
    return after != ranges_.begin() && port <= std::prev(after)->last;
  }

 private:
  std::vector<Range> ranges_;
};

}  // namespace

std::optional<uint16_t> read_port(string_view text) {
  if (text.empty() || text.size() > kMaxDigits) return std::nullopt;
  uint32_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<uint32_t>(c - '0');
  }
  return number >= 1 && number <= kMaxPort ? std::optional(static_cast<uint16_t>(number))
                                           : std::nullopt;
}

std::optional<std::string> wrong_part(string_view list) {
  if (is_space(list)) return std::nullopt;
  for (const string_view part : parts(list)) {
    if (!read_range(part)) return std::string(part);
  }
  return std::nullopt;
}

std::string with_ports(string_view list, std::span<const uint16_t> ports) {
  const NamedPorts there(list);
  std::string out;
  for (const uint16_t port : ports) {
    if (!there.has(port)) out += fmt::format("{}{}", out.empty() ? "" : ",", port);
  }
  if (out.empty()) return std::string(list);
  return is_space(list) ? out : fmt::format("{},{}", out, list);
}

std::string without_ports(string_view list, std::span<const uint16_t> ports) {
  std::set<std::string, std::less<>> gone;
  for (const uint16_t port : ports) gone.insert(std::to_string(port));
  std::vector<string_view> kept = parts(list);
  std::erase_if(kept, [&](string_view part) { return part.empty() || gone.contains(part); });
  return fmt::format("{}", fmt::join(kept, ","));
}

}  // namespace holdfast::inject
