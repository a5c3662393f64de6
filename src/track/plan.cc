#include "track/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "resource/endpoint_rules.h"
#include "route/capacity.h"
#include "route/zone_order.h"

namespace holdfast::track {
namespace {

static_assert(resource::kMaxEndpointZones == HF_ZONES_PER_SERVICE);
static_assert(resource::kMaxEndpointsPerZone == HF_BACKENDS_PER_ZONE);

Protocol protocol_of(const v1::ServicePort& port) {
  return port.protocol() == v1::PROTOCOL_UDP ? Protocol::Udp : Protocol::Tcp;
}

// "10.1.0.7:8080", "[fd00::7]:8080"
Result<Endpoint> parse_endpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return absl::InvalidArgumentError("it has no port");
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  Endpoint endpoint;
  TRY(endpoint.address, parse_address(host));
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc() || end != digits.data() + digits.size() || endpoint.port == 0) {
    return absl::InvalidArgumentError("its port is none");
  }
  return endpoint;
}

// A connect() cannot wait in the kernel: who is to queue is refused, and comes again.
WhenFull when_full(const v1::Service& service) {
  const bool keeps_to_it =
      service.when_full() == v1::WHEN_FULL_REJECT || service.when_full() == v1::WHEN_FULL_QUEUE;
  return keeps_to_it ? WhenFull::Reject : WhenFull::Overflow;
}

class Planner {
 public:
  explicit Planner(const Zones& zones) : zones_(zones) {}

  void add(const NamedService& named) {
    const v1::Service& service = named.service;
    if (service.virtual_ip().empty() || service.endpoints().empty()) return;
    const Result<Address> address = parse_address(service.virtual_ip());
    if (!address.ok()) return problem(named.name, std::string(address.status().message()));
    for (const v1::ServicePort& port : service.ports()) {
      const Endpoint at{.address = *address, .port = static_cast<uint16_t>(port.port())};
      add_port(named, port, make_vip(at, protocol_of(port)));
    }
    plan_.capacities[named.name] = route::capacity_of(service);
  }

  Plan finish() { return std::move(plan_); }

 private:
  void add_port(const NamedService& named, const v1::ServicePort& port, const Vip& vip) {
    PlannedPort planned{.service = named.name,
                        .spec = {.vip = vip, .when_full = when_full(named.service)}};
    std::set<std::string> available;
    for (const v1::ServiceEndpoint& endpoint : named.service.endpoints()) {
      if (resource::port_of(named.service, endpoint) != &port) continue;
      const Result<Endpoint> at = parse_endpoint(endpoint.address());
      if (!at.ok()) {
        problem(named.name,
                fmt::format("{}: {}", endpoint.address(), std::string(at.status().message())));
        continue;
      }
      const uint8_t zone = zones_.map.id(endpoint.zone());
      planned.spec.backends.push_back(
          {.at = *at, .zone = zone, .weight = std::max<uint32_t>(1, endpoint.weight())});
      if (zone != kUnlistedZone) planned.zones[zone] = endpoint.zone();
      available.insert(endpoint.zone());
    }
    if (planned.spec.backends.empty()) return;
    const auto [taken, is_new] = owners_.emplace(vip, named.name);
    if (!is_new) {
      return problem(named.name, fmt::format("{} is already {}'s", to_string(vip), taken->second));
    }
    planned.spec.zone_order = order_of({available.begin(), available.end()});
    plan_.ports.push_back(std::move(planned));
  }

  std::vector<uint8_t> order_of(const std::vector<std::string>& available) const {
    std::vector<uint8_t> order;
    for (const std::string& zone : route::zone_order(zones_.own, zones_.listed, available)) {
      order.push_back(zones_.map.id(zone));
    }
    return order;
  }

  void problem(const std::string& service, const std::string& what) {
    plan_.problem_count += 1;
    if (plan_.problems.size() >= kMostProblems) return;
    plan_.problems.push_back(fmt::format("{}: {}", service, what));
  }

  const Zones& zones_;
  Plan plan_;
  std::map<Vip, std::string> owners_;
};

}  // namespace

Result<Zones> make_zones(const v1::ZoneMap& resource, std::string own) {
  std::vector<std::pair<std::string, int>> listed;
  Zones zones{.own = std::move(own)};
  for (const v1::Zone& zone : resource.zones()) {
    listed.emplace_back(zone.name(), static_cast<int>(zone.id()));
    zones.listed.push_back(zone.name());
  }
  TRY(zones.map, ZoneMap::make(listed));
  return zones;
}

Plan make_plan(std::span<const NamedService> services, const Zones& zones) {
  std::vector<const NamedService*> by_name;
  for (const NamedService& service : services) by_name.push_back(&service);
  std::ranges::sort(by_name, {}, [](const NamedService* one) { return one->name; });
  Planner planner(zones);
  for (const NamedService* service : by_name) planner.add(*service);
  return planner.finish();
}

}  // namespace holdfast::track
