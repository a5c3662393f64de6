// Small words for building the trees that resource/encode.h writes as JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "resource/node.h"

namespace holdfast::web {

inline resource::Node text(std::string_view value) {
  return resource::Node::scalar(std::string(value), true);
}

// A number or a boolean.
inline resource::Node plain(std::string value) {
  return resource::Node::scalar(std::move(value), false);
}

inline void add(resource::Node& mapping, std::string key, resource::Node value) {
  resource::Member& member = mapping.members.emplace_back();
  member.key = std::move(key);
  member.value = std::move(value);
}

}  // namespace holdfast::web
