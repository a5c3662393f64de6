// A cache of 100,000 agents: what an agent takes. Reads by name are in cache_reads.cc; how swaps
// disturb readers in cache_swaps.cc; loading and reconnecting in cache_core.cc.
//
// Promises: at least 5 million reads by name a second and core; no reader blocked for more than a
// millisecond while generations of 100,000 items are swapped in.
#include <malloc.h>

#include <cstdio>
#include <unordered_map>

#include "base/allocator.h"
#include "base/check.h"
#include "cache_agents.h"
#include "cache_core.h"
#include "cache_reads.h"
#include "cache_swaps.h"

namespace holdfast::bench {
namespace {

using Map = std::unordered_map<std::string, cache::Shared>;

double heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

void bench_memory() {
  const double at_first = heap_bytes();
  std::vector<cache::Shared> agents;
  agents.reserve(kAgents);
  double encoded = 0;
  const double with_list = heap_bytes();
  for (int i = 0; i < kAgents; ++i) {
    agents.push_back(std::make_shared<const v1::Resource>(make_agent(i)));
    encoded += static_cast<double>(agents.back()->ByteSizeLong());
  }
  const double with_agents = heap_bytes();
  cache::Table table;
  for (const cache::Shared& each : agents) table.put(each);
  const double with_table = heap_bytes();
  Map map;
  for (const cache::Shared& each : agents) map.emplace(each->metadata().name(), each);
  const double with_map = heap_bytes();

  std::printf("\nbytes for each of %d agents, as the allocator counts them\n", kAgents);
  std::printf("%10s %12s %12s %16s %14s\n", "encoded", "as messages", "in the table",
              "in unordered_map", "cached, in all");
  const double cached = (with_agents - with_list) + (with_table - with_agents);
  std::printf("%10.0f %12.0f %12.0f %16.0f %14.0f\n", encoded / kAgents,
              (with_agents - with_list) / kAgents, (with_table - with_agents) / kAgents,
              (with_map - with_table) / kAgents, cached / kAgents);
  HF_CHECK(with_list > at_first, "the allocator is counted");
}

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  bench_memory();
  bench_first_readable();
  bench_reconnect();
  bench_service();
  bench_reads();
  bench_swaps();
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main() {
  holdfast::free_memory_evenly();  // as holdfastd does
  return holdfast::bench::main();
}
