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
  // The highest level for which there is enough.
  uint64_t level = 0;
  uint64_t above = rest + 1;
  while (level + 1 < above) {
    const uint64_t middle = level + (above - level) / 2;
    (filled(wishes, middle) <= rest ? level : above) = middle;
  }
  rest = 0;
  return level;
}

uint64_t fixed_share(const Sharing& sharing, double weight) {
  if (sharing.capacity <= sharing.holders) return sharing.capacity == 0 ? 0 : 1;
  const uint64_t rest = sharing.capacity - sharing.holders;
  const double part = std::clamp(weight / sharing.weights, 0.0, 1.0);
  return 1 + std::min(rest, static_cast<uint64_t>(static_cast<double>(rest) * part));
}

}  // namespace holdfast::route
