#include "base/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace holdfast {
namespace {

// Length of the valid UTF-8 sequence at the start of `text`, or 0.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto in = [&](size_t i, uint8_t low, uint8_t high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return in(1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const uint8_t low = lead == 0xe0 ? 0xa0 : 0x80;
    const uint8_t high = lead == 0xed ? 0x9f : 0xbf;
    return in(1, low, high) && in(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const uint8_t low = lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xf4 ? 0x8f : 0xbf;
    return in(1, low, high) && in(2, 0x80, 0xbf) && in(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

// Letters added, left out, changed, or swapped with their neighbour. Three rows of the table: the
// current one and the two before it, which a swap looks back to.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string in_quotes(std::string_view text, size_t max_bytes) {
  std::string out = "\"";
  size_t at = 0;
  while (at < text.size() && at < max_bytes) {
    const size_t length = sequence_length(text.substr(at));
    const auto byte = static_cast<uint8_t>(text[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
      at += 1;
      continue;
    }
    if (byte == '"' || byte == '\\') out += '\\';
    out += text.substr(at, length);
    at += length;
  }
  out += at < text.size() ? "…\"" : "\"";
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t length = sequence_length(text);
    const auto byte = static_cast<uint8_t>(text[0]);
    // Some terminals take those of two bytes for control characters, too.
    const bool control = (byte < 0x20 && byte != '\n') || byte == 0x7f ||
                         (length == 2 && byte == 0xc2 && static_cast<uint8_t>(text[1]) < 0xa0);
    const bool safe = length > 0 && !control;
    if (length == 0) length = 1;
    for (const char each : text.substr(0, length)) {
      if (safe) {
        out += each;
      } else {
        out += fmt::format("\\x{:02x}", static_cast<uint8_t>(each));
      }
    }
    text.remove_prefix(length);
  }
  return out;
}

std::optional<std::string_view> did_you_mean(std::string_view wrong,
                                             std::span<const std::string_view> candidates) {
  constexpr size_t kLongestWord = 64;
  if (wrong.size() > kLongestWord) return std::nullopt;
  std::optional<std::string_view> best;
  size_t best_distance = std::max<size_t>(1, wrong.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const size_t distance = edit_distance(wrong, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace holdfast
