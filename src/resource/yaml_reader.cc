// YAML through yaml-cpp's events. The library is kept on a short lead:
//
//   - it is given one document at a time, because it keeps every token of an open [ or { in memory;
//   - control characters are refused first, because it takes 0x04 for the end of its input;
//   - a lone carriage return is refused first, because it ends a line there without being counted;
//   - it takes the end of its input for the end of a quoted text, so it is shown a comment there;
//   - it makes bytes that are not UTF-8 of some escapes (\N, \_), so scalars are checked again;
//   - it throws; nothing of that passes read_yaml().
#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "base/bytes.h"
#include "resource/input_text.h"
#include "resource/node.h"
#include "resource/yaml_documents.h"

namespace holdfast::resource {
namespace {

using std::string_view;

// Builds the tree. The first error is kept and later events are ignored, since the library has no
// way to be stopped but an exception.
class TreeHandler final : public YAML::EventHandler {
 public:
  TreeHandler(const ParseOptions& options, uint32_t first_line, size_t nodes)
      : options_(options), first_line_(first_line), nodes_(nodes) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_)
      fail(position(mark), "text after the end of the document; begin another with ---");
    started_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(Node::null(position(mark))); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(position(mark), "aliases (*name) are not allowed; write the value out");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    fail(position(mark), "anchors (&name) are not allowed; write the value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    const Position at = position(mark);
    const auto core = core_tag(at, tag);
    if (!core) return;
    if (*core == "map" || *core == "seq") return fail(at, "this tag does not fit a scalar");
    if (first_invalid_utf8(value)) return fail(at, "an escape the reader does not know; use \\u");
    const bool is_text = *core == "!" || *core == "str";
    add(Node::scalar(value, is_text, at));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, "seq", Node::Shape::Sequence);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, "map", Node::Shape::Mapping);
  }
  void OnMapEnd() override { close(); }

  // What the library found wrong. It takes a bracket that is never closed for a key before it finds
  // the end missing, so this is then the truer error.
  void fail_syntax(Position at, string_view message) {
    if (is_doubtful_) error_.reset();
    // It may name a single byte of a longer character.
    fail(at, message.substr(0, first_invalid_utf8(message).value_or(message.size())));
  }

  void fail(Position at, string_view message) {
    fail(ParseError{.at = at, .message = std::string(message)});
  }

  Position position(const YAML::Mark& mark) const {
    if (mark.line < 0 || mark.column < 0) return {first_line_, 1};
    return {static_cast<uint32_t>(mark.line) + first_line_, static_cast<uint32_t>(mark.column) + 1};
  }

  const std::optional<ParseError>& error() const { return error_; }
  std::optional<Node>& root() { return root_; }
  size_t nodes() const { return nodes_; }

 private:
  // A collection that is still open, with the key that waits for its value.
  struct Frame {
    Node node;
    std::optional<Member> waiting;
  };

  // The tag without what all tags of the core schema begin with: "str", "!", or "" for none. Absent
  // if it is another's, which is an error.
  std::optional<string_view> core_tag(Position at, const std::string& tag) {
    constexpr string_view kCore = "tag:yaml.org,2002:";
    if (tag.empty() || tag == "?") return "";
    if (tag == "!") return "!";
    if (tag.starts_with(kCore)) {
      const string_view name = string_view(tag).substr(kCore.size());
      for (const string_view known : {"str", "int", "float", "bool", "map", "seq"}) {
        if (name == known) return known;
      }
    }
    fail(at, fmt::format("the tag {} is not allowed; remove it", in_quotes(tag)));
    return std::nullopt;
  }

  void open(const YAML::Mark& mark, const std::string& tag, string_view fitting,
            Node::Shape shape) {
    const Position at = position(mark);
    const auto core = core_tag(at, tag);
    if (error_) return;
    if (*core != "" && *core != "!" && *core != fitting) {
      return fail(at, "this tag does not fit a list or mapping");
    }
    if (frames_.size() >= options_.max_depth) return fail(too_deep(at, options_));
    if (awaits_key()) {
      is_doubtful_ = !error_;
      return fail(at, "a key must be text, not a list or mapping");
    }
    Frame& frame = frames_.emplace_back();
    frame.node.shape = shape;
    frame.node.at = at;
  }

  void close() {
    if (error_) return;
    Node node = std::move(frames_.back().node);
    frames_.pop_back();
    if (const Member* twice = first_duplicate(node)) return fail(duplicate_key(*twice));
    add(std::move(node));
  }

  bool awaits_key() const {
    return !frames_.empty() && frames_.back().node.shape == Node::Shape::Mapping &&
           !frames_.back().waiting;
  }

  void add(Node node) {
    if (error_) return;
    if (awaits_key()) return add_key(std::move(node));
    if (++nodes_ > options_.max_nodes) return fail(too_many_nodes(node.at, options_));
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.shape == Node::Shape::Sequence) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    frame.waiting->value = std::move(node);
    frame.node.members.push_back(*std::move(frame.waiting));
    frame.waiting.reset();
  }

  void add_key(Node node) {
    if (node.shape != Node::Shape::Scalar) {
      return fail(node.at, "a key must be text; put quotes around it");
    }
    frames_.back().waiting = Member{.key = std::move(node.text), .key_at = node.at};
  }

  void fail(ParseError error) {
    if (!error_) error_ = std::move(error);
  }

  const ParseOptions& options_;
  uint32_t first_line_;
  size_t nodes_;
  bool started_ = false;
  bool is_doubtful_ = false;
  std::vector<Frame> frames_;
  std::optional<Node> root_;
  std::optional<ParseError> error_;
};

// The document with a comment after its last line. In a quoted text that was never closed, the
// comment is text, and the library misses the end; anywhere else it changes nothing.
std::string closed_by_comment(string_view text) {
  const size_t last_line = text.rfind('\n') + 1;
  const bool ends_blank = text.find_first_not_of(" \t\r", last_line) == string_view::npos;
  if (!ends_blank) return std::string(text);
  return fmt::format("{}{}#", text, last_line == text.size() ? "" : "\n");
}

// Feeds one document to the library, which ends when it has been read or an error is noted.
void parse_document(const YamlDocument& document, TreeHandler& handler) {
  std::istringstream stream(closed_by_comment(document.text));
  try {
    YAML::Parser parser(stream);
    while (!handler.error() && parser.HandleNextDocument(handler)) {
    }
  } catch (const YAML::DeepRecursion& exception) {
    handler.fail_syntax(handler.position(exception.mark), "nested too deep");
  } catch (const YAML::Exception& exception) {
    handler.fail_syntax(handler.position(exception.mark), exception.msg);
  } catch (const std::exception& exception) {
    handler.fail({document.first_line, 1}, exception.what());
  }
}

}  // namespace

Parsed<std::vector<Node>> read_yaml(string_view text, const ParseOptions& options) {
  if (auto wrong = wrong_input(text, options)) return std::unexpected(*std::move(wrong));
  auto documents = split_yaml(without_bom(text), options);
  if (!documents) return std::unexpected(std::move(documents).error());
  std::vector<Node> out;
  size_t nodes = 0;
  for (const YamlDocument& document : *documents) {
    TreeHandler handler(options, document.first_line, nodes);
    parse_document(document, handler);
    if (handler.error()) return std::unexpected(*handler.error());
    nodes = handler.nodes();
    const bool empty = !handler.root() || handler.root()->shape == Node::Shape::Null;
    if (!empty) out.push_back(*std::move(handler.root()));
  }
  return out;
}

}  // namespace holdfast::resource
