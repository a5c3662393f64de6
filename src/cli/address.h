// Where a controller is: "unix:/PATH", or "HOST", "HOST:PORT", "[IPV6]:PORT" over TLS.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "cli/errors.h"

namespace holdfast::cli {

inline constexpr uint16_t kDefaultPort = 7443;

struct Address {
  std::string unix_path{};  // or host and port
  std::string host{};       // without brackets
  uint16_t port = 0;

  bool is_unix() const { return !unix_path.empty(); }
  // As gRPC and people write it.
  std::string text() const;
};

// One, or several separated by commas: unix sockets, or hosts, not both. As Address::text(), with
// commas. Exit::Usage with what is wrong.
struct Addresses {
  std::string text{};
  bool is_unix = false;
  std::vector<Address> each{};
};
std::expected<Addresses, Failure> parse_addresses(std::string_view text);

// Exit::Usage with what is wrong.
std::expected<Address, Failure> parse_address(std::string_view text);

}  // namespace holdfast::cli
