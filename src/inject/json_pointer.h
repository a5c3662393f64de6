// RFC 6901: the path of a value in a JSON document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::inject {

// "/metadata/annotations" and "kuma.io/x" make "/metadata/annotations/kuma.io~1x".
std::string child(std::string_view pointer, std::string_view key);
std::string child(std::string_view pointer, size_t index);

// The keys of a pointer, unescaped. A pointer is "" or begins with a slash.
std::vector<std::string> keys_of(std::string_view pointer);

}  // namespace holdfast::inject
