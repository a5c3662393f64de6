#include "health/announce.h"

#include <algorithm>
#include <cmath>

namespace holdfast::health {
namespace {

constexpr double kCountForOneTtl = 1024;

}  // namespace

Duration ttl_for(const TtlOptions& options, size_t count) {
  if (options.max_ttl <= options.ttl) return options.ttl;
  const double factor = std::sqrt(static_cast<double>(count) / kCountForOneTtl);
  const double wanted = static_cast<double>(options.ttl.count()) * std::max(1.0, factor);
  if (wanted >= static_cast<double>(options.max_ttl.count())) return options.max_ttl;
  return Duration(static_cast<Duration::rep>(wanted));
}

Duration announce_period(Duration ttl, Rng& rng) {
  return ttl / 2 + rng.below(ttl / 10);
}

}  // namespace holdfast::health
