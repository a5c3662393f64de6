// Seeds that once failed: they run every time, before the others.
#pragma once

#include <array>
#include <cstdint>

namespace holdfast::ha::sim {

// 65: an empty disk claimed in sync mode, and its copy replaced everything. 563, 2528: a disk was
// replaced while its last answers were on their way. 638: epochs were used again. 662: a tenure
// that was long over began. 1162, 2904: a copy that came late took back what was acknowledged.
inline constexpr std::array<uint64_t, 8> kKeptSeeds = {65, 563, 638, 662, 1162, 2528, 2619, 2904};

}  // namespace holdfast::ha::sim
