// A document with the place of everything in its text: so that an edit of a value is an edit of the
// text, and all else, comments too, stays as it was.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::inject {

constexpr size_t kNowhere = std::string_view::npos;
constexpr size_t kMaxSourceDepth = 64;
constexpr size_t kMaxSourceNodes = 500'000;
constexpr size_t kMaxAliasedNodes = 10'000;  // what aliases and merges bring, written out

struct SourceMember;

struct SourceNode {
  enum class Shape { Null, Scalar, List, Map };

  Shape shape = Shape::Null;
  std::string text{};   // of a scalar
  std::string tag{};    // of a scalar, if it has one of its own
  bool plain = false;   // a scalar without quotes: its type is what it looks like
  bool flow = false;    // JSON, or YAML in brackets
  bool shared = false;  // here by an alias or a merge: its text stands elsewhere
  size_t begin = kNowhere;
  size_t end = kNowhere;  // behind its last byte; kNowhere if that is not known
  std::vector<SourceMember> members;
  std::vector<SourceNode> items;
};

struct SourceMember {
  SourceNode key;
  SourceNode value;
};

// One YAML document. Aliases and merges are written out. kInvalidArgument with line and column.
Result<SourceNode> read_yaml_source(std::string_view text);
// One JSON value from `at`, which then stands behind it.
Result<SourceNode> read_json_source(std::string_view text, size_t& at);

// As Kubernetes reads it: plain scalars by the words of YAML 1.1.
boost::json::value to_value(const SourceNode& node);
SourceNode to_source(const boost::json::value& value);
// Whether a plain scalar is text for every reader of YAML.
bool is_plain_text(std::string_view text);

const SourceNode* find_node(const SourceNode& root, std::string_view pointer);
// Applies RFC 6902 as difference() makes it. False if it does not fit.
bool apply_patch(SourceNode& root, const boost::json::array& patch);

// The same values and types, whatever their form and place.
bool same_content(const SourceNode& left, const SourceNode& right);

inline bool is_collection(const SourceNode& node) {
  return node.shape == SourceNode::Shape::Map || node.shape == SourceNode::Shape::List;
}

inline bool is_empty(const SourceNode& node) {
  return node.members.empty() && node.items.empty();
}

}  // namespace holdfast::inject
