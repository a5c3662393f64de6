// The suggestion of an error message: what was probably meant by a word that is not known.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace holdfast::resource {

// The candidate that differs by two swapped neighbours ("prots" for "ports"), which did_you_mean()
// counts as two mistakes; else what did_you_mean() says.
std::optional<std::string_view> nearest(std::string_view wrong,
                                        std::span<const std::string_view> candidates);

}  // namespace holdfast::resource
