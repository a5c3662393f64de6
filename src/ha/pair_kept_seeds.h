// Seeds that once failed: they run every time, before the others.
#pragma once

#include <array>
#include <cstdint>

namespace holdfast::ha::sim {

inline constexpr std::array<uint64_t, 0> kKeptSeeds = {};

}  // namespace holdfast::ha::sim
