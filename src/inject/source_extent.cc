#include "inject/source_extent.h"

#include <algorithm>
#include <optional>

namespace holdfast::inject {
namespace {

using std::string_view;
using Shape = SourceNode::Shape;

constexpr string_view kBlank = " \t\r\n";

bool is_blank(char c) {
  return kBlank.contains(c);
}

// Over blanks and comments.
size_t skip_blank(string_view text, size_t at) {
  while (at < text.size()) {
    at = std::min(text.find_first_not_of(kBlank, at), text.size());
    const bool comment = at < text.size() && text[at] == '#' && at > 0 && is_blank(text[at - 1]);
    if (!comment) return at;
    at = std::min(text.find('\n', at), text.size());
  }
  return at;
}

// Over tags and anchors.
size_t skip_properties(string_view text, size_t at) {
  while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
    at = std::min(text.find_first_of(kBlank, at), text.size());
    at = skip_blank(text, at);
  }
  return at;
}

size_t quoted_end(string_view text, size_t begin) {
  const char quote = text[begin];
  for (size_t at = begin + 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || !text.substr(at + 1).starts_with('\'')) return at + 1;
      ++at;
    }
  }
  return kNowhere;
}

// A plain scalar may go over several lines; then its blanks are not those of its content.
size_t plain_end(string_view text, size_t begin, string_view content) {
  size_t at = begin;
  for (size_t i = 0; i < content.size(); ++i) {
    if (is_blank(content[i])) {
      while (i + 1 < content.size() && is_blank(content[i + 1])) ++i;
      const size_t next = text.find_first_not_of(kBlank, at);
      if (next == kNowhere || next == at) return kNowhere;
      at = next;
    } else if (at < text.size() && text[at] == content[i]) {
      ++at;
    } else {
      return kNowhere;
    }
  }
  return at;
}

// Of | and >: every line that is indented as the first one, or blank.
size_t block_end(string_view text, size_t begin) {
  const size_t header_end = line_end(text, begin);
  const bool keep = text.substr(begin, header_end - begin).contains('+');
  std::optional<size_t> indent;
  size_t end = header_end;
  size_t at = text.find('\n', begin);
  while (at != kNowhere && at + 1 < text.size()) {
    const size_t start = at + 1;
    const size_t stop = line_end(text, start);
    const size_t first = std::min(text.find_first_not_of(' ', start), stop);
    const bool blank = first == stop;
    if (!blank && !indent) indent = first - start;
    if (!blank && (first - start < *indent || *indent == 0)) break;
    if (!blank || keep) end = stop;
    at = text.find('\n', start);
  }
  return end;
}

size_t scalar_end(string_view text, const SourceNode& node) {
  const char first = text[node.begin];
  if (!node.plain && (first == '"' || first == '\'')) return quoted_end(text, node.begin);
  if (!node.plain && (first == '|' || first == '>')) return block_end(text, node.begin);
  return plain_end(text, node.begin, node.text);
}

// An empty value has no place of its own: it is behind the colon of its key.
void measure_null(string_view text, const SourceNode& name, SourceNode& node) {
  if (node.shape != Shape::Null || node.end != kNowhere || name.end == kNowhere) return;
  const size_t colon = text.find_first_not_of(' ', name.end);
  if (colon == kNowhere || text[colon] != ':') return;
  node.begin = node.end = colon + 1;
}

size_t null_end(string_view text, size_t begin) {
  for (const string_view word : {"null", "Null", "NULL", "~"}) {
    if (text.substr(begin).starts_with(word)) return begin + word.size();
  }
  return kNowhere;
}

void measure_flow(string_view text, SourceNode& node) {
  const bool map = node.shape == Shape::Map;
  size_t at = node.begin + 1;
  if (map && !node.members.empty()) at = node.members.back().value.end;
  if (!map && !node.items.empty()) at = node.items.back().end;
  if (node.begin >= text.size() || text[node.begin] != (map ? '{' : '[') || at == kNowhere) return;
  at = skip_blank(text, at);
  if (at < text.size() && text[at] == ',') at = skip_blank(text, at + 1);
  if (at < text.size() && text[at] == (map ? '}' : ']')) node.end = at + 1;
}

}  // namespace

size_t line_end(string_view text, size_t at) {
  size_t end = std::min(text.find('\n', at), text.size());
  if (end > at && text[end - 1] == '\r') --end;
  return end;
}

size_t line_begin(string_view text, size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
}

size_t column(string_view text, size_t at) {
  return at - line_begin(text, at);
}

bool is_first_on_line(string_view text, size_t at) {
  const size_t begin = line_begin(text, at);
  return text.substr(begin, at - begin).find_first_not_of(' ') == kNowhere;
}

size_t end_of_alias(string_view text, size_t begin) {
  return std::min(text.find_first_of(" \t\r\n,[]{}", begin), text.size());
}

void measure(string_view text, SourceNode& node) {
  if (node.begin >= text.size()) return;
  if (node.shared) return;
  node.begin = skip_properties(text, node.begin);
  if (node.begin >= text.size()) return;
  if (node.shape == Shape::Null) node.end = null_end(text, node.begin);
  if (node.shape == Shape::Scalar) node.end = scalar_end(text, node);
  for (SourceMember& member : node.members) measure_null(text, member.key, member.value);
  if (node.flow) {
    measure_flow(text, node);
  } else if (!node.members.empty()) {
    node.end = node.members.back().value.end;
  } else if (!node.items.empty()) {
    node.end = node.items.back().end;
  }
}

}  // namespace holdfast::inject
