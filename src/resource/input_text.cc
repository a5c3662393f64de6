#include "resource/input_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace holdfast::resource {

using std::string_view;

string_view without_bom(string_view text) {
  constexpr string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

Position position_of(string_view text, size_t offset) {
  const string_view before = text.substr(0, offset);
  const size_t line_end = before.rfind('\n');
  const size_t column =
      line_end == string_view::npos ? before.size() : before.size() - line_end - 1;
  return {static_cast<uint32_t>(std::ranges::count(before, '\n') + 1),
          static_cast<uint32_t>(column + 1)};
}

std::optional<ParseError> wrong_input(string_view text, const ParseOptions& options) {
  if (text.size() > options.max_input_bytes) {
    return too_many_bytes("the input", text.size(), options.max_input_bytes);
  }
  if (const auto at = first_invalid_utf8(text)) {
    return ParseError{.at = position_of(text, *at),
                      .message = fmt::format("byte 0x{:02x} is not UTF-8; save the text as UTF-8",
                                             static_cast<uint8_t>(text[*at]))};
  }
  if (const size_t at = text.find('\0'); at != string_view::npos) {
    return ParseError{.at = position_of(text, at),
                      .message = "the text holds a NUL; is it a text file in UTF-8?"};
  }
  return std::nullopt;
}

ParseError too_many_bytes(string_view what, size_t size_bytes, size_t max_bytes) {
  return {
      .code = ErrorCode::TooLarge,
      .message = fmt::format("{} is {} bytes long; use at most {}", what, size_bytes, max_bytes)};
}

ParseError too_deep(Position at, const ParseOptions& options) {
  return {.code = ErrorCode::TooLarge,
          .at = at,
          .message = fmt::format("nested more than {} levels deep", options.max_depth)};
}

ParseError too_many_nodes(Position at, const ParseOptions& options) {
  return {.code = ErrorCode::TooLarge,
          .at = at,
          .message = fmt::format("more than {} values; split the input", options.max_nodes)};
}

ParseError duplicate_key(const Member& member) {
  return {.code = ErrorCode::Duplicate,
          .at = member.key_at,
          .message = fmt::format("the key {} is given twice; keep one", in_quotes(member.key))};
}

}  // namespace holdfast::resource
