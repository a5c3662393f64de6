// A strict JSON reader that remembers where everything stood. Recursion is bounded by
// ParseOptions::max_depth.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/bytes.h"
#include "resource/input_text.h"
#include "resource/node.h"

namespace holdfast::resource {
namespace {

using std::string_view;

std::optional<uint32_t> hex_digit(char c) {
  if (is_digit(c)) return static_cast<uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint32_t>(c - 'A' + 10);
  return std::nullopt;
}

void append_utf8(std::string& out, uint32_t code_point) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | ((code_point >> shift) & 0x3f));
  };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xc0 | (code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xe0 | (code_point >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code_point >> 18));
    tail(12), tail(6), tail(0);
  }
}

// Every reading function returns false after it has noted the error; the caller passes it on.
class JsonReader {
 public:
  JsonReader(string_view text, const ParseOptions& options) : text_(text), options_(options) {}

  Parsed<Node> read() {
    Node root;
    if (!read_value(root, 1)) return std::unexpected(std::move(error_));
    skip_space();
    if (at_ < text_.size()) {
      fail("text after the end of the document; remove it");
      return std::unexpected(std::move(error_));
    }
    return root;
  }

 private:
  bool read_value(Node& out, size_t depth) {
    skip_space();
    out.at = here();
    if (++nodes_ > options_.max_nodes) return fail(too_many_nodes(out.at, options_));
    switch (peek()) {
      case '{':
        return read_object(out, depth);
      case '[':
        return read_array(out, depth);
      case '"':
        out.shape = Node::Shape::Scalar;
        out.quoted = true;
        return read_string(out.text);
      default:
        return read_word(out);
    }
  }

  bool read_object(Node& out, size_t depth) {
    if (depth > options_.max_depth) return fail(too_deep(out.at, options_));
    out.shape = Node::Shape::Mapping;
    ++at_;
    skip_space();
    if (take('}')) return true;
    do {
      skip_space();
      Member& member = out.members.emplace_back();
      member.key_at = here();
      if (peek() != '"') return fail("expected a key in double quotes");
      if (!read_string(member.key)) return false;
      skip_space();
      if (!take(':')) return fail("expected ':' after the key");
      if (!read_value(member.value, depth + 1)) return false;
      skip_space();
    } while (take(','));
    if (!take('}')) return fail("expected ',' or '}'");
    if (const Member* twice = first_duplicate(out)) return fail(duplicate_key(*twice));
    return true;
  }

  bool read_array(Node& out, size_t depth) {
    if (depth > options_.max_depth) return fail(too_deep(out.at, options_));
    out.shape = Node::Shape::Sequence;
    ++at_;
    skip_space();
    if (take(']')) return true;
    do {
      if (!read_value(out.items.emplace_back(), depth + 1)) return false;
      skip_space();
    } while (take(','));
    return take(']') || fail("expected ',' or ']'");
  }

  bool read_string(std::string& out) {
    ++at_;
    for (;;) {
      const size_t start = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
             static_cast<uint8_t>(text_[at_]) >= 0x20) {
        ++at_;
      }
      out.append(text_, start, at_ - start);
      if (take('"')) return true;
      if (at_ >= text_.size()) return fail("the text ends inside a string");
      if (text_[at_] != '\\') return fail("a control character in a string; escape it");
      if (!read_escape(out)) return false;
    }
  }

  bool read_escape(std::string& out) {
    constexpr string_view kLetters = "\"\\/bfnrt";
    constexpr string_view kMeanings = "\"\\/\b\f\n\r\t";
    ++at_;
    if (take('u')) return read_code_point(out);
    const size_t index = at_ < text_.size() ? kLetters.find(text_[at_]) : string_view::npos;
    if (index == string_view::npos) return fail("not an escape JSON has; write \\\\ for '\\'");
    out += kMeanings[index];
    ++at_;
    return true;
  }

  // After "\u": four digits, or the two halves of a surrogate pair.
  bool read_code_point(std::string& out) {
    uint32_t code_point = 0;
    if (!read_hex(code_point)) return false;
    if (code_point >= 0xdc00 && code_point <= 0xdfff) return fail("half of a surrogate pair");
    if (code_point >= 0xd800 && code_point <= 0xdbff) {
      uint32_t low = 0;
      if (!take('\\') || !take('u')) return fail("half of a surrogate pair");
      if (!read_hex(low)) return false;
      if (low < 0xdc00 || low > 0xdfff) return fail("half of a surrogate pair");
      code_point = 0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, code_point);
    return true;
  }

  bool read_hex(uint32_t& out) {
    for (int i = 0; i < 4; ++i, ++at_) {
      const auto digit = hex_digit(peek());
      if (!digit) return fail("expected four hexadecimal digits after \\u");
      out = out * 16 + *digit;
    }
    return true;
  }

  // A number, or one of JSON's three words.
  bool read_word(Node& out) {
    const size_t start = at_;
    if (peek() == '-' || is_digit(peek())) {
      if (!skip_number()) return false;
      out.shape = Node::Shape::Scalar;
      out.text = text_.substr(start, at_ - start);
      return true;
    }
    for (const string_view word : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      if (word == "null") return true;
      out.shape = Node::Shape::Scalar;
      out.text = word;
      return true;
    }
    if (at_ >= text_.size()) return fail("the text ends where a value is expected");
    return fail("expected a value: an object, a list, a string in double quotes, or a number");
  }

  bool skip_number() {
    take('-');
    if (!take('0') && !skip_digits()) return false;
    if (is_digit(peek())) return fail("a number with a leading zero; write it without");
    if (take('.') && !skip_digits()) return false;
    if (peek() != 'e' && peek() != 'E') return true;
    ++at_;
    if (!take('+')) take('-');
    return skip_digits();
  }

  bool skip_digits() {
    if (!is_digit(peek())) return fail("expected a digit");
    while (is_digit(peek())) ++at_;
    return true;
  }

  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
      if (c != '\n') continue;
      ++line_;
      line_start_ = at_ + 1;
    }
  }

  // A NUL at the end: wrong_input() has refused it anywhere else.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  Position here() const { return {line_, static_cast<uint32_t>(at_ - line_start_ + 1)}; }

  bool fail(string_view message) {
    return fail(ParseError{.at = here(), .message = std::string(message)});
  }
  bool fail(ParseError error) {
    error_ = std::move(error);
    return false;
  }

  string_view text_;
  const ParseOptions& options_;
  size_t at_ = 0;
  size_t nodes_ = 0;
  uint32_t line_ = 1;
  size_t line_start_ = 0;
  ParseError error_;
};

}  // namespace

Parsed<Node> read_json(string_view text, const ParseOptions& options) {
  if (auto wrong = wrong_input(text, options)) return std::unexpected(*std::move(wrong));
  if (text.size() > options.max_document_bytes) {
    return std::unexpected(too_many_bytes("the document", text.size(), options.max_document_bytes));
  }
  return JsonReader(without_bom(text), options).read();
}

}  // namespace holdfast::resource
