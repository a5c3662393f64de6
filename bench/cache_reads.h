// Reads by name from a cache of 100,000 agents, beside maps behind locks.
#pragma once

namespace holdfast::bench {

void bench_reads();

}  // namespace holdfast::bench
