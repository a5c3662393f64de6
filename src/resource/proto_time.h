// Times and durations in protobuf's form and in ours. Ours has milliseconds of the calendar.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include "base/clock.h"

namespace holdfast::resource {

inline constexpr int64_t kNanosPerSecond = 1'000'000'000;

WallTime to_wall_time(const google::protobuf::Timestamp& stamp);
google::protobuf::Timestamp to_proto(WallTime time);
// Clamped to what a Duration holds, about 292 years.
Duration to_duration(const google::protobuf::Duration& duration);
google::protobuf::Duration to_proto(Duration duration);

}  // namespace holdfast::resource
