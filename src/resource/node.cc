#include "resource/node.h"

#include <unordered_set>
#include <utility>

namespace holdfast::resource {

Node Node::null(Position at) {
  Node out;
  out.at = at;
  return out;
}

Node Node::scalar(std::string text, bool quoted, Position at) {
  Node out;
  out.shape = Shape::Scalar;
  out.quoted = quoted;
  out.at = at;
  out.text = std::move(text);
  return out;
}

Node Node::sequence(Position at) {
  Node out;
  out.shape = Shape::Sequence;
  out.at = at;
  return out;
}

Node Node::mapping(Position at) {
  Node out;
  out.shape = Shape::Mapping;
  out.at = at;
  return out;
}

const Node* find_member(const Node& mapping, std::string_view key) {
  for (const Member& member : mapping.members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

const Member* first_duplicate(const Node& mapping) {
  std::unordered_set<std::string_view> seen;
  for (const Member& member : mapping.members) {
    if (!seen.insert(member.key).second) return &member;
  }
  return nullptr;
}

}  // namespace holdfast::resource
