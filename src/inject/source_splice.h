// Edits of a text at the places of its nodes, in block style and in brackets. Collected first, then
// made all at once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inject/source_node.h"

namespace holdfast::inject {

using NamedNode = std::pair<std::string, SourceNode>;

class Splicer {
 public:
  explicit Splicer(std::string_view text) : text_(text) {}

  // Each returns false if that place of the text cannot be edited; then nothing of it is of use.
  bool replace(const SourceNode& map, const std::string& name, const SourceNode& value);
  // `node` is the value of a member, or an item, of `parent`.
  bool replace_node(const SourceNode& parent, const SourceNode& node, const SourceNode& value);
  bool map(const SourceNode& map, const std::vector<std::string>& removed,
           const std::vector<NamedNode>& added);
  bool list(const SourceNode& list, const std::vector<std::string>& removed,
            const std::vector<NamedNode>& added);

  // Nothing if edits overlap.
  std::optional<std::string> finish();

 private:
  using Places = std::set<size_t>;

  bool block_map(const SourceNode& map, Places gone, std::vector<SourceMember> come);
  bool flow_map(const SourceNode& map, Places gone, std::vector<SourceMember> come);
  bool remove_block_members(const SourceNode& map, const Places& gone);
  void remove_flow(const std::vector<std::pair<size_t, size_t>>& spans, const Places& gone);
  bool add_flow(const SourceNode& node, std::optional<size_t> last,
                const std::vector<std::string>& texts);
  bool add_first(const SourceNode& list, const SourceNode& item);
  bool add_last(const SourceNode& list, const std::vector<SourceNode>& items);
  bool remove_block_item(const SourceNode& item);
  std::optional<size_t> dash_of(const SourceNode& item) const;
  // The spaces before the first member or item that begins a line, if they all do.
  std::optional<std::string> layout_of(const SourceNode& node) const;
  void remove_lines(size_t first, size_t last);
  void put(size_t begin, size_t end, std::string text);

  std::string_view text_;
  // By begin and end; those of one place in the order they came in.
  std::multimap<std::pair<size_t, size_t>, std::string> edits_;
};

}  // namespace holdfast::inject
