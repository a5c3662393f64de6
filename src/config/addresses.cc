#include "config/addresses.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "resource/scalar_text.h"
#include "resource/text_rules.h"

namespace holdfast::config {

using std::string_view;

string_view host_of(string_view address) {
  string_view host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

string_view port_of(string_view address) {
  return address.substr(std::min(address.size(), address.rfind(':') + 1));
}

std::optional<std::string> wrong_listen_address(string_view address) {
  constexpr uint32_t kMaxPort = 65535;
  const auto port = resource::parse_int<uint32_t>(port_of(address));
  const bool has_port = address.contains(':') && port && *port <= kMaxPort;
  const string_view host = host_of(address);
  const bool bracketed = address.starts_with('[');
  const bool is_ip = !resource::wrong_ip(host) && bracketed == host.contains(':');
  if (has_port && is_ip) return std::nullopt;
  return fmt::format("{} is not IP:PORT; use one such as 0.0.0.0:7443 or [::1]:7443",
                     in_quotes(address));
}

std::optional<std::string> wrong_host(string_view host) {
  if (!resource::wrong_ip(host)) return std::nullopt;
  // A name is what can stand before a port.
  const bool is_name = !host.contains(':') && !resource::wrong_address(std::string(host) + ":1");
  if (is_name) return std::nullopt;
  return fmt::format("{} is neither a DNS name nor an IP address; leave out ports and brackets",
                     in_quotes(host));
}

std::optional<std::string> wrong_reachable_host(string_view host) {
  if (auto wrong = wrong_host(host)) return wrong;
  if (!is_wildcard(host)) return std::nullopt;
  return fmt::format(
      "{} is every address of a machine and can be dialled at none; use a name or "
      "an address of this one",
      in_quotes(host));
}

std::optional<std::string> wrong_etcd_prefix(string_view prefix) {
  if (prefix.size() > 1 && prefix.starts_with('/') && !prefix.ends_with('/')) return std::nullopt;
  return fmt::format("{} must begin with '/' and end without, such as /holdfast",
                     in_quotes(prefix));
}

bool same_socket(string_view dialled, string_view listener) {
  if (port_of(dialled) != port_of(listener)) return false;
  const string_view host = host_of(dialled);
  const string_view other = host_of(listener);
  const bool is_local = host == "localhost" || is_loopback(host);
  const bool on_loopback = is_loopback(other) || is_wildcard(other);
  return host == other || (host == "localhost" && on_loopback) || (is_local && is_wildcard(other));
}

bool is_loopback(string_view ip) {
  in6_addr v6{};
  const std::string text(ip);
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6) != 0;
  return ip.starts_with("127.");
}

bool is_here(string_view address) {
  if (address.empty()) return true;
  if (wrong_listen_address(address)) return address.starts_with("localhost:");
  return is_loopback(host_of(address));
}

bool is_wildcard(string_view ip) {
  in6_addr v6{};
  const std::string text(ip);
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) return IN6_IS_ADDR_UNSPECIFIED(&v6) != 0;
  return ip == "0.0.0.0";
}

bool overlap(string_view ip, string_view other) {
  const auto covers = [](string_view a, string_view b) {
    return is_wildcard(a) && (a.contains(':') || !b.contains(':'));
  };
  return ip == other || covers(ip, other) || covers(other, ip);
}

}  // namespace holdfast::config
