#include "inject/source_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include "inject/json_edit.h"
#include "inject/json_pointer.h"
#include "inject/source_extent.h"
#include "inject/source_splice.h"
#include "inject/source_write.h"

namespace holdfast::inject {
namespace {

using std::string_view;
using Shape = SourceNode::Shape;

// What a patch does to one mapping or list.
struct Group {
  std::vector<std::string> removed{};
  std::vector<std::pair<std::string, SourceNode>> added{};
  std::vector<std::pair<std::string, SourceNode>> replaced{};
};

std::map<std::string, Group> grouped(const json::array& patch) {
  std::map<std::string, Group> out;
  for (const json::value& item : patch) {
    const json::object& operation = item.get_object();
    const std::string path = find_text(operation, "path");
    const std::string kind = find_text(operation, "op");
    std::string name = keys_of(path).back();
    Group& group = out[path.substr(0, path.rfind('/'))];
    const json::value* value = find(operation, "value");
    if (kind == "remove") {
      group.removed.push_back(std::move(name));
    } else if (kind == "add") {
      group.added.emplace_back(std::move(name), to_source(*value));
    } else {
      group.replaced.emplace_back(std::move(name), to_source(*value));
    }
  }
  return out;
}

// Whether any part of the way there is an alias: its text is edited where it stands, if at all.
bool is_shared(const SourceNode& root, string_view pointer) {
  std::string at;
  if (root.shared) return true;
  for (const std::string& name : keys_of(pointer)) {
    at = child(at, name);
    const SourceNode* node = find_node(root, at);
    if (node == nullptr || node->shared) return true;
  }
  return false;
}

// A collection that was empty, with what comes into it.
SourceNode filled(const SourceNode& empty, const Group& group) {
  SourceNode out;
  out.shape = empty.shape;
  for (const auto& [name, value] : group.added) {
    if (empty.shape == Shape::List) {
      out.items.push_back(value);
    } else {
      out.members.push_back({to_source(json::value(name)), value});
    }
  }
  return out;
}

bool splice_group(Splicer& splicer, const SourceNode& node, const SourceNode* parent,
                  const Group& group) {
  const bool collection = node.shape == Shape::List || node.shape == Shape::Map;
  const bool empty = node.members.empty() && node.items.empty();
  if (!collection) return false;
  if (empty && parent != nullptr && !parent->flow) {
    return splicer.replace_node(*parent, node, filled(node, group));
  }
  if (node.shape == Shape::List) return splicer.list(node, group.removed, group.added);
  for (const auto& [name, value] : group.replaced) {
    if (!splicer.replace(node, name, value)) return false;
  }
  return splicer.map(node, group.removed, group.added);
}

std::optional<std::string> spliced(string_view text, const SourceNode& root,
                                   const json::array& patch) {
  Splicer splicer(text);
  const std::map<std::string, Group> groups = grouped(patch);
  // What is inside comes first, where both end at the same place.
  for (const auto& [pointer, group] : std::views::reverse(groups)) {
    if (is_shared(root, pointer)) continue;
    const SourceNode* node = find_node(root, pointer);
    const SourceNode* parent =
        pointer.empty() ? nullptr : find_node(root, pointer.substr(0, pointer.rfind('/')));
    if (node == nullptr || !splice_group(splicer, *node, parent, group)) return std::nullopt;
  }
  return splicer.finish();
}

Result<SourceNode> read(string_view text, Syntax syntax) {
  size_t at = 0;
  return syntax == Syntax::Yaml ? read_yaml_source(text) : read_json_source(text, at);
}

bool reads_as(string_view text, const SourceNode& wanted, Syntax syntax) {
  const Result<SourceNode> again = read(text, syntax);
  return again.ok() && same_content(*again, wanted);
}

// The whole document anew, behind the mark that may begin it.
std::string written(string_view text, const SourceNode& wanted, Syntax syntax) {
  if (syntax == Syntax::Json) return pretty_text(wanted, "") + "\n";
  const bool marked = text.starts_with("---");
  return fmt::format("{}{}\n", marked ? "---\n" : "", block_text(wanted, 0));
}

}  // namespace

Result<Edited> edit_source(string_view text, const SourceNode& root, const json::array& patch,
                           Syntax syntax) {
  SourceNode wanted = root;
  if (!apply_patch(wanted, patch)) return absl::InternalError("the patch does not fit the text");
  std::optional<std::string> edited = spliced(text, root, patch);
  if (edited && reads_as(*edited, wanted, syntax)) return Edited{*std::move(edited), false};
  std::string whole = written(text, wanted, syntax);
  if (reads_as(whole, wanted, syntax)) return Edited{std::move(whole), true};
  return absl::InternalError("the document cannot be written in its own syntax");
}

}  // namespace holdfast::inject
