// How long a reader of the cache is held up while whole generations are swapped in beside it.
#pragma once

namespace holdfast::bench {

void bench_swaps();

}  // namespace holdfast::bench
