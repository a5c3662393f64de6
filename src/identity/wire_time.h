// Times of messages as values, and back. Private to identity.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include "base/clock.h"

namespace holdfast::identity {

inline WallTime from_wire(const google::protobuf::Timestamp& time) {
  const auto whole = std::chrono::seconds(time.seconds());
  return WallTime(whole + std::chrono::milliseconds(time.nanos() / 1'000'000));
}

inline google::protobuf::Timestamp to_wire(WallTime time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
  google::protobuf::Timestamp out;
  out.set_seconds(whole.count());
  out.set_nanos(static_cast<int32_t>((time.time_since_epoch() - whole).count()) * 1'000'000);
  return out;
}

}  // namespace holdfast::identity
