// What the cluster's services are to the kernel: each port of a virtual IP with its backends, in
// the order of zones of this node. What may be had of each zone is filled in by lease_plan.h.
//
//   services, zone map, own zone ──► make_plan() ──► PlannedPort ── Leases::limit() ──► Model
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "holdfast/v1/resource.pb.h"
#include "route/load.h"
#include "track/model.h"
#include "track/zone_map.h"

namespace holdfast::track {

struct NamedService {
  std::string name{};
  v1::Service service{};
};

// The zones as this node sees them.
struct Zones {
  ZoneMap map{};
  std::vector<std::string> listed{};  // in the zone map's order
  std::string own{};
};
// HF8111, as ZoneMap::make().
Result<Zones> make_zones(const v1::ZoneMap& resource, std::string own);

// One port of a service: a VIP in the kernel, and a share of the service's pools.
struct PlannedPort {
  std::string service{};
  ServiceSpec spec{};
  std::map<uint8_t, std::string> zones{};  // of its backends, those that are listed
};

struct Plan {
  std::vector<PlannedPort> ports{};
  std::map<std::string, route::Capacity, std::less<>> capacities{};  // of its services
  // For people: "web: tcp 10.96.0.1:80 is already db's". As many as kMostProblems.
  std::vector<std::string> problems{};
  size_t problem_count = 0;
};
inline constexpr size_t kMostProblems = 3;

// Of two services with one VIP, the first by name has it. Services without a virtual IP, or without
// endpoints, are not the kernel's.
Plan make_plan(std::span<const NamedService> services, const Zones& zones);

}  // namespace holdfast::track
