#include "cli/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "resource/scalar_text.h"

namespace holdfast::cli {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

WallTime to_wall(const google::protobuf::Timestamp& time) {
  constexpr int64_t kFarthest = 253'402'300'799;  // the end of year 9999
  return WallTime(seconds(std::clamp<int64_t>(time.seconds(), -kFarthest, kFarthest)) +
                  milliseconds(time.nanos() / 1'000'000));
}

Duration to_duration(const google::protobuf::Duration& duration) {
  constexpr int64_t kLongest = 9'000'000'000;  // what 64 bits of nanoseconds hold
  return seconds(std::clamp<int64_t>(duration.seconds(), -kLongest, kLongest)) +
         nanoseconds(duration.nanos());
}

google::protobuf::Duration to_proto(Duration duration) {
  google::protobuf::Duration out;
  out.set_seconds(duration_cast<seconds>(duration).count());
  out.set_nanos(static_cast<int32_t>((duration % seconds(1)).count()));
  return out;
}

Result<Duration> parse_duration(std::string_view text) {
  constexpr Duration kLongest = std::chrono::hours(24 * 366);
  const auto wrong = [&](std::string_view why) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", in_quotes(text), why));
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  Duration duration{0};
  if (error == std::errc() && end == text.data() + text.size()) {
    if (!(number <= 1e9)) return wrong("longer than a year");
    duration = Duration(static_cast<int64_t>(number * 1e9));
  } else {
    const auto parsed = resource::parse_duration(text);
    if (!parsed) return wrong("use seconds, or as 1m30s");
    duration = to_duration(*parsed);
  }
  if (duration <= Duration::zero()) return wrong("must be above zero");
  if (duration > kLongest) return wrong("longer than a year");
  return duration;
}

std::string fine_text(Duration duration) {
  using std::chrono::microseconds;
  if (duration <= Duration::zero() || duration >= seconds(1)) return to_short_string(duration);
  const auto micros = duration_cast<microseconds>(duration).count();
  if (micros < 1'000) return fmt::format("{}us", std::max<int64_t>(micros, 1));
  if (micros < 100'000) return fmt::format("{:.3g}ms", static_cast<double>(micros) / 1'000);
  return to_short_string(duration);
}

std::string relative(WallTime time, WallTime now) {
  // Hundreds of years do not fit into nanoseconds.
  constexpr milliseconds kMost = std::chrono::hours(24 * 365 * 250);
  const milliseconds ahead = std::clamp(time - now, -kMost, kMost);
  if (ahead <= milliseconds(0)) return to_short_string(-ahead) + " ago";
  return "in " + to_short_string(ahead);
}

std::string age(WallTime time, WallTime now) {
  const std::string text = relative(std::min(time, now), now);
  return text.substr(0, text.size() - std::string_view(" ago").size());
}

}  // namespace holdfast::cli
