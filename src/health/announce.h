// When a node announces itself: expiry = now + TTL, every TTL/2 + uniform[0, TTL/10), drawn once;
// sooner after a failure or when what it says has changed.
#pragma once

#include <cstddef>

#include "base/clock.h"
#include "base/rng.h"

namespace holdfast::health {

struct TtlOptions {
  Duration ttl = std::chrono::seconds(60);
  // Large fleets: TTL x sqrt(count / 1024), at most this. Equal to ttl: always the same.
  Duration max_ttl = std::chrono::seconds(360);
};
// The TTL for one of `count` nodes of a kind.
Duration ttl_for(const TtlOptions& options, size_t count);
// TTL/2 + uniform[0, TTL/10).
Duration announce_period(Duration ttl, Rng& rng);

}  // namespace holdfast::health
