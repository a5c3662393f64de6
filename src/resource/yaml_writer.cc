// The YAML form of a tree: block style, text without quotes where no reader could take it for
// anything else.
#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.h"
#include "resource/encode.h"
#include "resource/text_escape.h"

namespace holdfast::resource {
namespace {

using std::string_view;

constexpr size_t kIndent = 2;

// Words that some version of YAML takes for a boolean or null.
bool is_reserved(string_view text) {
  constexpr std::array<string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                 "off",  "null",  "y",   "n"};
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::ranges::any_of(
      kWords, [&](string_view word) { return std::ranges::equal(text, word, {}, lower); });
}

// Anything that some version of YAML might take for a number or a date, and more.
bool is_numeric(string_view text) {
  return is_digit(text.front()) && std::ranges::all_of(text, [](char c) {
           return string_view("0123456789abcdefABCDEFxXoO_.:+-").contains(c);
         });
}

bool is_plain(string_view text) {
  if (text.empty() || text.ends_with(':') || is_reserved(text) || is_numeric(text)) return false;
  if (!is_letter_or_digit(text.front()) && text.front() != '/') return false;
  return std::ranges::all_of(
      text, [](char c) { return is_letter_or_digit(c) || string_view("_./@+:=-").contains(c); });
}

class YamlWriter {
 public:
  // Writes a value whose first line begins where the output ends; further lines stand at `level`.
  void write(const Node& node, size_t level) {
    switch (node.shape) {
      case Node::Shape::Null:
        out_ += "null\n";
        return;
      case Node::Shape::Scalar:
        write_scalar(node.text, node.quoted);
        out_ += '\n';
        return;
      case Node::Shape::Sequence:
        return write_sequence(node, level);
      case Node::Shape::Mapping:
        return write_mapping(node, level);
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void write_sequence(const Node& node, size_t level) {
    if (node.items.empty()) out_ += "[]\n";
    for (size_t i = 0; i < node.items.size(); ++i) {
      if (i > 0) out_.append(level * kIndent, ' ');
      out_ += "- ";
      write(node.items[i], level + 1);
    }
  }

  void write_mapping(const Node& node, size_t level) {
    if (node.members.empty()) out_ += "{}\n";
    for (size_t i = 0; i < node.members.size(); ++i) {
      const Member& member = node.members[i];
      if (i > 0) out_.append(level * kIndent, ' ');
      write_scalar(member.key, true);
      out_ += ':';
      const bool below = !member.value.items.empty() || !member.value.members.empty();
      out_ += below ? '\n' : ' ';
      if (below) out_.append((level + 1) * kIndent, ' ');
      write(member.value, level + 1);
    }
  }

  void write_scalar(string_view text, bool is_text) {
    if (is_text && !is_plain(text)) {
      append_escaped(out_, text);
    } else {
      out_ += text;
    }
  }

  std::string out_;
};

}  // namespace

std::string write_yaml(const Node& node) {
  YamlWriter writer;
  writer.write(node, 0);
  return writer.take();
}

}  // namespace holdfast::resource
