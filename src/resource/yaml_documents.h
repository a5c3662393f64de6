// Cutting a YAML stream into its documents before a parser sees any of them, so that the limit for
// one document holds and characters a parser may misread are refused with their place.
#pragma once

#include <string_view>
#include <vector>

#include "resource/node.h"

namespace holdfast::resource {

struct YamlDocument {
  // With the line "---" it begins with, if it has one.
  std::string_view text;
  uint32_t first_line = 1;
};

// Documents that are only blank lines and comments are left out. Lines that begin with "---" or
// "..." are document marks wherever they stand: YAML allows them in no scalar.
Parsed<std::vector<YamlDocument>> split_yaml(std::string_view text, const ParseOptions& options);

}  // namespace holdfast::resource
