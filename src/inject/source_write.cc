#include "inject/source_write.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include <algorithm>

#include "inject/source_node.h"

namespace holdfast::inject {
namespace {

using std::string_view;
using Shape = SourceNode::Shape;

std::string json_text(const std::string& text) {
  return boost::json::serialize(boost::json::value(text));
}

// Printable, on one line, and not to be folded at its ends.
bool fits_single_quotes(string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
}

std::string quoted_text(const std::string& text) {
  if (!text.contains('"') || !fits_single_quotes(text)) return json_text(text);
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? 2 : 1, c);
  return out + "'";
}

// A text of several lines that can stand as it is below a |.
bool fits_literal(string_view text) {
  if (!text.contains('\n') || text.starts_with(' ') || text.starts_with('\n')) return false;
  return std::ranges::all_of(text,
                             [](unsigned char c) { return c == '\n' || (c >= 0x20 && c != 0x7f); });
}

std::string literal_text(string_view text, size_t column) {
  const size_t last = text.find_last_not_of('\n');
  const size_t line_ends = text.size() - last - 1;
  std::string out = line_ends == 0 ? "|-" : line_ends == 1 ? "|" : "|+";
  string_view rest = text.substr(0, last + 1);
  while (!rest.empty()) {
    const string_view line = rest.substr(0, rest.find('\n'));
    out += line.empty() ? "\n" : fmt::format("\n{:{}}{}", "", column, line);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  if (line_ends > 1) out.append(line_ends - 1, '\n');
  return out;
}

std::string item_text(const SourceNode& item, size_t column) {
  return block_text(item, column + 2);
}

}  // namespace

std::string inline_text(const SourceNode& node) {
  if (node.shape == Shape::Null) return "null";
  if (node.shape != Shape::Scalar) return flow_text(node);
  if (!node.tag.empty()) return fmt::format("!<{}> {}", node.tag, json_text(node.text));
  if (node.plain && !node.text.contains('\n')) return node.text;
  return is_plain_text(node.text) ? node.text : quoted_text(node.text);
}

std::string flow_text(const SourceNode& node) {
  std::string out;
  if (node.shape == Shape::Map) {
    for (const SourceMember& member : node.members) {
      out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", json_text(member.key.text),
                         flow_text(member.value));
    }
    return fmt::format("{{{}}}", out);
  }
  if (node.shape == Shape::List) {
    for (const SourceNode& item : node.items) {
      out += fmt::format("{}{}", out.empty() ? "" : ", ", flow_text(item));
    }
    return fmt::format("[{}]", out);
  }
  if (node.shape == Shape::Null) return "null";
  return node.plain && !node.text.contains('\n') ? node.text : json_text(node.text);
}

std::string pretty_text(const SourceNode& node, string_view indent) {
  if (!is_collection(node) || is_empty(node)) return flow_text(node);
  const std::string inner = fmt::format("{}  ", indent);
  std::string out;
  const auto add = [&](const std::string& text) {
    out += fmt::format("{}\n{}{}", out.empty() ? "" : ",", inner, text);
  };
  for (const SourceMember& member : node.members) {
    add(fmt::format("{}: {}", json_text(member.key.text), pretty_text(member.value, inner)));
  }
  for (const SourceNode& item : node.items) add(pretty_text(item, inner));
  const bool map = node.shape == Shape::Map;
  return fmt::format("{}{}\n{}{}", map ? "{" : "[", out, indent, map ? "}" : "]");
}

std::string block_member(const SourceMember& member, size_t column) {
  const std::string name = inline_text(member.key);
  const SourceNode& value = member.value;
  if (is_collection(value) && !is_empty(value)) {
    const size_t inner = value.shape == Shape::Map ? column + 2 : column;
    return fmt::format("{}:\n{:{}}{}", name, "", inner, block_text(value, inner));
  }
  return fmt::format("{}: {}", name, block_text(value, column + 2));
}

std::string block_text(const SourceNode& node, size_t column) {
  const bool literal = node.shape == Shape::Scalar && !node.plain && node.tag.empty();
  if (literal && fits_literal(node.text)) return literal_text(node.text, column);
  if (!is_collection(node) || is_empty(node)) return inline_text(node);
  std::string out;
  const auto add = [&](const std::string& text) {
    if (!out.empty()) out += fmt::format("\n{:{}}", "", column);
    out += text;
  };
  for (const SourceMember& member : node.members) add(block_member(member, column));
  for (const SourceNode& item : node.items) add("- " + item_text(item, column));
  return out;
}

}  // namespace holdfast::inject
