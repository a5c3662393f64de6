// How long the pair waits for what. All by the monotonic clock.
#pragma once

#include <chrono>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::ha {

struct Timing {
  Duration beat = std::chrono::milliseconds(100);
  // An active half serves reads for so long after it sent a beat that the peer has heard.
  Duration lease = std::chrono::milliseconds(600);
  // An active half goes on without a peer that was silent for so long.
  Duration drop = std::chrono::milliseconds(700);
  // A passive half takes over from one that was silent for so long; the backup a little later than
  // the primary would.
  Duration take = std::chrono::seconds(1);
  Duration skew = std::chrono::milliseconds(100);
  Duration witness_timeout = std::chrono::milliseconds(500);
  // How long a client's request waits for a half to become active before it is sent away.
  Duration vote_patience = std::chrono::seconds(2);
  // An active backup yields to a primary that was there and in sync for so long; zero: never.
  Duration recovery{0};
};

// kInvalidArgument HF4110 naming the two keys (ha.beat, ha.lease, ha.drop, ha.take,
// ha.vote_patience, ha.recovery), both values and how they must stand to each other: 5 beats fit
// into the lease and into drop; 1.01 leases into drop, and with 2 beats into take; drop and 2 beats
// into take; take and skew into vote_patience; recovery is zero or at least ten takes; each is
// 10 ms to an hour.
Status check(const Timing& timing);

}  // namespace holdfast::ha
