// The JSON forms of a tree.
#include <utility>

#include "resource/encode.h"
#include "resource/text_escape.h"

namespace holdfast::resource {
namespace {

using std::string_view;

class JsonWriter {
 public:
  // `indent` is the number of spaces for each level; 0 puts everything on one line.
  explicit JsonWriter(size_t indent) : indent_(indent) {}

  void write(const Node& node) {
    switch (node.shape) {
      case Node::Shape::Null:
        out_ += "null";
        return;
      case Node::Shape::Scalar:
        if (node.quoted) {
          append_escaped(out_, node.text);
        } else {
          out_ += node.text;
        }
        return;
      case Node::Shape::Sequence:
        write_elements('[', node.items, [&](const Node& item) { write(item); });
        out_ += ']';
        return;
      case Node::Shape::Mapping:
        write_elements('{', node.members, [&](const Member& member) {
          append_escaped(out_, member.key);
          out_ += indent_ > 0 ? ": " : ":";
          write(member.value);
        });
        out_ += '}';
        return;
    }
  }

  std::string take() { return std::move(out_); }

 private:
  template <typename Elements, typename WriteOne>
  void write_elements(char opening, const Elements& elements, WriteOne write_one) {
    out_ += opening;
    if (elements.empty()) return;
    ++level_;
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) out_ += ',';
      new_line();
      write_one(elements[i]);
    }
    --level_;
    new_line();
  }

  void new_line() {
    if (indent_ == 0) return;
    out_ += '\n';
    out_.append(level_ * indent_, ' ');
  }

  size_t indent_;
  size_t level_ = 0;
  std::string out_;
};

}  // namespace

std::string write_json(const Node& node) {
  JsonWriter writer(0);
  writer.write(node);
  return writer.take();
}

std::string write_json_pretty(const Node& node) {
  JsonWriter writer(2);
  writer.write(node);
  return writer.take() + "\n";
}

}  // namespace holdfast::resource
