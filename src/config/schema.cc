#include "config/schema.h"

#include <fmt/format.h>

#include <utility>

#include "config/keys.h"
#include "resource/encode.h"

namespace holdfast::config {
namespace {

using resource::Member;
using resource::Node;
using std::string_view;

Node text(string_view value) {
  return Node::scalar(std::string(value), true);
}

Node literal(string_view value) {
  return Node::scalar(std::string(value), false);
}

Node list(std::vector<Node> items) {
  Node out = Node::sequence();
  out.items = std::move(items);
  return out;
}

void set(Node& object, string_view key, Node value) {
  object.members.push_back({.key = std::string(key), .value = std::move(value)});
}

Node typed(string_view type) {
  Node out = Node::mapping();
  set(out, "type", text(type));
  return out;
}

// The member of that name, made if it is not there.
Node& child(Node& object, const std::string& name, const Node& fresh) {
  for (Member& member : object.members) {
    if (member.key == name) return member.value;
  }
  set(object, name, fresh);
  return object.members.back().value;
}

Node section() {
  Node out = typed("object");
  set(out, "additionalProperties", literal("false"));
  set(out, "properties", Node::mapping());
  return out;
}

std::string description(const Key& key) {
  std::string out(key.doc);
  if (const std::string range = range_text(key); !range.empty()) out += " Use " + range + ".";
  if (!key.only_in_file) out += " Environment: " + environment_name(key) + ".";
  if (key.needs_restart) out += " A change needs a restart.";
  return out;
}

Node count_schema(const Key& key) {
  Node out = typed("integer");
  set(out, "minimum", literal(fmt::format("{}", key.range.min)));
  set(out, "maximum", literal(fmt::format("{}", key.range.max)));
  return out;
}

Node text_schema(const Key& key) {
  Node out = typed("string");
  if (!key.may_be_empty) set(out, "minLength", literal("1"));
  return out;
}

Node list_schema(const Key& key) {
  Node item = typed("string");
  set(item, "minLength", literal("1"));
  Node many = typed("array");
  set(many, "items", item);
  set(many, "uniqueItems", literal("true"));
  if (!key.may_be_empty) set(many, "minItems", literal("1"));
  Node out = Node::mapping();
  set(out, "anyOf", list({std::move(item), std::move(many)}));
  return out;
}

Node value_schema(const Key& key) {
  Node out = Node::mapping();
  switch (key.type) {
    case Type::Text:
      return text_schema(key);
    case Type::List:
      return list_schema(key);
    case Type::Count:
      return count_schema(key);
    case Type::Bytes:
      set(out, "type", list({text("integer"), text("string")}));
      set(out, "pattern", text("^(0|[1-9][0-9]*)(B|KiB|MiB|GiB)?$"));
      return out;
    case Type::Time:
      out = typed("string");
      set(out, "pattern",
          text("^(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?([0-9]+us)?([0-9]+ns)?$"));
      return out;
    case Type::Choice:
      set(out, "enum", Node::sequence());
      for (const string_view word : key.words) out.members.back().value.items.push_back(text(word));
      return out;
    case Type::Policies:
    case Type::Checks:
      set(out, "type", list({text("object"), text("string")}));
      return out;
  }
  return out;
}

Node default_node(const Key& key) {
  if (key.type == Type::Count) return literal(key.fallback);
  if (key.type != Type::List) return text(key.fallback);
  return list({text(key.fallback)});
}

void add_key(Node& root, const Key& key) {
  Node* properties = &child(root, "properties", Node::mapping());
  string_view rest = key.path;
  for (size_t dot = rest.find('.'); dot != string_view::npos; dot = rest.find('.')) {
    Node& below = child(*properties, std::string(rest.substr(0, dot)), section());
    properties = &child(below, "properties", Node::mapping());
    rest.remove_prefix(dot + 1);
  }
  Node schema = value_schema(key);
  set(schema, "description", text(description(key)));
  if (!key.fallback.empty() && key.type != Type::Policies) {
    set(schema, "default", default_node(key));
  }
  set(*properties, rest, std::move(schema));
}

// A cell of a table: bars would end it.
std::string cell(string_view value) {
  std::string out;
  for (const char c : value) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

std::string json_schema() {
  Node root = Node::mapping();
  set(root, "$schema", text("https://json-schema.org/draft/2020-12/schema"));
  set(root, "title", text("Configuration of holdfastd"));
  Node object = section();
  for (Member& member : object.members) root.members.push_back(std::move(member));
  for (const Key& key : keys()) add_key(root, key);
  return resource::write_json_pretty(root);
}

std::string markdown_table() {
  std::string out = "| key | type | default | meaning | live |\n| --- | --- | --- | --- | --- |\n";
  for (const Key& key : keys()) {
    const std::string range = range_text(key);
    const bool is_value = key.machine_default.empty() && !key.fallback.empty();
    const char* tick = is_value ? "`" : "";
    out += fmt::format("| `{}` | {}{}{} | {}{}{} | {} | {} |\n", key.path, type_text(key.type),
                       range.empty() ? "" : ": ", range, tick, cell(default_text(key)), tick,
                       cell(key.doc), key.needs_restart ? "" : "yes");
  }
  return out;
}

}  // namespace holdfast::config
