// The arithmetic of dealing: filling several wishes evenly, and the share of who hears nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast::route {

// How much each of `wishes` may have of `rest`, at most: the level up to which all are filled, like
// water; kNoLimit if there is enough for all. Where it does not come out even, one more than there
// is: who asks first has it. Takes what is given from `rest`.
uint64_t fill(std::span<const uint64_t> wishes, uint64_t& rest);

struct Sharing {
  uint64_t capacity = 0;
  size_t holders = 1;  // all that there are
  size_t local = 0;    // of them in the pool's own zone
};
// How much more of a pool a holder of its own zone gets than one of another.
inline constexpr uint64_t kLocalWeight = 4;
// What a holder keeps to when no lease holds: one place each, and the rest by weight. Never 0 if
// there is capacity; all together never more than the capacity, unless there are more holders.
uint64_t fixed_share(const Sharing& sharing, bool is_local);

}  // namespace holdfast::route
