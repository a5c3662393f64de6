// Times on the wire as ours, and as people read them.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::cli {

WallTime to_wall(const google::protobuf::Timestamp& time);
Duration to_duration(const google::protobuf::Duration& duration);
google::protobuf::Duration to_proto(Duration duration);

// "90" or "1.5" for seconds, or "1m30s"; above zero, at most a year.
Result<Duration> parse_duration(std::string_view text);

// "90us", "1.5ms", "12.3ms", "3m12s": for what is often shorter than a millisecond.
std::string fine_text(Duration duration);

// "3m12s ago", "in 23h05m".
std::string relative(WallTime time, WallTime now);
// "3m12s": how long ago; "0ms" for what is still to come.
std::string age(WallTime time, WallTime now);

}  // namespace holdfast::cli
