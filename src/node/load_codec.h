// A holder's side of load reports: what it says, and what it is answered, between route/load.h and
// the wire.
#pragma once

#include "holdfast/v1/load.pb.h"
#include "route/load.h"

namespace holdfast::node {

// Without who reports: the certificate says so.
v1::LoadReport to_proto(const route::LoadReport& report);
route::LoadGrant from_proto(const v1::LoadGrant& grant);

}  // namespace holdfast::node
