// Whether the peer is still there, and how far away it is. A ping goes every interval; whatever
// comes is a sign of life. After so many intervals without any the peer counts as dead.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace holdfast::tunnel {

class Keepalive {
 public:
  // Requires: interval > 0, misses > 0; so for set().
  Keepalive(Duration interval, uint32_t misses, Time now);
  void set(Duration interval, uint32_t misses, Time now);

  void on_bytes(Time now);
  void on_pong(uint64_t value, Time now);

  enum class Action : uint8_t { None, Ping, Dead };
  // Ping: with ping_value(). If this side itself was held up for longer than an interval, so that
  // it could not have read anything, the peer gets one interval more.
  Action on_tick(Time now);
  Time next_deadline() const;

  uint64_t ping_value() const { return pings_; }
  Time last_bytes() const { return last_bytes_; }
  // Smoothed.
  std::optional<Duration> round_trip() const { return round_trip_; }
  // The shortest ever: the path's own, without what waited on it.
  std::optional<Duration> shortest_round_trip() const { return shortest_round_trip_; }

 private:
  static constexpr size_t kPings = 4;  // whose answers are waited for
  Time death() const { return silent_since_ + misses_ * interval_; }

  Duration interval_;
  uint32_t misses_;
  bool was_held_up_ = false;  // since anything last came
  Time last_bytes_;
  Time silent_since_;
  Time next_ping_;
  uint64_t pings_ = 0;
  uint64_t last_pong_ = 0;
  std::array<Time, kPings> sent_{};
  std::optional<Duration> round_trip_;
  std::optional<Duration> shortest_round_trip_;
};

}  // namespace holdfast::tunnel
