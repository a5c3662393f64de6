#include "route/capacity.h"

#include <algorithm>

namespace holdfast::route {
namespace {

WhenFull when_full_of(v1::WhenFull said) {
  switch (said) {
    case v1::WHEN_FULL_QUEUE:
      return WhenFull::Queue;
    case v1::WHEN_FULL_REJECT:
      return WhenFull::Reject;
    default:
      return WhenFull::Overflow;
  }
}

}  // namespace

Capacity capacity_of(const v1::Service& service) {
  Capacity capacity{.when_full = when_full_of(service.when_full())};
  for (const auto& [zone, places] : service.zone_capacity()) {
    if (places > 0) capacity.zones.emplace(zone, places);
  }
  return capacity;
}

bool has_limits(const v1::Service& service) {
  return std::ranges::any_of(service.zone_capacity(),
                             [](const auto& zone) { return zone.second > 0; });
}

}  // namespace holdfast::route
