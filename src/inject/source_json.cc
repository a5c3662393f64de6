// JSON with the places of its values. Strict, but for what it says of numbers: they are kept as
// they are written.
#include <fmt/format.h>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/reason.h"
#include "inject/json_edit.h"
#include "inject/source_node.h"

namespace holdfast::inject {
namespace {

using std::string_view;
using Shape = SourceNode::Shape;

class JsonReader {
 public:
  JsonReader(string_view text, size_t at) : text_(text), at_(at) {}

  Result<SourceNode> value(size_t depth) {
    skip_space();
    if (depth > kMaxSourceDepth) return wrong("nested too deep");
    if (++nodes_ > kMaxSourceNodes) return wrong("too many values");
    if (at_ == text_.size()) return wrong("it ends too early");
    SourceNode node;
    node.flow = true;
    node.begin = at_;
    const char first = text_[at_];
    if (first == '{') {
      TRY_OK(map(node, depth));
    } else if (first == '[') {
      TRY_OK(list(node, depth));
    } else if (first == '"') {
      TRY_OK(quoted_text(node));
    } else {
      TRY_OK(word(node));
    }
    node.end = at_;
    return node;
  }

  size_t at() const { return at_; }

 private:
  Status wrong(string_view what) const {
    const string_view before = text_.substr(0, at_);
    const auto line = std::ranges::count(before, '\n') + 1;
    const size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    return coded(absl::StatusCode::kInvalidArgument, "HF7107",
                 fmt::format("line {}, column {}: {}", line, column, what));
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Status map(SourceNode& node, size_t depth) {
    node.shape = Shape::Map;
    std::set<std::string> names;
    ++at_;
    if (take('}')) return absl::OkStatus();
    do {
      TRY(SourceNode name, value(depth + 1));
      if (name.shape != Shape::Scalar || name.plain) return wrong("a key must be text");
      if (!names.insert(name.text).second) {
        return wrong(fmt::format("the key {} is there twice", in_quotes(name.text)));
      }
      if (!take(':')) return wrong("a colon is missing");
      TRY(SourceNode content, value(depth + 1));
      node.members.push_back({std::move(name), std::move(content)});
    } while (take(','));
    return take('}') ? absl::OkStatus() : wrong("a comma or } is missing");
  }

  Status list(SourceNode& node, size_t depth) {
    node.shape = Shape::List;
    ++at_;
    if (take(']')) return absl::OkStatus();
    do {
      TRY(SourceNode item, value(depth + 1));
      node.items.push_back(std::move(item));
    } while (take(','));
    return take(']') ? absl::OkStatus() : wrong("a comma or ] is missing");
  }

  Status quoted_text(SourceNode& node) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return wrong("a text does not end");
    return scalar(node, end + 1);
  }

  Status word(SourceNode& node) {
    const size_t end = text_.find_first_of(" \t\r\n,:{}[]\"", at_);
    return scalar(node, std::min(end, text_.size()));
  }

  // Boost judges what is between here and `end`.
  Status scalar(SourceNode& node, size_t end) {
    const string_view source = text_.substr(at_, end - at_);
    json::error_code error;
    const json::value value = json::parse(key(source), error);
    if (error || source.empty()) return wrong("no JSON");
    at_ = end;
    if (value.is_null()) return absl::OkStatus();
    node.shape = Shape::Scalar;
    node.plain = !value.is_string();
    node.text = value.is_string() ? std::string(view(value.get_string())) : std::string(source);
    return absl::OkStatus();
  }

  string_view text_;
  size_t at_;
  size_t nodes_ = 0;
};

}  // namespace

Result<SourceNode> read_json_source(string_view text, size_t& at) {
  JsonReader reader(text, at);
  TRY(SourceNode node, reader.value(0));
  at = reader.at();
  return node;
}

}  // namespace holdfast::inject
