// Values as text: in the style of the place where they come to stand.
#pragma once

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

#include "inject/source_node.h"

namespace holdfast::inject {

// On one line, as JSON.
std::string flow_text(const SourceNode& node);
// As JSON over several lines, of which all but the first are indented by `indent`.
std::string pretty_text(const SourceNode& node, std::string_view indent);
// A scalar, or an empty list or mapping, as YAML on one line.
std::string inline_text(const SourceNode& node);
// "key: value" in block style: its first line is written where the output ends, all others begin
// with spaces up to `column`. No line end at the end.
std::string block_member(const SourceMember& member, size_t column);
std::string block_text(const SourceNode& node, size_t column);

}  // namespace holdfast::inject
