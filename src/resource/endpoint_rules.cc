#include "resource/endpoint_rules.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "resource/field_rules.h"
#include "resource/text_rules.h"

namespace holdfast::resource {
namespace {

// "10.1.0.7:8080", "[fd00::7]:8080": no name, since nobody could look one up where it is needed.
std::string_view ip_of(std::string_view address) {
  std::string_view host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host;
}

// "::ffff:10.1.0.7" is IPv4.
bool is_ipv6(std::string_view ip) {
  return ip.contains(':') && !ip.starts_with("::ffff:");
}

Status check_address(const std::string& at, const std::string& address,
                     const std::string& virtual_ip) {
  TRY_OK(check_field(at, wrong_address(address)));
  const std::string_view ip = ip_of(address);
  if (wrong_ip(ip)) {
    return wrong_field(at, fmt::format("{} begins with a name; use an IP address, as "
                                       "\"10.1.0.7:8080\" or \"[fd00::7]:8080\"",
                                       in_quotes(address)));
  }
  if (is_ipv6(ip) != is_ipv6(virtual_ip)) {
    return wrong_field(at, fmt::format("{} and the virtual IP {} are not both IPv4 or both IPv6",
                                       in_quotes(address), in_quotes(virtual_ip)));
  }
  return absl::OkStatus();
}

Status check_endpoint_port(const std::string& at, const v1::Service& service,
                           const v1::ServiceEndpoint& endpoint) {
  if (port_of(service, endpoint) != nullptr) return absl::OkStatus();
  if (endpoint.port().empty()) return wrong_field(at, "is empty, and the service has no port");
  return wrong_field(at, fmt::format("{} is not the name or number of one of the service's ports",
                                     in_quotes(endpoint.port())));
}

// Zones behind one port, with how many endpoints each has.
using Zones = std::map<std::string_view, size_t>;

Status count_in(Zones& zones, const std::string& at, const std::string& zone) {
  if (++zones[zone] > kMaxEndpointsPerZone) {
    return wrong_field(at, fmt::format("is one of more than {} in zone {} behind one port",
                                       kMaxEndpointsPerZone, in_quotes(zone)));
  }
  if (zones.size() > kMaxEndpointZones) {
    return wrong_field(at + ".zone", fmt::format("{} is one of more than {} zones behind one port",
                                                 in_quotes(zone), kMaxEndpointZones));
  }
  return absl::OkStatus();
}

}  // namespace

const v1::ServicePort* port_of(const v1::Service& service, const v1::ServiceEndpoint& endpoint) {
  if (endpoint.port().empty()) return service.ports().empty() ? nullptr : &service.ports(0);
  const v1::ServicePort* by_number = nullptr;
  size_t numbered = 0;
  for (const v1::ServicePort& port : service.ports()) {
    if (port.name() == endpoint.port()) return &port;
    if (std::to_string(port.port()) != endpoint.port()) continue;
    by_number = &port;
    numbered += 1;
  }
  return numbered == 1 ? by_number : nullptr;
}

Status check_endpoints(const v1::Service& service) {
  if (service.endpoints().empty()) return absl::OkStatus();
  if (service.virtual_ip().empty()) {
    return wrong_field("spec.endpoints", "stand behind spec.virtual_ip, which is not given");
  }
  std::map<const v1::ServicePort*, Zones> zones;
  std::set<std::pair<const v1::ServicePort*, std::string_view>> seen;
  for (int i = 0; i < service.endpoints_size(); ++i) {
    const v1::ServiceEndpoint& endpoint = service.endpoints(i);
    const std::string at = fmt::format("spec.endpoints[{}]", i);
    TRY_OK(check_address(at + ".address", endpoint.address(), service.virtual_ip()));
    TRY_OK(optional_name(at + ".zone", endpoint.zone()));
    TRY_OK(check_endpoint_port(at + ".port", service, endpoint));
    if (endpoint.weight() > kMaxEndpointWeight) {
      return wrong_field(at + ".weight", fmt::format("{} is too much; use 1 to {}",
                                                     endpoint.weight(), kMaxEndpointWeight));
    }
    const v1::ServicePort* port = port_of(service, endpoint);
    if (!seen.emplace(port, endpoint.address()).second) {
      return wrong_field(at + ".address", fmt::format("{} is listed twice behind one port",
                                                      in_quotes(endpoint.address())));
    }
    TRY_OK(count_in(zones[port], at, endpoint.zone()));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::resource
