#include "tunnel/session_keepalive.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::tunnel {
namespace {

constexpr int kSampleWeight = 8;  // a new round trip counts for an eighth
// The first ping goes after this part of an interval: the distance is known early, and the ping
// does not come before the greeting.
constexpr int kFirstPing = 4;

}  // namespace

Keepalive::Keepalive(Duration interval, uint32_t misses, Time now)
    : interval_(interval),
      misses_(misses),
      last_bytes_(now),
      silent_since_(now),
      next_ping_(now + interval / kFirstPing) {
  HF_CHECK(interval > Duration::zero() && misses > 0, "keepalives have an interval");
}

void Keepalive::set(Duration interval, uint32_t misses, Time now) {
  HF_CHECK(interval > Duration::zero() && misses > 0, "keepalives have an interval");
  if (interval == interval_ && misses == misses_) return;
  interval_ = interval;
  misses_ = misses;
  next_ping_ = std::min(next_ping_, now + interval);
  silent_since_ = now;  // the old interval may have asked for less
}

void Keepalive::on_bytes(Time now) {
  last_bytes_ = now;
  silent_since_ = now;
  was_held_up_ = false;
}

void Keepalive::on_pong(uint64_t value, Time now) {
  if (value <= last_pong_ || value > pings_ || pings_ - value >= kPings) return;
  last_pong_ = value;
  const Duration sample = std::max(now - sent_[value % kPings], Duration::zero());
  shortest_round_trip_ = std::min(shortest_round_trip_.value_or(sample), sample);
  round_trip_ = round_trip_ ? *round_trip_ + (sample - *round_trip_) / kSampleWeight : sample;
}

Keepalive::Action Keepalive::on_tick(Time now) {
  if (now - next_deadline() > interval_ && !was_held_up_) {
    was_held_up_ = true;
    silent_since_ = std::max(silent_since_, now - (misses_ - 1) * interval_);
  }
  if (now >= death()) return Action::Dead;
  if (now < next_ping_) return Action::None;
  next_ping_ = now + interval_;
  pings_ += 1;
  sent_[pings_ % kPings] = now;
  return Action::Ping;
}

Time Keepalive::next_deadline() const {
  return std::min(next_ping_, death());
}

}  // namespace holdfast::tunnel
