// Names of hosts are the same in capitals.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace holdfast::ingress {

inline char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& each : out) each = lower_case(each);
  return out;
}

inline bool equal_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return lower_case(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace holdfast::ingress
