// A cache of 100,000 agents: reads by name beside maps behind locks, and what an agent takes. How
// swaps disturb readers is in cache_swaps.cc; loading and reconnecting in cache_core.cc.
//
// Promises: at least 5 million reads by name a second and core; no reader blocked for more than a
// millisecond while generations of 100,000 items are swapped in.
#include <fmt/format.h>
#include <malloc.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "bars.h"
#include "base/allocator.h"
#include "base/check.h"
#include "cache_agents.h"
#include "cache_core.h"
#include "cache_swaps.h"

namespace holdfast::bench {
namespace {

using resource::Kind;
constexpr double kRoundSeconds = 0.5;
constexpr int kRounds = 5;

struct NameHash : std::hash<std::string_view> {
  using is_transparent = void;
};
using Map = std::unordered_map<std::string, cache::Shared, NameHash, std::equal_to<>>;

// Reads by name a second, of all threads together: as the clock on the wall counts, and for each
// second that a core was given to a thread.
struct Rate {
  double wall = 0;
  double per_core = 0;
};

// `make_get` gives each thread its own way to read: a name in, some of the agent's bytes out.
template <typename MakeGet>
Rate rate_of(int threads, const MakeGet& make_get) {
  std::atomic<uint64_t> reads = 0;
  std::atomic<uint64_t> found_bytes = 0;
  std::atomic<double> cpu = 0;
  const double start = seconds();
  std::vector<std::jthread> readers;
  for (int thread = 0; thread < threads; ++thread) {
    readers.emplace_back([&, thread] {
      const Names names(static_cast<uint64_t>(thread) + 1);
      auto get = make_get();
      uint64_t done = 0, bytes = 0;
      const double cpu_start = thread_cpu_seconds();
      for (const double end = seconds() + kRoundSeconds; seconds() < end;) {
        for (int i = 0; i < 256; ++i) bytes += get(names[done++]);
      }
      cpu += thread_cpu_seconds() - cpu_start;
      reads += done;
      found_bytes += bytes;
    });
  }
  readers.clear();
  HF_CHECK(found_bytes > reads, "every name is found");
  const auto count = static_cast<double>(reads.load());
  return {.wall = count / (seconds() - start), .per_core = count / cpu};
}

// What is done with an agent that was found: only the answer is used, which is the get itself; or a
// field of it is read, which waits for memory twice more (the message, then its string).
struct Nothing {
  static uint64_t use(const v1::Agent* agent) { return agent != nullptr ? 2 : 0; }
};
struct Zone {
  static uint64_t use(const v1::Agent* agent) { return agent->zone().size(); }
};

template <typename Use>
struct CachedGet {
  explicit CachedGet(cache::Published<cache::Snapshot>& published)
      : view(std::make_unique<cache::View>(published)) {}
  uint64_t operator()(std::string_view name) const {
    const auto agents = view->read<Kind::Agent>();
    if (!agents) return 0;
    const auto found = agents.find(name);
    return found ? Use::use(&found->body) : 0;
  }
  std::unique_ptr<cache::View> view;
};

template <typename Use, typename Mutex, template <typename> typename Lock>
Rate locked_map(int threads, const Map& map) {
  Mutex mutex;
  return rate_of(threads, [&] {
    return [&](std::string_view name) {
      const Lock<Mutex> lock(mutex);
      const auto found = map.find(name);
      return found == map.end() ? 0 : Use::use(&found->second->agent());
    };
  });
}

double median_of(const std::vector<Rate>& rates, double Rate::* which) {
  std::vector<double> values;
  for (const Rate& rate : rates) values.push_back(rate.*which);
  return median(values);
}

void print_rates(const char* name, int threads, const std::vector<Rate>& rates) {
  std::printf("%-28s %8d %14.2f %14.2f\n", name, threads, median_of(rates, &Rate::wall) / 1e6,
              median_of(rates, &Rate::per_core) / 1e6);
}

struct Rates {
  std::vector<Rate> cached, exclusive, shared;
};

template <typename Use>
Rates bench_reads(int threads, const Map& map, cache::Published<cache::Snapshot>& published) {
  Rates rates;
  for (int round = 0; round < kRounds; ++round) {
    rates.cached.push_back(rate_of(threads, [&] { return CachedGet<Use>(published); }));
    rates.exclusive.push_back(locked_map<Use, std::mutex, std::unique_lock>(threads, map));
    rates.shared.push_back(locked_map<Use, std::shared_mutex, std::shared_lock>(threads, map));
  }
  print_rates("cache", threads, rates.cached);
  print_rates("mutex, unordered_map", threads, rates.exclusive);
  print_rates("shared_mutex, unordered_map", threads, rates.shared);
  return rates;
}

void bench_all_reads() {
  auto pages = make_pages();
  cache::Table table = table_of(pages);
  Map map;
  table.for_each(
      [&](const cache::Shared& each) { return map.emplace(each->metadata().name(), each).second; });
  cache::Published<cache::Snapshot> published(snapshot_of(std::move(table), 1));

  std::printf("\ngets by name of %d agents, millions/s, medians of %d interleaved rounds\n",
              kAgents, kRounds);
  std::printf("%-28s %8s %14s %14s\n", "", "threads", "all, by wall", "a core, by CPU");
  std::vector<Rates> gets;
  for (const int threads : {1, 2}) gets.push_back(bench_reads<Nothing>(threads, map, published));
  std::printf("and the zone of each agent read\n");
  for (const int threads : {1, 2}) bench_reads<Zone>(threads, map, published);
  for (const int threads : {1, 2}) {
    const Rates& rates = gets[static_cast<size_t>(threads - 1)];
    const double wall = median_of(rates.cached, &Rate::wall);
    const auto name = fmt::format("cache_gets_{}_threads", threads);
    bar_at_least(name + "_a_core", median_of(rates.cached, &Rate::per_core), 5e6);
    bar_at_least(name + "_vs_mutex", wall / median_of(rates.exclusive, &Rate::wall), 1);
    bar_at_least(name + "_vs_shared_mutex", wall / median_of(rates.shared, &Rate::wall), 1);
  }
}

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
  bench_all_reads();
  bench_swaps();
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main() {
  holdfast::free_memory_evenly();  // as holdfastd does
  return holdfast::bench::main();
}
