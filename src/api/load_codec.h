// Load reports and what is answered to them, between the wire and route/load.h. What comes is
// another's and is believed only as far as it can be true.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "holdfast/v1/load.pb.h"
#include "route/dealer.h"
#include "route/load.h"

namespace holdfast::api {

inline constexpr size_t kMostPoolsOfAReport = 4'096;

// Who reports is not in it: its certificate says so. kInvalidArgument HF2401: no number, a name
// that is none, a pool twice, counts that cannot be; kResourceExhausted HF2402: too many pools.
Result<route::LoadReport> read_report(const v1::LoadReport& said);
// "proxy/edge-1" or "agent/edge-7", and a zone or none. kInvalidArgument HF2401 for all else.
Status check_holder(std::string_view holder, std::string_view zone);

v1::LoadGrant to_proto(const route::LoadGrant& grant);
v1::PoolReport to_proto(const route::PoolReport& report);
v1::PoolStatus to_proto(const route::Dealer::PoolRow& row, bool with_holders);

}  // namespace holdfast::api
