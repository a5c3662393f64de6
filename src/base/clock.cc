#include "base/clock.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

using std::chrono::days;
using std::chrono::duration_cast;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds kYear0{-62'167'219'200'000};
constexpr milliseconds kEndOfYear9999{253'402'300'799'999};

}  // namespace

Time SystemClock::now() const {
  return Time(duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

WallTime SystemClock::wall_now() const {
  return WallTime(
      duration_cast<WallTime::duration>(std::chrono::system_clock::now().time_since_epoch()));
}

std::string to_rfc3339(WallTime time) {
  const milliseconds since_epoch = std::clamp(time.time_since_epoch(), kYear0, kEndOfYear9999);
  const auto day = std::chrono::floor<days>(since_epoch);
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  const std::chrono::hh_mm_ss clock{since_epoch - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int(date.year()),
                     unsigned(date.month()), unsigned(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::string to_short_string(Duration duration) {
  if (duration < Duration::zero()) return "-" + to_short_string(-duration);
  if (duration < seconds(1))
    return fmt::format("{}ms", duration_cast<milliseconds>(duration).count());
  const auto total = duration_cast<seconds>(duration);
  const auto minute = total.count() / 60 % 60;
  const auto hour = total.count() / 3600 % 24;
  if (total < minutes(1)) return fmt::format("{}s", total.count());
  if (total < hours(1)) return fmt::format("{}m{:02}s", minute, total.count() % 60);
  if (total < days(1)) return fmt::format("{}h{:02}m", hour, minute);
  return fmt::format("{}d{}h", total.count() / 86400, hour);
}

}  // namespace holdfast
