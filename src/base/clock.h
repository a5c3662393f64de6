// Time as a value. `Time` (monotonic) and `WallTime` (calendar, for what is stored or shown) have
// no now(): a core receives the time with each input, and only a service holds a Clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast {

using Duration = std::chrono::nanoseconds;

struct Monotonic {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Monotonic>;
  static constexpr bool is_steady = true;
};
using Time = Monotonic::time_point;

struct Calendar {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Calendar>;
  static constexpr bool is_steady = false;
};
// Milliseconds since 1970-01-01 UTC.
using WallTime = Calendar::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
  virtual WallTime wall_now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Time now() const override;
  WallTime wall_now() const override;
};

// A clock that moves only when told; both of its hands move together.
class ManualClock final : public Clock {
 public:
  Time now() const override { return Time(elapsed_); }
  WallTime wall_now() const override {
    return WallTime(kStart + std::chrono::duration_cast<WallTime::duration>(elapsed_));
  }
  void advance(Duration by) { elapsed_ += by; }

 private:
  static constexpr std::chrono::milliseconds kStart{1'700'000'000'000};
  Duration elapsed_{0};
};

// "2026-11-15T08:30:00.250Z"; years 0000 to 9999, else the nearest of them.
std::string to_rfc3339(WallTime time);
// "850ms", "2s", "3m12s", "4h05m", "6d2h": for people, at most two units.
std::string to_short_string(Duration duration);

}  // namespace holdfast
