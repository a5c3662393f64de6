// Text in double quotes with the escapes that JSON and YAML share.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::resource {

// Appends `text` in double quotes. Control characters (C0, C1, DEL), line and paragraph separators
// and byte order marks are escaped, so that the result is one line, and safe on a terminal. Bytes
// that are not UTF-8 become U+FFFD.
void append_escaped(std::string& out, std::string_view text);

}  // namespace holdfast::resource
