// Showing a ParseError: as a Status, and as a compiler would.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "resource/input_text.h"
#include "resource/node.h"

namespace holdfast::resource {
namespace {

using std::string_view;

constexpr size_t kMaxShownBytes = 160;

string_view line_of(string_view text, uint32_t line) {
  for (uint32_t i = 1; i < line; ++i) {
    const size_t end = text.find('\n');
    if (end == string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find_first_of("\r\n"));
}

// How many bytes the word or quoted text at the start of `text` takes; at least 1.
size_t word_bytes(string_view text) {
  if (text.empty()) return 1;
  const char quote = text.front();
  if (quote == '"' || quote == '\'') {
    const size_t end = text.find(quote, 1);
    if (end != string_view::npos) return end + 1;
  }
  const size_t end = text.find_first_of(" \t:,[]{}#");
  return std::max<size_t>(1, std::min(end, text.size()));
}

// What a terminal shows one column for, as near as can be told without its font.
size_t columns(string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

// At most the first `max_bytes`, without half a character at the end.
string_view cut(string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<uint8_t>(text[max_bytes]) & 0xc0) == 0x80) --max_bytes;
  return text.substr(0, max_bytes);
}

// The line as it may be printed: tabs and what a terminal would obey become one column each.
std::string printable(string_view line) {
  std::string out;
  for (const char c : line) {
    out += static_cast<uint8_t>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  if (first_invalid_utf8(out)) {
    std::ranges::replace_if(out, [](char c) { return static_cast<uint8_t>(c) >= 0x80; }, '?');
  }
  return out;
}

std::string what(const ParseError& error) {
  return error.field.empty() ? error.message : fmt::format("{}: {}", error.field, error.message);
}

}  // namespace

Status to_status(const ParseError& error) {
  return absl::InvalidArgumentError(
      fmt::format("{}:{}: {}", error.at.line, error.at.column, what(error)));
}

std::string format_error(string_view file, string_view text, const ParseError& error) {
  return fmt::format("{}:{}:{}: error HF{}: {}\n{}", file, error.at.line, error.at.column,
                     static_cast<int>(error.code), what(error), source_excerpt(text, error.at));
}

std::string source_excerpt(string_view text, Position at) {
  const string_view line = cut(line_of(without_bom(text), at.line), kMaxShownBytes);
  const size_t offset = at.column - 1;
  // A line too long to show, or a place past its end, is not shown.
  if (line.empty() || offset > line.size()) return "";
  const std::string before = printable(line.substr(0, offset));
  const std::string at_and_after = printable(line.substr(offset));
  const size_t width = columns(at_and_after.substr(0, word_bytes(at_and_after)));
  return fmt::format("{:>5} | {}{}\n      | {:{}}^{:~<{}}\n", at.line, before, at_and_after, "",
                     columns(before), "", std::max<size_t>(width, 1) - 1);
}

}  // namespace holdfast::resource
