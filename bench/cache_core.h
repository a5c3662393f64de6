// What loading 100,000 agents and losing the stream cost a cache, without the network.
#pragma once

namespace holdfast::bench {

void bench_first_readable();
void bench_reconnect();
// The same through the whole service, over an upstream in memory.
void bench_service();

}  // namespace holdfast::bench
