// The arithmetic of dealing: filling several wishes evenly, and the share of who hears nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast::route {

// How much each of `wishes` may have of `rest`, at most: the level up to which all are filled, like
// water; kNoLimit if there is enough for all. Takes what is given from `rest`, and all of it where
// there is not enough: what does not come out even is for who of them runs short next.
uint64_t fill(std::span<const uint64_t> wishes, uint64_t& rest);

struct Sharing {
  uint64_t capacity = 0;
  size_t holders = 1;  // all that there are
  double weights = 1;  // of all, in sum
};
// What a holder keeps to when no lease holds: one place, and of the rest by its weight. Never 0 if
// there is capacity; all together never more than the capacity, unless there are more holders.
uint64_t fixed_share(const Sharing& sharing, double weight);

}  // namespace holdfast::route
