#include "route/shares.h"

#include <algorithm>
#include <numeric>

#include "route/load.h"

namespace holdfast::route {

namespace {

uint64_t filled(std::span<const uint64_t> wishes, uint64_t level) {
  return std::accumulate(wishes.begin(), wishes.end(), uint64_t{0},
                         [&](uint64_t sum, uint64_t wish) { return sum + std::min(wish, level); });
}

}  // namespace

uint64_t fill(std::span<const uint64_t> wishes, uint64_t& rest) {
  const uint64_t all = filled(wishes, kNoLimit);
  if (all <= rest) {
    rest -= all;
    return kNoLimit;
  }
  // The lowest level at which nothing is left.
  uint64_t below = 0;
  uint64_t enough = rest;
  while (below < enough) {
    const uint64_t middle = below + (enough - below) / 2;
    if (filled(wishes, middle) >= rest) {
      enough = middle;
    } else {
      below = middle + 1;
    }
  }
  rest = 0;
  return enough;
}

uint64_t fixed_share(const Sharing& sharing, bool is_local) {
  if (sharing.capacity <= sharing.holders) return sharing.capacity == 0 ? 0 : 1;
  const uint64_t rest = sharing.capacity - sharing.holders;
  const uint64_t weights = sharing.holders + sharing.local * (kLocalWeight - 1);
  // Divided before it is multiplied: capacities may be large.
  const uint64_t weight = is_local ? kLocalWeight : 1;
  return 1 + rest / weights * weight + rest % weights * weight / weights;
}

}  // namespace holdfast::route
