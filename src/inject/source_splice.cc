#include "inject/source_splice.h"

#include <absl/strings/numbers.h>
#include <fmt/format.h>

#include <algorithm>

#include "inject/source_extent.h"
#include "inject/source_node.h"
#include "inject/source_write.h"

namespace holdfast::inject {
namespace {

using std::string_view;
using Shape = SourceNode::Shape;

bool is_measured(const SourceNode& node) {
  return node.begin != kNowhere && node.end != kNowhere;
}

SourceNode key_node(const std::string& name) {
  SourceNode out;
  out.shape = Shape::Scalar;
  out.text = name;
  return out;
}

std::optional<size_t> place_in(const SourceNode& map, const std::string& name) {
  for (size_t i = 0; i < map.members.size(); ++i) {
    if (map.members[i].key.text == name) return i;
  }
  return std::nullopt;
}

std::string flow_member(const SourceMember& member, const std::optional<std::string>& layout) {
  return fmt::format("{}: {}", flow_text(member.key),
                     layout ? pretty_text(member.value, *layout) : flow_text(member.value));
}

}  // namespace

void Splicer::put(size_t begin, size_t end, std::string text) {
  edits_.emplace(std::pair(begin, end), std::move(text));
}

// The lines from one place to another, with the line end before them: what comes in their stead is
// put at their end.
void Splicer::remove_lines(size_t first, size_t last) {
  const size_t begin = line_begin(text_, first);
  if (begin == 0) {
    const size_t next = text_.find('\n', last);
    return put(0, next == kNowhere ? text_.size() : next + 1, "");
  }
  put(line_end(text_, line_begin(text_, begin - 1)), line_end(text_, last), "");
}

bool Splicer::replace(const SourceNode& map, const std::string& name, const SourceNode& value) {
  const std::optional<size_t> place = place_in(map, name);
  if (!place) return false;
  const SourceNode& node = map.members[*place].value;
  return node.shared || replace_node(map, node, value);
}

bool Splicer::replace_node(const SourceNode& parent, const SourceNode& node,
                           const SourceNode& value) {
  if (!is_measured(node)) return false;
  const bool block = !parent.flow && is_collection(value) && !is_empty(value);
  if (!block) {
    // An empty value has no space between it and its colon.
    const string_view space = node.begin == node.end ? " " : "";
    put(node.begin, node.end,
        fmt::format("{}{}", space, parent.flow ? flow_text(value) : inline_text(value)));
    return true;
  }
  const auto is_it = [&](const SourceMember& member) { return &member.value == &node; };
  const auto member = std::ranges::find_if(parent.members, is_it);
  if (member == parent.members.end() || (is_collection(node) && !node.flow)) return false;
  const size_t key_column = column(text_, member->key.begin);
  const size_t inner = value.shape == Shape::Map ? key_column + 2 : key_column;
  size_t begin = node.begin;
  while (begin > 0 && text_[begin - 1] == ' ') --begin;
  put(begin, node.end, fmt::format("\n{:{}}{}", "", inner, block_text(value, inner)));
  return true;
}

bool Splicer::map(const SourceNode& map, const std::vector<std::string>& removed,
                  const std::vector<NamedNode>& added) {
  Places gone;
  for (const std::string& name : removed) {
    const std::optional<size_t> place = place_in(map, name);
    if (!place) return false;
    const SourceMember& member = map.members[*place];
    if (!is_measured(member.key) || !is_measured(member.value) || member.key.shared) return false;
    gone.insert(*place);
  }
  std::vector<SourceMember> come;
  for (const auto& [name, value] : added) come.push_back({key_node(name), value});
  return map.flow ? flow_map(map, std::move(gone), std::move(come))
                  : block_map(map, std::move(gone), std::move(come));
}

// What comes stands where something goes, as far as there is such a place; then at the end.
bool Splicer::block_map(const SourceNode& map, Places gone, std::vector<SourceMember> come) {
  const size_t at_column = column(text_, map.begin);
  while (!gone.empty() && !come.empty()) {
    const SourceMember& old = map.members[*gone.begin()];
    put(old.key.begin, old.value.end, block_member(come.front(), at_column));
    gone.erase(gone.begin());
    come.erase(come.begin());
  }
  if (!remove_block_members(map, gone)) return false;
  if (come.empty()) return true;
  if (map.end == kNowhere) return false;
  std::string out;
  for (const SourceMember& member : come) {
    out += fmt::format("\n{:{}}{}", "", at_column, block_member(member, at_column));
  }
  const size_t end = line_end(text_, map.end);
  put(end, end, std::move(out));
  return true;
}

bool Splicer::remove_block_members(const SourceNode& map, const Places& gone) {
  if (!gone.empty() && gone.size() == map.members.size()) return false;
  for (const size_t place : gone) {
    const SourceMember& member = map.members[place];
    if (is_first_on_line(text_, member.key.begin)) {
      remove_lines(member.key.begin, member.value.end);
    } else if (place + 1 < map.members.size() && !map.members[place + 1].key.shared) {
      put(member.key.begin, map.members[place + 1].key.begin, "");
    } else {
      return false;
    }
  }
  return true;
}

std::optional<std::string> Splicer::layout_of(const SourceNode& node) const {
  const auto first_begin = [&]() -> size_t {
    if (!node.members.empty()) return node.members.front().key.begin;
    return node.items.empty() ? kNowhere : node.items.front().begin;
  }();
  if (first_begin == kNowhere || !is_first_on_line(text_, first_begin)) return std::nullopt;
  return std::string(column(text_, first_begin), ' ');
}

bool Splicer::flow_map(const SourceNode& map, Places gone, std::vector<SourceMember> come) {
  const std::optional<std::string> layout = layout_of(map);
  std::vector<std::pair<size_t, size_t>> spans;
  for (const SourceMember& member : map.members) {
    if (!is_measured(member.key) || !is_measured(member.value)) return false;
    spans.emplace_back(member.key.begin, member.value.end);
  }
  while (!gone.empty() && !come.empty()) {
    const auto& [begin, end] = spans[*gone.begin()];
    put(begin, end, flow_member(come.front(), layout));
    gone.erase(gone.begin());
    come.erase(come.begin());
  }
  remove_flow(spans, gone);
  std::vector<std::string> texts;
  for (const SourceMember& member : come) texts.push_back(flow_member(member, layout));
  return add_flow(map, spans.empty() ? std::nullopt : std::optional(spans.back().second), texts);
}

// Each run of what goes takes one comma with it.
void Splicer::remove_flow(const std::vector<std::pair<size_t, size_t>>& spans, const Places& gone) {
  for (size_t first = 0; first < spans.size(); ++first) {
    if (!gone.contains(first)) continue;
    size_t last = first;
    while (gone.contains(last + 1)) ++last;
    if (first > 0) {
      put(spans[first - 1].second, spans[last].second, "");
    } else if (last + 1 < spans.size()) {
      put(spans[first].first, spans[last + 1].first, "");
    } else {
      put(spans[first].first, spans[last].second, "");
    }
    first = last;
  }
}

bool Splicer::add_flow(const SourceNode& node, std::optional<size_t> last,
                       const std::vector<std::string>& texts) {
  if (texts.empty()) return true;
  const std::optional<std::string> layout = layout_of(node);
  std::string out;
  for (const std::string& text : texts) {
    const bool comma = last || !out.empty();
    out += fmt::format("{}{}{}", comma ? "," : "",
                       layout  ? "\n" + *layout
                       : comma ? " "
                               : "",
                       text);
  }
  const size_t at = last.value_or(node.begin + 1);
  put(at, at, std::move(out));
  return true;
}

bool Splicer::list(const SourceNode& list, const std::vector<std::string>& removed,
                   const std::vector<NamedNode>& added) {
  Places gone;
  for (const std::string& name : removed) {
    size_t index = 0;
    if (!absl::SimpleAtoi(name, &index) || index >= list.items.size()) return false;
    gone.insert(index);
  }
  if (!added.empty() && !gone.empty()) return false;
  std::vector<std::pair<size_t, size_t>> spans;
  for (const SourceNode& item : list.items) {
    if (!is_measured(item)) return false;
    spans.emplace_back(item.begin, item.end);
  }
  if (list.flow) remove_flow(spans, gone);
  if (!list.flow) {
    if (!gone.empty() && gone.size() == list.items.size()) return false;
    for (const size_t index : gone) {
      if (!remove_block_item(list.items[index])) return false;
    }
  }
  std::vector<SourceNode> tail;
  for (const auto& [name, item] : added) {
    size_t index = 0;
    if (!absl::SimpleAtoi(name, &index) || index > spans.size() + tail.size()) return false;
    if (index == spans.size() + tail.size()) {
      tail.push_back(item);
    } else if (index != 0 || added.size() > 1 || !add_first(list, item)) {
      return false;
    }
  }
  return add_last(list, tail);
}

bool Splicer::add_first(const SourceNode& list, const SourceNode& item) {
  if (list.flow) {
    const std::optional<std::string> layout = layout_of(list);
    const std::string text = layout ? pretty_text(item, *layout) : flow_text(item);
    const size_t at = list.items.front().begin;
    put(at, at, fmt::format("{},{}", text, layout ? "\n" + *layout : " "));
    return true;
  }
  const std::optional<size_t> dash = dash_of(list.items.front());
  if (!dash) return false;
  const size_t at_column = column(text_, *dash);
  const size_t begin = line_begin(text_, *dash);
  put(begin, begin, fmt::format("{:{}}- {}\n", "", at_column, block_text(item, at_column + 2)));
  return true;
}

bool Splicer::add_last(const SourceNode& list, const std::vector<SourceNode>& items) {
  if (items.empty()) return true;
  if (list.flow) {
    const std::optional<std::string> layout = layout_of(list);
    std::vector<std::string> texts;
    for (const SourceNode& item : items) {
      texts.push_back(layout ? pretty_text(item, *layout) : flow_text(item));
    }
    const bool first = list.items.empty();
    return add_flow(list, first ? std::nullopt : std::optional(list.items.back().end), texts);
  }
  const std::optional<size_t> dash =
      list.items.empty() ? std::nullopt : dash_of(list.items.front());
  if (!dash || list.end == kNowhere) return false;
  const size_t at_column = column(text_, *dash);
  const size_t end = line_end(text_, list.end);
  for (const SourceNode& item : items) {
    put(end, end, fmt::format("\n{:{}}- {}", "", at_column, block_text(item, at_column + 2)));
  }
  return true;
}

// The dash before an item, if nothing but spaces stands before it.
std::optional<size_t> Splicer::dash_of(const SourceNode& item) const {
  const size_t begin = line_begin(text_, item.begin);
  const size_t dash = text_.find_first_not_of(' ', begin);
  if (dash == kNowhere || dash >= item.begin || text_[dash] != '-') return std::nullopt;
  const string_view between = text_.substr(dash + 1, item.begin - dash - 1);
  if (between.find_first_not_of(' ') != kNowhere) return std::nullopt;
  return dash;
}

bool Splicer::remove_block_item(const SourceNode& item) {
  const std::optional<size_t> dash = dash_of(item);
  if (!dash) return false;
  remove_lines(*dash, item.end);
  return true;
}

std::optional<std::string> Splicer::finish() {
  const bool crlf = text_.contains("\r\n");
  std::string out;
  size_t at = 0;
  for (const auto& [place, text] : edits_) {
    if (place.first < at || place.second < place.first) return std::nullopt;
    out += text_.substr(at, place.first - at);
    for (const char c : text) {
      if (c == '\n' && crlf) out += '\r';
      out += c;
    }
    at = place.second;
  }
  out += text_.substr(at);
  return out;
}

}  // namespace holdfast::inject
