// Two reads, each over two sets of names, on one thread and on two. All three structures do the
// same work for the same names:
//
//   entry    name in, the typed entry out: metadata and agent, and whether there is one
//   field    the same, and the agent's zone is read: the name's bytes in, the value's bytes out
//
//   all      any of the 100,000 agents: 200 MB, so most of what is visited comes from memory
//   hot      1,000 of them, as the working set of a proxy
//
// What one visit to memory takes is measured in between: a chain of addresses through 200 MB, each
// known only when the one before has come.
#include "cache_reads.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "bars.h"
#include "base/check.h"
#include "base/rng.h"
#include "cache_agents.h"

namespace holdfast::bench {
namespace {

using resource::Kind;
constexpr double kRoundSeconds = 0.2;
constexpr int kRounds = 5;
constexpr int kHot = 1'000;
constexpr double kWantedReads = 5e6;  // a second and core

struct NameHash : std::hash<std::string_view> {
  using is_transparent = void;
};
using Map = std::unordered_map<std::string, cache::Shared, NameHash, std::equal_to<>>;
using Published = cache::Published<cache::Snapshot>;

// Reads by name a second, of all threads together: as the clock on the wall counts, and for each
// second that a core was given to a thread.
struct Rate {
  double wall = 0;
  double per_core = 0;
};

struct Case {
  int threads = 1;
  int among = kAgents;
  bool field = false;

  friend auto operator<=>(const Case&, const Case&) = default;
};

// `make_get` gives each thread its own way to read: a name in, some number over 1 out.
template <typename MakeGet>
Rate rate_of(const Case& which, const MakeGet& make_get) {
  std::atomic<uint64_t> reads = 0;
  std::atomic<uint64_t> found = 0;
  std::atomic<double> cpu = 0;
  const double start = seconds();
  std::vector<std::jthread> readers;
  for (int thread = 0; thread < which.threads; ++thread) {
    readers.emplace_back([&, thread] {
      const Names names(static_cast<uint64_t>(thread) + 1, which.among);
      auto get = make_get();
      uint64_t done = 0, sum = 0;
      const double cpu_start = thread_cpu_seconds();
      for (const double end = seconds() + kRoundSeconds; seconds() < end;) {
        for (int i = 0; i < 256; ++i) sum += get(names[done++]);
      }
      cpu += thread_cpu_seconds() - cpu_start;
      reads += done;
      found += sum;
    });
  }
  readers.clear();
  HF_CHECK(found > reads, "every name is found");
  const auto count = static_cast<double>(reads.load());
  return {.wall = count / (seconds() - start), .per_core = count / cpu};
}

// What is done with an entry that was found. The compiler may leave out neither pointer.
struct UseEntry {
  static uint64_t of(const v1::Metadata& metadata, const v1::Agent& agent) {
    asm volatile("" : : "r"(&metadata), "r"(&agent));
    return 2;
  }
};
struct UseField {
  static uint64_t of(const v1::Metadata&, const v1::Agent& agent) {
    return agent.zone().size() + static_cast<uint64_t>(agent.zone().front());
  }
};

template <typename Use>
struct CachedGet {
  explicit CachedGet(Published& published) : view(std::make_unique<cache::View>(published)) {}
  uint64_t operator()(std::string_view name) const {
    const auto agents = view->read<Kind::Agent>();
    if (!agents) return 0;
    const auto found = agents.find(name);
    return found ? Use::of(found->metadata, found->body) : 0;
  }
  std::unique_ptr<cache::View> view;
};

template <typename Use, typename Mutex, template <typename> typename Lock>
Rate locked_map(const Case& which, const Map& map) {
  Mutex mutex;
  return rate_of(which, [&] {
    return [&](std::string_view name) -> uint64_t {
      const Lock<Mutex> lock(mutex);
      const auto found = map.find(name);
      if (found == map.end()) return 0;
      return Use::of(found->second->metadata(), found->second->agent());
    };
  });
}

struct Rates {
  std::vector<Rate> cached, exclusive, shared;
};

template <typename Use>
void run_round(const Case& which, const Map& map, Published& published, Rates& rates) {
  rates.cached.push_back(rate_of(which, [&] { return CachedGet<Use>(published); }));
  rates.exclusive.push_back(locked_map<Use, std::mutex, std::unique_lock>(which, map));
  rates.shared.push_back(locked_map<Use, std::shared_mutex, std::shared_lock>(which, map));
}

double median_of(const std::vector<Rate>& rates, double Rate::* which) {
  std::vector<double> values;
  for (const Rate& rate : rates) values.push_back(rate.*which);
  return median(values);
}

double best_of(const std::vector<Rate>& rates, double Rate::* which) {
  double best = 0;
  for (const Rate& rate : rates) best = std::max(best, rate.*which);
  return best;
}

// One cycle through all of a 200 MB array, a cache line a step.
class Chain {
 public:
  Chain() : lines_((size_t{200} << 20) / sizeof(Line)) {
    std::vector<uint32_t> order(lines_.size());
    std::iota(order.begin(), order.end(), 0u);
    Rng rng(1);
    for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
    for (size_t i = 0; i < order.size(); ++i) {
      lines_[order[i]].next = order[(i + 1) % order.size()];
    }
  }
  double seconds_a_step() {
    constexpr int kSteps = 1'000'000;
    const double start = thread_cpu_seconds();
    for (int i = 0; i < kSteps; ++i) at_ = lines_[at_].next;
    const double took = thread_cpu_seconds() - start;
    HF_CHECK(at_ < lines_.size(), "the chain is whole");
    return took / kSteps;
  }

 private:
  struct alignas(64) Line {
    uint32_t next = 0;
  };
  std::vector<Line> lines_;
  uint32_t at_ = 0;
};

void print_rates(const char* structure, const Case& which, const std::vector<Rate>& rates,
                 double step) {
  const double per_core = median_of(rates, &Rate::per_core);
  std::printf("%-6s %-4s %7d  %-28s %9.2f %9.2f %9.2f %7.0f %7.1f\n",
              which.field ? "field" : "entry", which.among == kAgents ? "all" : "hot",
              which.threads, structure, median_of(rates, &Rate::wall) / 1e6, per_core / 1e6,
              best_of(rates, &Rate::per_core) / 1e6, 1e9 / per_core, 1 / per_core / step);
}

void print_all(const std::map<Case, Rates>& results, double step) {
  std::printf(
      "\ngets by name of %d agents, millions/s, medians of %d interleaved rounds; \"visits\": the\n"
      "CPU time of a get in dependent visits to a random line of 200 MB, which took %.0f ns each.\n"
      "The bars are about \"all\": the field is what a get is for, the entry is the lookup alone\n",
      kAgents, kRounds, step * 1e9);
  std::printf("%-6s %-4s %7s  %-28s %9s %9s %9s %7s %7s\n", "read", "of", "threads", "", "by wall",
              "a core", "at best", "ns", "visits");
  for (const auto& [which, rates] : results) {
    print_rates("cache", which, rates.cached, step);
    print_rates("mutex, unordered_map", which, rates.exclusive, step);
    print_rates("shared_mutex, unordered_map", which, rates.shared, step);
  }
}

void print_bars(const std::map<Case, Rates>& results) {
  for (const auto& [which, rates] : results) {
    if (which.among != kAgents) continue;
    const double wall = median_of(rates.cached, &Rate::wall);
    const auto name =
        fmt::format("cache_gets_{}_{}_threads", which.field ? "field" : "entry", which.threads);
    bar_at_least(name + "_a_core", median_of(rates.cached, &Rate::per_core), kWantedReads);
    bar_at_least(name + "_vs_mutex", wall / median_of(rates.exclusive, &Rate::wall), 1);
    bar_at_least(name + "_vs_shared_mutex", wall / median_of(rates.shared, &Rate::wall), 1);
  }
}

}  // namespace

void bench_reads() {
  auto pages = make_pages();
  cache::Table table = table_of(pages);
  Map map;
  table.for_each(
      [&](const cache::Shared& each) { return map.emplace(each->metadata().name(), each).second; });
  Published published(snapshot_of(std::move(table), 1));
  Chain chain;
  std::vector<double> steps;
  std::map<Case, Rates> results;
  for (int round = 0; round < kRounds; ++round) {
    steps.push_back(chain.seconds_a_step());
    for (const int threads : {1, 2}) {
      for (const int among : {kAgents, kHot}) {
        const Case entry{.threads = threads, .among = among, .field = false};
        const Case field{.threads = threads, .among = among, .field = true};
        run_round<UseEntry>(entry, map, published, results[entry]);
        run_round<UseField>(field, map, published, results[field]);
      }
    }
  }
  print_all(results, median(steps));
  print_bars(results);
}

}  // namespace holdfast::bench
