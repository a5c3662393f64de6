#include "inject/source_node.h"

#include <absl/strings/numbers.h>

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "inject/json_edit.h"
#include "inject/json_pointer.h"

namespace holdfast::inject {
namespace {

using std::string_view;
using Shape = SourceNode::Shape;

bool is_one_of(string_view text, std::initializer_list<string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool is_true(string_view text) {
  return is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"});
}

bool is_false(string_view text) {
  return is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"});
}

// A number in the words of YAML 1.1, or nothing.
std::optional<json::value> number_of(string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != '_') digits += c;
  }
  string_view rest = digits;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.empty() || text.starts_with('_')) return std::nullopt;
  const bool starts_number = rest.front() == '.' || (rest.front() >= '0' && rest.front() <= '9');
  if (!starts_number) return std::nullopt;
  if (is_one_of(rest, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"})) return json::value(0.5);
  int base = 10;
  if (rest.starts_with("0x")) base = 16;
  if (rest.starts_with("0o")) base = 8;
  if (rest.starts_with("0b")) base = 2;
  if (base != 10) rest.remove_prefix(2);
  if (base == 10 && rest.size() > 1 && rest.front() == '0' &&
      rest.find_first_not_of("01234567") == string_view::npos) {
    base = 8;
  }
  uint64_t whole = 0;
  const char* last = rest.data() + rest.size();
  const auto read = std::from_chars(rest.data(), last, whole, base);
  if (read.ec == std::errc() && read.ptr == last && whole <= INT64_MAX) {
    return json::value(negative ? -static_cast<int64_t>(whole) : static_cast<int64_t>(whole));
  }
  double real = 0;
  if (base != 10 || !absl::SimpleAtod(absl::string_view(rest.data(), rest.size()), &real)) {
    return std::nullopt;
  }
  return json::value(negative ? -real : real);
}

json::value scalar_value(const SourceNode& node) {
  const bool typed = node.tag == "tag:yaml.org,2002:int" || node.tag == "tag:yaml.org,2002:bool" ||
                     node.tag == "tag:yaml.org,2002:float";
  if (!node.plain && !typed) return json::value(node.text);
  if (is_true(node.text)) return json::value(true);
  if (is_false(node.text)) return json::value(false);
  if (auto number = number_of(node.text)) return *std::move(number);
  return json::value(node.text);
}

// What to compare of a scalar: a plain one that is text equals the same text in quotes.
bool same_scalar(const SourceNode& left, const SourceNode& right) {
  if (left.text != right.text || left.tag != right.tag) return false;
  return left.plain == right.plain ||
         scalar_value(left).is_string() == scalar_value(right).is_string();
}

const SourceMember* find_member(const SourceNode& map, string_view name) {
  for (const SourceMember& member : map.members) {
    if (member.key.text == name) return &member;
  }
  return nullptr;
}

SourceNode* step(SourceNode& node, const std::string& name) {
  if (node.shape == Shape::Map) {
    for (SourceMember& member : node.members) {
      if (member.key.text == name) return &member.value;
    }
    return nullptr;
  }
  size_t index = 0;
  const bool fits = node.shape == Shape::List && absl::SimpleAtoi(name, &index);
  return fits && index < node.items.size() ? &node.items[index] : nullptr;
}

bool remove_from(SourceNode& parent, const std::string& name) {
  if (parent.shape == Shape::Map) {
    return std::erase_if(parent.members,
                         [&](const SourceMember& one) { return one.key.text == name; }) == 1;
  }
  SourceNode* item = step(parent, name);
  if (item == nullptr) return false;
  parent.items.erase(parent.items.begin() + (item - parent.items.data()));
  return true;
}

bool add_to(SourceNode& parent, const std::string& name, const json::value& value) {
  if (parent.shape == Shape::Map) {
    parent.members.push_back({to_source(json::value(name)), to_source(value)});
    return true;
  }
  size_t index = 0;
  if (parent.shape != Shape::List || !absl::SimpleAtoi(name, &index)) return false;
  if (index > parent.items.size()) return false;
  parent.items.insert(parent.items.begin() + static_cast<ptrdiff_t>(index), to_source(value));
  return true;
}

}  // namespace

bool is_plain_text(string_view text) {
  constexpr string_view kSafe = "_./@+:=-";
  const auto alnum = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (text.empty() || text.ends_with(':')) return false;
  if (!alnum(text.front()) && text.front() != '/') return false;
  if (!std::ranges::all_of(text, [&](char c) { return alnum(c) || kSafe.contains(c); }))
    return false;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  if (is_true(lower) || is_false(lower) || is_one_of(lower, {"null", "y", "n"})) return false;
  // Numbers, times and dates of any dialect.
  return text.front() < '0' || text.front() > '9' ||
         lower.find_first_not_of("0123456789abcdefox_.:+-t") != string_view::npos;
}

json::value to_value(const SourceNode& node) {
  switch (node.shape) {
    case Shape::Null:
      return nullptr;
    case Shape::Scalar:
      return scalar_value(node);
    case Shape::List: {
      json::array out;
      for (const SourceNode& item : node.items) out.push_back(to_value(item));
      return out;
    }
    case Shape::Map: {
      json::object out;
      for (const SourceMember& member : node.members) out[member.key.text] = to_value(member.value);
      return out;
    }
  }
  return nullptr;
}

SourceNode to_source(const json::value& value) {
  SourceNode out;
  if (value.is_null()) return out;
  if (value.is_object()) {
    out.shape = Shape::Map;
    for (const auto& [name, one] : value.get_object()) {
      out.members.push_back({to_source(json::value(name)), to_source(one)});
    }
  } else if (value.is_array()) {
    out.shape = Shape::List;
    for (const json::value& item : value.get_array()) out.items.push_back(to_source(item));
  } else {
    out.shape = Shape::Scalar;
    out.plain = !value.is_string();
    out.text = value.is_string() ? std::string(view(value.get_string())) : json::serialize(value);
  }
  return out;
}

const SourceNode* find_node(const SourceNode& root, string_view pointer) {
  SourceNode* node = const_cast<SourceNode*>(&root);  // step() changes nothing
  for (const std::string& name : keys_of(pointer)) {
    node = node == nullptr ? nullptr : step(*node, name);
  }
  return node;
}

bool apply_patch(SourceNode& root, const json::array& patch) {
  for (const json::value& item : patch) {
    const json::object& operation = item.as_object();
    std::vector<std::string> names = keys_of(find_text(operation, "path"));
    if (names.empty()) return false;
    const std::string last = std::move(names.back());
    names.pop_back();
    SourceNode* parent = &root;
    for (const std::string& name : names) {
      parent = step(*parent, name);
      if (parent == nullptr) return false;
    }
    const std::string kind = find_text(operation, "op");
    const json::value* value = find(operation, "value");
    bool fits = false;
    if (kind == "remove") fits = remove_from(*parent, last);
    if (kind == "add") fits = value != nullptr && add_to(*parent, last, *value);
    if (kind == "replace") {
      SourceNode* node = step(*parent, last);
      fits = node != nullptr && value != nullptr;
      if (fits) *node = to_source(*value);
    }
    if (!fits) return false;
  }
  return true;
}

bool same_content(const SourceNode& left, const SourceNode& right) {
  if (left.shape != right.shape) return false;
  if (left.shape == Shape::Scalar) return same_scalar(left, right);
  if (left.shape == Shape::List) {
    return std::ranges::equal(left.items, right.items, same_content);
  }
  if (left.members.size() != right.members.size()) return false;
  for (size_t i = 0; i < left.members.size(); ++i) {
    const SourceMember& member = left.members[i];
    const SourceMember* other = &right.members[i];  // where it mostly is
    if (other->key.text != member.key.text) other = find_member(right, member.key.text);
    if (other == nullptr || !same_content(member.value, other->value)) return false;
  }
  return true;
}

}  // namespace holdfast::inject
