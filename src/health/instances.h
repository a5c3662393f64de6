// Which processes speak under one name. A restart puts one in another's place for good; one that
// speaks again after another did is a second process with the same identity: copied, or a machine
// that came back beside its replacement.
//
//   a a a b b b      a restart
//   a b a            two: from here on until none has come back for two TTLs
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"

namespace holdfast::health {

// When its process started, in milliseconds since the epoch; 0: it does not say, and does not
// count.
using InstanceId = int64_t;

struct Sighting {
  InstanceId instance = 0;
  WallTime heartbeat{};
};

class Instances {
 public:
  // It spoke to us, just now.
  void heard(const Sighting& sighting, Duration ttl, Time now);
  // The store says that it spoke. What is not newer than what is known is an echo of that.
  void observed(const Sighting& sighting, Duration ttl, Time now);

  // It says goodbye. Whether nobody is there then: false if another spoke since, or less than a TTL
  // before it took its place, and has not said goodbye.
  bool leave(InstanceId instance, Time now);

  // The other one that speaks, if this one does so now; 0: there is none.
  InstanceId other_than(InstanceId instance, Time now) const;
  bool are_two(Time now) const { return now < two_until_; }
  // 0: not known.
  InstanceId last() const { return recent_.front(); }

 private:
  bool comes_back(InstanceId instance) const;
  void forget(InstanceId instance);

  // The last first. More copies than these, in turns, are not told from restarts.
  std::array<InstanceId, 4> recent_{};
  WallTime heartbeat_{};
  Time last_heard_{};   // the last one
  Time other_until_{};  // the one before it may be there
  Time two_until_{};
};

}  // namespace holdfast::health
