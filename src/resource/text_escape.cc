#include "resource/text_escape.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

#include "base/bytes.h"

namespace holdfast::resource {
namespace {

using std::string_view;

// Bytes of the UTF-8 sequence that begins with `lead`.
size_t sequence_bytes(uint8_t lead) {
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

uint32_t code_point(string_view sequence) {
  const auto lead = static_cast<uint8_t>(sequence.front());
  if (sequence.size() == 1) return lead;
  uint32_t value = lead & (0xffU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) value = (value << 6) | (static_cast<uint8_t>(c) & 0x3f);
  return value;
}

bool needs_escape(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) || code_point == 0x2028 ||
         code_point == 0x2029 || code_point == 0xfeff;
}

void append_valid(std::string& out, string_view text) {
  for (size_t at = 0; at < text.size();) {
    const string_view sequence = text.substr(at, sequence_bytes(static_cast<uint8_t>(text[at])));
    at += sequence.size();
    const uint32_t value = code_point(sequence);
    if (value == '"' || value == '\\') {
      out += '\\';
      out += sequence;
    } else if (value == '\n') {
      out += "\\n";
    } else if (value == '\t') {
      out += "\\t";
    } else if (needs_escape(value)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", value);
    } else {
      out += sequence;
    }
  }
}

}  // namespace

void append_escaped(std::string& out, string_view text) {
  constexpr string_view kReplacement = "\xef\xbf\xbd";
  out += '"';
  while (const auto invalid = first_invalid_utf8(text)) {
    append_valid(out, text.substr(0, *invalid));
    out += kReplacement;
    text.remove_prefix(*invalid + 1);
  }
  append_valid(out, text);
  out += '"';
}

}  // namespace holdfast::resource
