// One lease over the ports of a service: each port of it is a limit of its own in the kernel, and
// together they are no more than the lease, also while they are being moved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::track {

inline constexpr uint32_t kNotLimited = UINT32_MAX;

struct PortDemand {
  uint32_t taken = 0;             // places of it that are taken now
  uint32_t before = kNotLimited;  // its limit so far
};

// The limits from now on, in the same order. What they are stays as it is while it adds up and
// nobody is short. Else the lease goes by what is taken; who gets more waits until who gets less
// has been told.
std::vector<uint32_t> split_lease(uint32_t lease, std::span<const PortDemand> ports);

}  // namespace holdfast::track
