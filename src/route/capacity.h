// A service's capacity as its resource says it.
#pragma once

#include "holdfast/v1/resource.pb.h"
#include "route/load.h"

namespace holdfast::route {

Capacity capacity_of(const v1::Service& service);
// Whether any zone has a limit.
bool has_limits(const v1::Service& service);

}  // namespace holdfast::route
