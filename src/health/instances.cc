#include "health/instances.h"

#include <algorithm>
#include <utility>

namespace holdfast::health {

void Instances::heard(const Sighting& sighting, Duration ttl, Time now) {
  heartbeat_ = sighting.heartbeat;
  if (sighting.instance == 0) return;
  const Time before = std::exchange(last_heard_, now);
  if (sighting.instance == last()) return;
  if (last() != 0) other_until_ = before + ttl;
  if (comes_back(sighting.instance)) two_until_ = now + 2 * ttl;
  forget(sighting.instance);
  std::shift_right(recent_.begin(), recent_.end(), 1);
  recent_.front() = sighting.instance;
}

void Instances::observed(const Sighting& sighting, Duration ttl, Time now) {
  if (sighting.heartbeat > heartbeat_) heard(sighting, ttl, now);
}

bool Instances::leave(InstanceId instance, Time now) {
  if (instance == 0 || last() == 0) return true;
  const bool is_last = instance == last();
  const bool is_alone = is_last && now >= other_until_;
  if (is_last || instance == recent_[1]) other_until_ = Time();
  forget(instance);
  return is_alone;
}

InstanceId Instances::other_than(InstanceId instance, Time now) const {
  if (instance == 0) return 0;
  if (!are_two(now) && !comes_back(instance)) return 0;
  return instance == recent_[0] ? recent_[1] : recent_[0];
}

bool Instances::comes_back(InstanceId instance) const {
  return instance != last() && std::ranges::find(recent_, instance) != recent_.end();
}

void Instances::forget(InstanceId instance) {
  const auto rest = std::ranges::remove(recent_, instance);
  std::ranges::fill(rest, 0);
}

}  // namespace holdfast::health
