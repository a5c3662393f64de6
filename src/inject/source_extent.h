// Where the nodes of a YAML text end, which its parser does not tell.
#pragma once

#include <string_view>

#include "inject/source_node.h"

namespace holdfast::inject {

// Sets begin (behind tags and anchors) and end of a node whose children have theirs. What cannot be
// found stays kNowhere.
void measure(std::string_view text, SourceNode& node);

size_t end_of_alias(std::string_view text, size_t begin);

// The byte behind the last of the line, without its line end.
size_t line_end(std::string_view text, size_t at);
size_t line_begin(std::string_view text, size_t at);
size_t column(std::string_view text, size_t at);
// Whether only spaces stand before it on its line.
bool is_first_on_line(std::string_view text, size_t at);

}  // namespace holdfast::inject
