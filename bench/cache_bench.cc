// A cache of 100,000 agents: reads by name beside maps behind locks, what an agent takes, and how
// long it is until the first read. How swaps disturb readers is in cache_swaps.cc.
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
#include "base/check.h"
#include "cache_agents.h"
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

uint64_t bytes_of(const v1::Resource& resource) {
  return resource.agent().zone().size();
}

template <typename Mutex, template <typename> typename Lock>
Rate locked_map(int threads, const Map& map) {
  Mutex mutex;
  return rate_of(threads, [&] {
    return [&](std::string_view name) {
      const Lock<Mutex> lock(mutex);
      const auto found = map.find(name);
      return found == map.end() ? 0 : bytes_of(*found->second);
    };
  });
}

struct CachedGet {
  explicit CachedGet(cache::Published<cache::Snapshot>& published)
      : view(std::make_unique<cache::View>(published)) {}
  uint64_t operator()(std::string_view name) const {
    const auto agents = view->read<Kind::Agent>();
    if (!agents) return 0;
    const auto found = agents.find(name);
    return found ? found->body.zone().size() : 0;
  }
  std::unique_ptr<cache::View> view;
};

void print_rates(const char* name, int threads, const std::vector<Rate>& rates) {
  std::vector<double> wall, per_core;
  for (const Rate& rate : rates) {
    wall.push_back(rate.wall / 1e6);
    per_core.push_back(rate.per_core / 1e6);
  }
  std::printf("%-28s %8d %14.2f %14.2f\n", name, threads, median(wall), median(per_core));
}

double median_of(const std::vector<Rate>& rates, double Rate::* which) {
  std::vector<double> values;
  for (const Rate& rate : rates) values.push_back(rate.*which);
  return median(values);
}

void bench_reads() {
  auto pages = make_pages();
  cache::Table table = table_of(pages);
  Map map;
  table.for_each(
      [&](const cache::Shared& each) { return map.emplace(each->metadata().name(), each).second; });
  cache::Published<cache::Snapshot> published(snapshot_of(std::move(table), 1));

  std::printf("\nreads by name of %d agents, millions/s, medians of %d interleaved rounds\n",
              kAgents, kRounds);
  std::printf("%-28s %8s %14s %14s\n", "", "threads", "all, by wall", "a core, by CPU");
  for (const int threads : {1, 2}) {
    std::vector<Rate> cached, exclusive, shared;
    for (int round = 0; round < kRounds; ++round) {
      cached.push_back(rate_of(threads, [&] { return CachedGet(published); }));
      exclusive.push_back(locked_map<std::mutex, std::unique_lock>(threads, map));
      shared.push_back(locked_map<std::shared_mutex, std::shared_lock>(threads, map));
    }
    print_rates("cache", threads, cached);
    print_rates("mutex, unordered_map", threads, exclusive);
    print_rates("shared_mutex, unordered_map", threads, shared);
    const double wall = median_of(cached, &Rate::wall);
    const auto suffix = fmt::format("_{}_threads", threads);
    bar_at_least("cache_reads_a_core" + suffix, median_of(cached, &Rate::per_core), 5e6);
    bar_at_least("cache_reads_vs_mutex" + suffix, wall / median_of(exclusive, &Rate::wall), 1);
    bar_at_least("cache_reads_vs_shared_mutex" + suffix, wall / median_of(shared, &Rate::wall), 1);
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
  bar_at_most("cache_table_bytes_vs_unordered_map",
              (with_table - with_agents) / (with_map - with_table), 1);
}

// From all pages at hand to the first agent read, and how long it takes to free it all in slices.
void bench_first_readable() {
  std::vector<std::string> encoded;
  for (const auto& page : make_pages()) encoded.push_back(page.SerializeAsString());
  std::vector<double> parsing, decoded, freeing, slices;
  for (int round = 0; round < kRounds; ++round) {
    cache::Published<cache::Snapshot> published(std::make_unique<cache::Snapshot>());
    const CachedGet get(published);
    const double start = seconds();
    std::vector<v1::ListResponse> pages(encoded.size());
    for (size_t i = 0; i < pages.size(); ++i) {
      HF_CHECK(pages[i].ParseFromString(encoded[i]), "a page parses");
    }
    const double parsed = seconds();
    published.publish(snapshot_of(table_of(pages), 1));
    HF_CHECK(get(make_agent(4711).metadata().name()) > 0, "it is readable");
    parsing.push_back(parsed - start);
    decoded.push_back(seconds() - parsed);

    published.publish(std::make_unique<cache::Snapshot>());
    double longest = 0;
    const double begin = seconds();
    for (bool over = false; !over;) {
      const double cpu = thread_cpu_seconds();
      over = published.reclaim(1'000).none();
      longest = std::max(longest, thread_cpu_seconds() - cpu);
    }
    freeing.push_back(seconds() - begin);
    slices.push_back(longest);
  }
  std::printf("\n%d agents, ms, medians of %d rounds\n", kAgents, kRounds);
  std::printf("%-56s %8.1f\n", "first readable, from decoded pages of 1,000",
              median(decoded) * 1e3);
  std::printf("%-56s %8.1f\n", "parsing those pages", median(parsing) * 1e3);
  std::printf("%-56s %8.1f\n", "freeing a generation, in slices of 1,000 items",
              median(freeing) * 1e3);
  std::printf("%-56s %8.2f\n", "the longest of these slices, CPU time", median(slices) * 1e3);
  bar_at_most("cache_first_readable_seconds", median(decoded) + median(parsing), 2);
}

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  bench_memory();
  bench_first_readable();
  bench_reads();
  bench_swaps();
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main() {
  return holdfast::bench::main();
}
