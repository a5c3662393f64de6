#include "net/http_target.h"

#include <algorithm>

#include "base/bytes.h"

namespace holdfast::net {
namespace {

using std::string_view;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_clean(string_view text) {
  return !first_invalid_utf8(text) &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Result<std::string> decode(string_view text) {
  std::optional<std::string> decoded = percent_decode(text);
  if (decoded && is_clean(*decoded)) return *std::move(decoded);
  return absl::InvalidArgumentError(
      "a part of the path or query is not percent-encoded UTF-8 text");
}

// What comes before `separator`, which is taken off `rest` with it.
string_view take_until(string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

Result<std::string> decode_segment(string_view text) {
  TRY(std::string segment, decode(text));
  if (segment.empty() || segment == "." || segment == ".." ||
      segment.find_first_of("/\\") != std::string::npos) {
    return absl::InvalidArgumentError("a segment of the path is empty, dots, or holds a slash");
  }
  return segment;
}

Status parse_path(string_view path, size_t limit, HttpTarget& out) {
  if (!path.starts_with('/')) {
    return absl::InvalidArgumentError("the path does not begin with a slash");
  }
  out.ends_with_slash = path.ends_with('/');
  path.remove_prefix(1);
  while (!path.empty()) {
    if (out.segments.size() == limit) return absl::InvalidArgumentError("the path is too deep");
    TRY(std::string segment, decode_segment(take_until(path, '/')));
    out.segments.push_back(std::move(segment));
  }
  return absl::OkStatus();
}

Status parse_query(string_view query, size_t limit, HttpTarget& out) {
  while (!query.empty()) {
    string_view value = take_until(query, '&');
    if (value.empty()) continue;
    if (out.query.size() == limit) {
      return absl::InvalidArgumentError("the query has too many parameters");
    }
    // In a query '+' is a space, as browsers' forms write it.
    std::string with_spaces(value);
    std::ranges::replace(with_spaces, '+', ' ');
    value = with_spaces;
    TRY(std::string name, decode(take_until(value, '=')));
    TRY(std::string text, decode(value));
    out.query.emplace_back(std::move(name), std::move(text));
  }
  return absl::OkStatus();
}

// "http://host/path" as proxies are sent it: only the path is of interest.
string_view without_authority(string_view target) {
  for (const string_view scheme : {string_view("http://"), string_view("https://")}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    return target.substr(std::min(target.find('/'), target.size()));
  }
  return target;
}

}  // namespace

std::optional<std::string> percent_decode(string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

Result<HttpTarget> parse_target(string_view target, const HttpTargetLimits& limits) {
  string_view rest = without_authority(target);
  rest = rest.substr(0, rest.find('#'));
  const string_view path = take_until(rest, '?');
  HttpTarget out;
  TRY_OK(parse_path(path, limits.max_segments, out));
  TRY_OK(parse_query(rest, limits.max_parameters, out));
  return out;
}

}  // namespace holdfast::net
