#include "track/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>

namespace holdfast::track {
namespace {

constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

Key make_key(uint16_t service, uint8_t zone) {
  return Key(hf_key{.service = service, .zone = zone, .pad = 0});
}

Result<Address> parse_address(std::string_view text) {
  Address address;
  const std::string copy(text);
  auto* bytes = reinterpret_cast<uint8_t*>(address.words);
  if (inet_pton(AF_INET6, copy.c_str(), bytes) == 1) return address;
  std::memcpy(bytes, kMapped.data(), kMapped.size());
  if (inet_pton(AF_INET, copy.c_str(), bytes + kMapped.size()) == 1) return address;
  return absl::InvalidArgumentError(fmt::format("\"{}\" is no IPv4 or IPv6 address", text));
}

bool is_ipv4(const Address& address) {
  return std::memcmp(address.words, kMapped.data(), kMapped.size()) == 0;
}

std::string to_string(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto* bytes = reinterpret_cast<const uint8_t*>(address.words);
  if (is_ipv4(address)) {
    inet_ntop(AF_INET, bytes + kMapped.size(), text.data(), text.size());
  } else {
    inet_ntop(AF_INET6, bytes, text.data(), text.size());
  }
  return text.data();
}

uint16_t swap_port(uint16_t port) {
  return htons(port);
}

Vip make_vip(const Endpoint& endpoint, Protocol protocol) {
  return Vip(hf_vip{.address = endpoint.address,
                    .port = swap_port(endpoint.port),
                    .protocol = static_cast<uint8_t>(protocol),
                    .pad = 0});
}

Endpoint endpoint_of(const Vip& vip) {
  return {.address = vip.address, .port = swap_port(vip.port)};
}

std::string_view protocol_name(const Vip& vip) {
  return vip.protocol == HF_UDP ? "udp" : "tcp";
}

std::string to_string(const Vip& vip) {
  const Endpoint endpoint = endpoint_of(vip);
  const char* shape = is_ipv4(endpoint.address) ? "{} {}:{}" : "{} [{}]:{}";
  return fmt::format(fmt::runtime(shape), protocol_name(vip), to_string(endpoint.address),
                     endpoint.port);
}

}  // namespace holdfast::track
