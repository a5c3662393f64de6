// What holds for the endpoints of a service, and which of its ports one is behind.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "holdfast/v1/resource.pb.h"

namespace holdfast::resource {

// Behind one port; as many as the kernel's maps take (track/layout.h).
inline constexpr size_t kMaxEndpointZones = 16;
inline constexpr size_t kMaxEndpointsPerZone = 64;
inline constexpr uint32_t kMaxEndpointWeight = 10'000;

// kInvalidArgument naming the first field that is wrong. Requires: ports and virtual IP are right.
Status check_endpoints(const v1::Service& service);

// Null if there is none, or if a number is that of two (TCP's and UDP's).
const v1::ServicePort* port_of(const v1::Service& service, const v1::ServiceEndpoint& endpoint);

}  // namespace holdfast::resource
