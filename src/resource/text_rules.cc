#include "resource/text_rules.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/bytes.h"

namespace holdfast::resource {
namespace {

using std::string_view;

// The first character that is neither a letter nor a digit nor among `others`.
std::optional<size_t> first_other(string_view text, string_view others) {
  const auto at = std::ranges::find_if(
      text, [&](char c) { return !is_letter_or_digit(c) && others.find(c) == string_view::npos; });
  if (at == text.end()) return std::nullopt;
  return static_cast<size_t>(at - text.begin());
}

// 'x', or the byte as a number if it is not one to print.
std::string shown(char c) {
  if (c > ' ' && c < 0x7f) return fmt::format("'{}'", c);
  return fmt::format("byte 0x{:02x}", static_cast<uint8_t>(c));
}

bool is_ip(int family, string_view text) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size() || text.find('\0') != string_view::npos) return false;
  std::ranges::copy(text, terminated.begin());
  std::array<std::byte, sizeof(in6_addr)> address{};
  return inet_pton(family, terminated.data(), address.data()) == 1;
}

bool is_dns_label(string_view label) {
  constexpr size_t kMaxDnsLabelBytes = 63;
  return !label.empty() && label.size() <= kMaxDnsLabelBytes && !first_other(label, "-_") &&
         label.front() != '-' && label.back() != '-';
}

bool is_dns_name(string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  // Digits and dots alone are an IPv4 address gone wrong, never a name.
  if (std::ranges::all_of(name, [](char c) { return is_digit(c) || c == '.'; })) return false;
  for (;;) {
    const size_t dot = name.find('.');
    if (!is_dns_label(name.substr(0, dot))) return false;
    if (dot == string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

bool is_port(string_view text) {
  uint32_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && text.front() != '0' &&
         port <= 65535;
}

}  // namespace

std::optional<std::string> wrong_name(string_view name) {
  if (name.empty()) return "is empty; give a name such as \"web-1\"";
  if (name.size() > kMaxNameBytes) {
    return fmt::format("is {} bytes long; use at most {}", name.size(), kMaxNameBytes);
  }
  if (const auto at = first_other(name, "-_.")) {
    return fmt::format("{} holds {} at byte {}; use letters, digits, '-', '_' and '.'",
                       in_quotes(name), shown(name[*at]), *at);
  }
  if (!is_letter_or_digit(name.front()) || !is_letter_or_digit(name.back())) {
    return fmt::format("{} must begin and end with a letter or digit, such as \"web-1\"",
                       in_quotes(name));
  }
  return std::nullopt;
}

std::optional<std::string> wrong_label_key(string_view key) {
  if (key.empty()) return "has an empty key; give one such as \"tier\"";
  if (key.size() > kMaxLabelKeyBytes) {
    return fmt::format("has the key {} of {} bytes; use at most {}", in_quotes(key, 32), key.size(),
                       kMaxLabelKeyBytes);
  }
  if (const auto at = first_other(key, "-_./")) {
    return fmt::format(
        "has the key {}, which holds {} at byte {}; use letters, digits, '-', '_', '.' and '/'",
        in_quotes(key), shown(key[*at]), *at);
  }
  return std::nullopt;
}

std::optional<std::string> wrong_label_value(string_view value) {
  if (value.size() > kMaxLabelValueBytes) {
    return fmt::format("is {} bytes long; use at most {}", value.size(), kMaxLabelValueBytes);
  }
  if (const auto at = first_invalid_utf8(value)) {
    return fmt::format("is not UTF-8 at byte {}; use text such as \"front\"", *at);
  }
  const auto control = std::ranges::find_if(
      value, [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; });
  if (control != value.end()) {
    return fmt::format("{} holds {} at byte {}; use printable text such as \"front\"",
                       in_quotes(value), shown(*control), control - value.begin());
  }
  return std::nullopt;
}

std::optional<std::string> wrong_address(string_view address) {
  constexpr string_view kRight =
      "use host:port such as \"edge.example:3080\", \"10.0.0.7:3080\" or \"[fd00::7]:3080\"";
  const size_t colon = address.rfind(':');
  if (colon == string_view::npos) {
    return fmt::format("{} has no port; {}", in_quotes(address), kRight);
  }
  const string_view host = address.substr(0, colon);
  const string_view port = address.substr(colon + 1);
  if (!is_port(port)) {
    return fmt::format("{} has the port {}, which is not 1 to 65535; {}", in_quotes(address),
                       in_quotes(port, 16), kRight);
  }
  const bool bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  const bool good = bracketed ? is_ip(AF_INET6, host.substr(1, host.size() - 2))
                              : is_ip(AF_INET, host) || is_dns_name(host);
  if (good) return std::nullopt;
  return fmt::format("{} does not begin with a host; {}", in_quotes(address), kRight);
}

std::optional<std::string> wrong_ip(string_view ip) {
  if (is_ip(AF_INET, ip) || is_ip(AF_INET6, ip)) return std::nullopt;
  return fmt::format("{} is not an IP address; use one such as \"10.96.0.10\" or \"fd00::a\"",
                     in_quotes(ip));
}

}  // namespace holdfast::resource
