// Addresses of services and backends as the kernel's maps have them, and their text.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/result.h"
#include "track/layout.h"

namespace holdfast::track {

// The C structures of layout.h as values that compare: byte by byte, since padding is explicit.
template <typename T>
struct ByBytes : T {
  ByBytes() : T{} {}
  ByBytes(const T& value) : T(value) {}  // NOLINT: the same thing, with comparison
  bool operator==(const ByBytes& other) const { return std::memcmp(this, &other, sizeof(T)) == 0; }
  bool operator<(const ByBytes& other) const { return std::memcmp(this, &other, sizeof(T)) < 0; }
};
using Key = ByBytes<hf_key>;
using Vip = ByBytes<hf_vip>;
using Address = ByBytes<hf_address>;

enum class Protocol : uint8_t { Tcp = HF_TCP, Udp = HF_UDP };

Key make_key(uint16_t service, uint8_t zone);

// "10.0.0.1" or "fd00::1"; IPv4 within IPv6 ("::ffff:10.0.0.1") is the IPv4 address.
Result<Address> parse_address(std::string_view text);
bool is_ipv4(const Address& address);
std::string to_string(const Address& address);

// Ports of maps are in network order; these turn them both ways.
uint16_t swap_port(uint16_t port);

struct Endpoint {
  Address address{};
  uint16_t port = 0;  // as people write it
  bool operator==(const Endpoint&) const = default;
};
Vip make_vip(const Endpoint& endpoint, Protocol protocol);
Endpoint endpoint_of(const Vip& vip);

// "tcp 10.0.0.1:80", "udp [fd00::1]:53"
std::string to_string(const Vip& vip);
std::string_view protocol_name(const Vip& vip);

}  // namespace holdfast::track
