// What a client may call its write, so that it can send it again (api/request_records.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace holdfast::api {

inline constexpr size_t kMinRequestId = 16;  // bytes
inline constexpr size_t kMaxRequestId = 64;

// Of that size, of letters, digits, '-' and '_'.
constexpr bool is_request_id(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return text.size() >= kMinRequestId && text.size() <= kMaxRequestId &&
         std::ranges::all_of(text, fits);
}

}  // namespace holdfast::api
