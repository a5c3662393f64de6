#include "cli/document.h"

#include <algorithm>

#include "resource/codec.h"
#include "resource/encode.h"

namespace holdfast::cli {

using resource::Node;

Node text_node(std::string_view text) {
  return Node::scalar(std::string(text), true);
}

Node number_node(int64_t number) {
  return Node::scalar(std::to_string(number), false);
}

Document::Document(std::string_view kind) : root_(Node::mapping()) {
  set_text("apiVersion", resource::kApiVersion);
  set_text("kind", kind);
}

Document::Document(std::string_view kind, const google::protobuf::Message& message)
    : Document(kind) {
  for (resource::Member& member : resource::encode_message(message).members) {
    set(member.key, std::move(member.value));
  }
}

void Document::set(std::string_view key, Node value) {
  const auto found = std::ranges::find(root_.members, key, &resource::Member::key);
  if (found != root_.members.end()) {
    found->value = std::move(value);
  } else {
    root_.members.push_back({.key = std::string(key), .value = std::move(value)});
  }
}

void Document::set_text(std::string_view key, std::string_view text) {
  set(key, text_node(text));
}

void Document::set_number(std::string_view key, int64_t number) {
  set(key, number_node(number));
}

std::string Document::json() const {
  return resource::write_json_pretty(root_);
}

std::string Document::yaml() const {
  return resource::write_yaml(root_);
}

}  // namespace holdfast::cli
