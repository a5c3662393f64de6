#include "resource/proto_time.h"

#include <algorithm>

namespace holdfast::resource {
namespace {

constexpr int64_t kMostSeconds = INT64_MAX / kNanosPerSecond - 1;

}  // namespace

WallTime to_wall_time(const google::protobuf::Timestamp& stamp) {
  const int64_t seconds = std::clamp<int64_t>(stamp.seconds(), -kMostSeconds, kMostSeconds);
  return WallTime(std::chrono::seconds(seconds) +
                  std::chrono::milliseconds(stamp.nanos() / 1'000'000));
}

google::protobuf::Timestamp to_proto(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
  google::protobuf::Timestamp stamp;
  stamp.set_seconds(seconds.count());
  stamp.set_nanos(
      static_cast<int32_t>(std::chrono::nanoseconds(time.time_since_epoch() - seconds).count()));
  return stamp;
}

Duration to_duration(const google::protobuf::Duration& duration) {
  const int64_t seconds = std::clamp<int64_t>(duration.seconds(), -kMostSeconds, kMostSeconds);
  return std::chrono::seconds(seconds) + std::chrono::nanoseconds(duration.nanos());
}

google::protobuf::Duration to_proto(Duration duration) {
  google::protobuf::Duration out;
  out.set_seconds(duration.count() / kNanosPerSecond);
  out.set_nanos(static_cast<int32_t>(duration.count() % kNanosPerSecond));
  return out;
}

}  // namespace holdfast::resource
