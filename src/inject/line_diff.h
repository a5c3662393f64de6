// The difference of two texts in the unified form that `patch` and people read.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::inject {

struct DiffNames {
  std::string_view before;
  std::string_view after;
};

// Empty if they are the same. Three lines of context.
std::string unified_diff(std::string_view before, std::string_view after, const DiffNames& names);

}  // namespace holdfast::inject
