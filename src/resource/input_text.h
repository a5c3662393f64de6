// What both readers ask of their text before they look at its meaning.
#pragma once

#include <expected>
#include <optional>
#include <string_view>

#include "resource/node.h"

namespace holdfast::resource {

// Without the byte order mark a text may begin with.
std::string_view without_bom(std::string_view text);

// Line and column of the byte at `offset`.
Position position_of(std::string_view text, size_t offset);

// Too many bytes, bytes that are not UTF-8, or a NUL. The size is looked at first, so that refusing
// a huge text costs nothing.
std::optional<ParseError> wrong_input(std::string_view text, const ParseOptions& options);

// "the document is 5 bytes long; use at most 4".
ParseError too_many_bytes(std::string_view what, size_t size_bytes, size_t max_bytes);
ParseError too_deep(Position at, const ParseOptions& options);
ParseError too_many_nodes(Position at, const ParseOptions& options);
ParseError duplicate_key(const Member& member);

}  // namespace holdfast::resource
