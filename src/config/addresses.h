// Addresses of the configuration: what may be listened on, and what others can reach. As in
// resource/text_rules.h, a rule returns what is wrong with the text, or nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::config {

// "IP:PORT", an IPv6 address in brackets; port 0 to 65535.
std::optional<std::string> wrong_listen_address(std::string_view address);
// A DNS name or an IP address, without a port.
std::optional<std::string> wrong_host(std::string_view host);
// The same, that can be dialled: neither 0.0.0.0 nor ::.
std::optional<std::string> wrong_reachable_host(std::string_view host);
// Begins with a slash, does not end with one.
std::optional<std::string> wrong_etcd_prefix(std::string_view prefix);

// Both require what wrong_listen_address() takes.
std::string_view host_of(std::string_view address);  // without brackets
std::string_view port_of(std::string_view address);

// Whether who dials the first reaches a listener on the second, for all that can be told without
// asking: the same host and port, or a loopback address and a listener on every address.
bool same_socket(std::string_view dialled, std::string_view listener);

bool is_loopback(std::string_view ip);
// Whether HOST:PORT can only be on this machine; also if it is empty.
bool is_here(std::string_view address);
// 0.0.0.0 or ::, which listen everywhere and can be dialled nowhere.
bool is_wildcard(std::string_view ip);
// Whether two listeners on these addresses would want the same port. :: takes IPv4 along.
bool overlap(std::string_view ip, std::string_view other);

}  // namespace holdfast::config
