// Text helpers for foreign bytes: what may be printed, what is valid UTF-8, nearest spelling.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast {

// ASCII classes, whatever the locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// Offset of the first byte that is not part of valid UTF-8 (no surrogates, no overlong forms).
std::optional<size_t> first_invalid_utf8(std::string_view text);

// Not called "quoted": std::quoted would be found instead, by the argument's namespace.
// `text` in double quotes, safe on a terminal and in a log: control characters, quotes, invalid
// UTF-8 and line ends are escaped; cut to `max_bytes` with an ellipsis.
std::string in_quotes(std::string_view text, size_t max_bytes = 64);

// `text` as it may be shown on a terminal: control characters, but for line ends, and invalid UTF-8
// are escaped.
std::string printable(std::string_view text);

// The candidate closest to `wrong` if it is close enough to be what was meant; two swapped
// neighbours ("prots" for "ports") are one mistake.
std::optional<std::string_view> did_you_mean(std::string_view wrong,
                                             std::span<const std::string_view> candidates);

}  // namespace holdfast
