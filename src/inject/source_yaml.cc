// YAML with the places of its values, through yaml-cpp's events, which tell where a node begins;
// source_extent.cc finds where it ends. What is said of that library in resource/yaml_reader.cc
// holds here too; aliases and merges are written out, within kMaxAliasedNodes.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/bytes.h"
#include "base/reason.h"
#include "inject/source_extent.h"
#include "inject/source_node.h"

namespace holdfast::inject {
namespace {

using std::string_view;
using Shape = SourceNode::Shape;

size_t count_nodes(const SourceNode& node) {
  size_t count = 1;
  for (const SourceMember& member : node.members) count += 1 + count_nodes(member.value);
  for (const SourceNode& item : node.items) count += count_nodes(item);
  return count;
}

using Names = std::set<std::string, std::less<>>;

// Members that a merge (<<) brings, unless the map, which has `names`, has them itself.
void merge_into(SourceNode& map, Names& names, const SourceNode& from, const SourceNode& mark) {
  for (const SourceMember& member : from.members) {
    if (!names.insert(member.key.text).second) continue;
    SourceMember copy = member;
    for (SourceNode* node : {&copy.key, &copy.value}) {
      node->shared = true;
      node->begin = mark.begin;
      node->end = mark.end;
    }
    map.members.push_back(std::move(copy));
  }
}

class SourceHandler final : public YAML::EventHandler {
 public:
  explicit SourceHandler(string_view text) : text_(text) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) fail(mark.line, "a second document; begin it with ---");
    started_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    SourceNode node;
    node.begin = place(mark);
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return fail(mark.line, "an alias inside what it names");
    aliased_ += count_nodes(found->second);
    if (aliased_ > kMaxAliasedNodes) return fail(mark.line, "aliases that bring too much");
    SourceNode node = found->second;
    node.shared = true;
    node.begin = place(mark);
    add(std::move(node), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (first_invalid_utf8(value)) return fail(mark.line, "an escape that is not known; use \\u");
    SourceNode node;
    node.shape = Shape::Scalar;
    node.text = value;
    node.plain = tag == "?";
    if (tag != "?" && tag != "!") node.tag = tag;
    node.begin = place(mark);
    add(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(mark, anchor, Shape::List, style);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(mark, anchor, Shape::Map, style);
  }
  void OnMapEnd() override { close(); }

  void fail(int line, string_view what) {
    if (error_.ok()) {
      error_ = coded(absl::StatusCode::kInvalidArgument, "HF7107",
                     fmt::format("line {}: {}", line + 1, what));
    }
  }

  const Status& error() const { return error_; }
  std::optional<SourceNode>& root() { return root_; }

 private:
  struct Frame {
    SourceNode node;
    YAML::anchor_t anchor = 0;
    int line = 0;
    std::optional<SourceNode> waiting{};  // a key
    Names names{};
  };

  static size_t place(const YAML::Mark& mark) {
    return mark.pos < 0 ? kNowhere : static_cast<size_t>(mark.pos);
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Shape shape,
            YAML::EmitterStyle::value style) {
    if (!error_.ok()) return;
    if (frames_.size() >= kMaxSourceDepth) return fail(mark.line, "nested too deep");
    Frame& frame = frames_.emplace_back();
    frame.node.shape = shape;
    frame.node.flow = style == YAML::EmitterStyle::Flow;
    frame.node.begin = place(mark);
    frame.anchor = anchor;
    frame.line = mark.line;
  }

  void close() {
    if (!error_.ok()) return;
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    measure(text_, frame.node);
    if (frame.node.shape == Shape::Map) merge(frame);
    add(std::move(frame.node), frame.anchor);
  }

  void merge(Frame& frame) {
    const auto is_merge = [](const SourceMember& one) {
      return one.key.plain && one.key.text == "<<";
    };
    std::vector<SourceMember> merges;
    for (const SourceMember& member : frame.node.members) {
      if (is_merge(member)) merges.push_back(member);
    }
    std::erase_if(frame.node.members, is_merge);
    for (const SourceMember& one : merges) {
      const SourceNode& mark = one.value;
      if (mark.shape == Shape::Map) merge_into(frame.node, frame.names, mark, mark);
      for (const SourceNode& item : mark.items) merge_into(frame.node, frame.names, item, mark);
      const bool fits = mark.shape == Shape::Map || mark.shape == Shape::List;
      if (!fits) fail(frame.line, "a merge (<<) of what is no mapping");
    }
  }

  void add(SourceNode node, YAML::anchor_t anchor) {
    if (!error_.ok()) return;
    if (++nodes_ > kMaxSourceNodes) return fail(0, "too many values");
    if (node.shape != Shape::List && node.shape != Shape::Map) measure(text_, node);
    if (node.shared) node.end = end_of_alias(text_, node.begin);
    if (anchor != 0) anchors_[anchor] = node;
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.shape == Shape::List) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.waiting) {
      take_key(frame, std::move(node));
    } else {
      frame.node.members.push_back({*std::move(frame.waiting), std::move(node)});
      frame.waiting.reset();
    }
  }

  void take_key(Frame& frame, SourceNode node) {
    if (node.shape != Shape::Scalar) return fail(frame.line, "a key must be text");
    if (!frame.names.insert(node.text).second && node.text != "<<") {
      return fail(frame.line, fmt::format("the key {} is there twice", in_quotes(node.text)));
    }
    frame.waiting = std::move(node);
  }

  string_view text_;
  bool started_ = false;
  size_t nodes_ = 0;
  size_t aliased_ = 0;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, SourceNode> anchors_;
  std::optional<SourceNode> root_;
  Status error_;
};

// Bytes that the library would take for something else.
Status wrong_bytes(string_view text) {
  const auto wrong = [&](size_t at, string_view what) {
    const auto line = std::ranges::count(text.substr(0, at), '\n') + 1;
    return coded(absl::StatusCode::kInvalidArgument, "HF7107",
                 fmt::format("line {}: {}", line, what));
  };
  if (const auto at = first_invalid_utf8(text)) return wrong(*at, "bytes that are not UTF-8");
  size_t open = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool lone_return = byte == '\r' && !text.substr(at + 1).starts_with('\n');
    const bool control = byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r';
    if (lone_return || control || byte == 0x7f) return wrong(at, "a control character");
    if (byte == '[' || byte == '{') ++open;
    if ((byte == ']' || byte == '}') && open > 0) --open;
    if (open > 1024) return wrong(at, "nested too deep");
  }
  return absl::OkStatus();
}

}  // namespace

Result<SourceNode> read_yaml_source(string_view text) {
  TRY_OK(wrong_bytes(text));
  SourceHandler handler(text);
  // In a quoted text that never ends, the comment is text, and the library misses the end.
  std::istringstream stream(fmt::format("{}\n#", text));
  try {
    YAML::Parser parser(stream);
    while (handler.error().ok() && parser.HandleNextDocument(handler)) {
    }
  } catch (const YAML::Exception& exception) {
    handler.fail(exception.mark.line,
                 string_view(exception.msg)
                     .substr(0, first_invalid_utf8(exception.msg).value_or(exception.msg.size())));
  } catch (const std::exception& exception) {
    handler.fail(0, exception.what());
  }
  TRY_OK(handler.error());
  return handler.root() ? *std::move(handler.root()) : SourceNode();
}

}  // namespace holdfast::inject
