// What a name, a label, an address may look like. Each function returns what is wrong with the
// text, and what would be right, or nothing if all is well; the caller says where the text stands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::resource {

inline constexpr size_t kMaxNameBytes = 253;
inline constexpr size_t kMaxLabelKeyBytes = 128;
inline constexpr size_t kMaxLabelValueBytes = 256;

// Letters, digits, '-', '_', '.'; begins and ends with a letter or digit.
std::optional<std::string> wrong_name(std::string_view name);
// Letters, digits, '-', '_', '.', '/'.
std::optional<std::string> wrong_label_key(std::string_view key);
// Valid UTF-8 without control characters; may be empty.
std::optional<std::string> wrong_label_value(std::string_view value);
// "host:port", where host is an IPv4 address, an IPv6 address in brackets, or a DNS name.
std::optional<std::string> wrong_address(std::string_view address);
// An IPv4 address, or an IPv6 address without brackets.
std::optional<std::string> wrong_ip(std::string_view ip);

}  // namespace holdfast::resource
