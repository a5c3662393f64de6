// What loading 100,000 agents and losing the stream cost a Cache, without the network.
#pragma once

namespace holdfast::bench {

void bench_first_readable();
void bench_reconnect();

}  // namespace holdfast::bench
