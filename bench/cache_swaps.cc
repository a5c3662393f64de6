// One thread reads by name and times every read; another does one of five things meanwhile:
//
//   nothing            what the machine itself does to a reader
//   burns CPU          the same with both cores busy: the scheduler takes the reader's core away
//   swaps              publishes a table of 100,000 agents, made anew of the agents there are,
//   frees
//                      the one before it, and again: as many swaps as there is time for
//   loads              the same, the agents decoded anew as well: all memory of a generation
//   changes fills under lock   the peer: a shared_mutex, and each generation is put into the map
//   under it
//
// A read that took long was on its way for long: its thread ran, and so used CPU time (it may have
// spun for the writer), or it did not run. If not, it gave its core up by itself, as who waits for
// a lock does and the kernel counts, or the core was taken from it, which is no doing of the cache.
// So a reader is blocked by the CPU time of a read, and by all of its time if it gave up meanwhile.
// A swap begins with publish() and ends when the generation before is freed. CPU time of a read in
// which no moment of a swap fell is the machine's: the kernel serves other processes in it.
#include "cache_swaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <ranges>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "bars.h"
#include "base/check.h"
#include "cache_agents.h"

namespace holdfast::bench {
namespace {

using resource::Kind;
constexpr size_t kSlice = 500;
constexpr double kLate = 1e-3;
constexpr size_t kShown = 4;  // late reads of each row

// How long a row goes on: until it has its swaps, but at least and at most so many seconds.
struct Length {
  double at_least = 3;
  double at_most = 3;
  uint64_t swaps = 0;
};

// How many reads took how long: a count for each power of ten microseconds.
class Times {
 public:
  static constexpr size_t kCounts = 6;  // below 1, 10, ... 10,000, and above
  void add(double seconds) {
    size_t at = 0;
    for (double limit = 1e-6; at + 1 < kCounts && seconds >= limit; limit *= 10) at += 1;
    counts_[at] += 1;
    longest_ = std::max(longest_, seconds);
  }
  const std::array<uint64_t, kCounts>& counts() const { return counts_; }
  double longest() const { return longest_; }

 private:
  std::array<uint64_t, kCounts> counts_{};
  double longest_ = 0;
};

// What the writer has begun and ended.
struct Swaps {
  std::atomic<uint64_t> begun = 0;
  std::atomic<uint64_t> ended = 0;
};

// A read of a millisecond or more, and what the kernel counted since at most 64 reads before it.
struct Late {
  double wall = 0;
  double cpu = 0;
  bool beside_swap = false;
  ThreadCounts counts;

  double blocked() const {
    if (counts.gave_up > 0) return wall;
    return beside_swap ? cpu : 0;
  }
  // What only the thread itself, or a lock, can have done.
  bool is_blocked() const { return blocked() >= kLate; }
};

struct Outcome {
  Times wall;
  double cpu_longest = 0;
  std::vector<Late> late;
  ThreadCounts counts;  // in all
  uint64_t swaps = 0;
  double took = 0;

  double blocked() const {
    double longest = std::min(cpu_longest, kLate);
    for (const Late& each : late) longest = std::max(longest, each.blocked());
    return longest;
  }
};

ThreadCounts operator-(const ThreadCounts& after, const ThreadCounts& before) {
  return {.gave_up = after.gave_up - before.gave_up,
          .taken_away = after.taken_away - before.taken_away,
          .faults = after.faults - before.faults};
}

template <typename Get>
void read_until(const std::atomic<bool>& over, const Swaps& swaps, Get&& get, Outcome& outcome) {
  const Names names(1);
  const ThreadCounts begin = thread_counts();
  ThreadCounts last = begin;
  double cpu = thread_cpu_seconds();
  for (uint64_t i = 0; !over.load(std::memory_order_relaxed); ++i) {
    if (i % 64 == 0) {
      last = thread_counts();
      cpu = thread_cpu_seconds();
    }
    const uint64_t ended = swaps.ended.load();
    const double start = seconds();
    HF_CHECK(get(names[i]) > 0, "every name is found");
    const double wall = seconds() - start;
    outcome.wall.add(wall);
    const double cpu_now = thread_cpu_seconds();
    const double used = std::exchange(cpu, cpu_now);
    outcome.cpu_longest = std::max(outcome.cpu_longest, cpu_now - used);
    if (wall >= kLate) {
      const ThreadCounts now = thread_counts();
      outcome.late.push_back(
          {wall, cpu_now - used, swaps.begun.load() > ended, now - std::exchange(last, now)});
    }
  }
  outcome.counts = thread_counts() - begin;
}

// Runs `write` again and again on this thread while another reads.
template <typename Get, typename Write>
Outcome race(const Length& length, Get&& get, Write&& write) {
  Outcome outcome;
  std::atomic<bool> over = false;
  Swaps swaps;
  {
    std::jthread reader([&] { read_until(over, swaps, get, outcome); });
    const double start = seconds();
    while (outcome.took < length.at_least ||
           (swaps.ended < length.swaps && outcome.took < length.at_most)) {
      write(swaps);
      outcome.took = seconds() - start;
    }
    over = true;
  }
  outcome.swaps = swaps.ended;
  return outcome;
}

template <typename Write>
Outcome race_cache(const Length& length, const Write& write) {
  auto pages = make_pages();
  cache::Published<cache::Snapshot> published(snapshot_of(table_of(pages), 1));
  cache::View view(published);
  return race(
      length,
      [&](std::string_view name) {
        const auto agents = view.read<Kind::Agent>();
        return agents ? agents.find(name)->body.zone().size() : 0;
      },
      [&](Swaps& swaps) { write(swaps, published); });
}

Outcome race_locked_map(const std::vector<std::string>& encoded) {
  std::unordered_map<std::string, cache::Shared> map;
  std::shared_mutex mutex;
  const auto fill = [&](Swaps& swaps) {
    auto pages = decode(encoded);
    swaps.begun += 1;
    const std::unique_lock lock(mutex);
    map.clear();
    for (auto& page : pages) {
      for (auto& each : *page.mutable_resources()) {
        auto shared = std::make_shared<const v1::Resource>(std::move(each));
        map.emplace(shared->metadata().name(), shared);
      }
    }
    swaps.ended += 1;
  };
  Swaps first;
  fill(first);
  return race(
      {.at_least = 4, .at_most = 4},
      [&](std::string_view name) {
        const std::shared_lock lock(mutex);
        return map.at(std::string(name))->agent().zone().size();
      },
      fill);
}

void print(const char* name, const Outcome& outcome) {
  std::printf("%-17s %5llu %5.1f", name, static_cast<unsigned long long>(outcome.swaps),
              outcome.took);
  for (const uint64_t count : outcome.wall.counts()) {
    std::printf(" %8llu", static_cast<unsigned long long>(count));
  }
  std::printf(" %9.3f %8.3f %9.3f %6lld %6lld %6lld\n", outcome.wall.longest() * 1e3,
              outcome.cpu_longest * 1e3, outcome.blocked() * 1e3,
              static_cast<long long>(outcome.counts.gave_up),
              static_cast<long long>(outcome.counts.taken_away),
              static_cast<long long>(outcome.counts.faults));
}

void print_late(const char* name, Outcome& outcome) {
  const auto taken = std::ranges::count_if(
      outcome.late, [](const Late& each) { return each.counts.taken_away > 0; });
  const auto blocked = std::ranges::count_if(outcome.late, &Late::is_blocked);
  std::printf("%s: %zu late; the core was taken away around %td of them; %td blocked\n", name,
              outcome.late.size(), taken, blocked);
  std::ranges::sort(outcome.late, std::greater(),
                    [](const Late& each) { return std::pair(each.is_blocked(), each.wall); });
  for (const Late& each : outcome.late | std::views::take(kShown)) {
    std::printf("  %9.3f ms, CPU %.3f ms%s: gave up %lld, taken away %lld, faults %lld\n",
                each.wall * 1e3, each.cpu * 1e3, each.beside_swap ? ", beside a swap" : "",
                static_cast<long long>(each.counts.gave_up),
                static_cast<long long>(each.counts.taken_away),
                static_cast<long long>(each.counts.faults));
  }
}

void publish_and_free(Swaps& swaps, cache::Published<cache::Snapshot>& published,
                      cache::Table next) {
  swaps.begun += 1;
  const uint64_t generation = published.current().of(Kind::Agent).generation;
  published.publish(snapshot_of(std::move(next), generation + 1));
  while (published.reclaim(kSlice).unread > 0) {
  }
  swaps.ended += 1;
}

void swap_tables(Swaps& swaps, cache::Published<cache::Snapshot>& published) {
  cache::Table next;
  published.current().of(Kind::Agent).items.for_each([&](const cache::Shared& each) {
    next.put(each);
    return true;
  });
  publish_and_free(swaps, published, std::move(next));
}

struct Row {
  const char* name;
  Outcome outcome;
};

std::vector<Row> run_rows() {
  const auto encoded = encoded_pages();
  std::vector<Row> rows;
  const auto run = [&](const char* name, Outcome outcome) {
    print(name, outcome);
    rows.push_back({name, std::move(outcome)});
  };
  run("nothing", race_cache({}, [](Swaps&, auto&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }));
  run("burns CPU", race_cache({}, [](Swaps&, auto&) {
        for (const double end = seconds() + 0.05; seconds() < end;) {
        }
      }));
  run("swaps", race_cache({.at_least = 6, .at_most = 30, .swaps = 60}, swap_tables));
  run("loads", race_cache({.at_least = 8, .at_most = 8}, [&](Swaps& swaps, auto& published) {
        auto pages = decode(encoded);
        publish_and_free(swaps, published, table_of(pages));
      }));
  run("fills under lock", race_locked_map(encoded));
  return rows;
}

}  // namespace

void bench_swaps() {
  std::printf(
      "\none reader, each read timed: how many took less than so many microseconds, the longest\n"
      "(ms, on the wall and as CPU time), for how long it was blocked at most, and how often its\n"
      "thread gave its core up (for a lock), had it taken away, or had a page fault\n");
  std::printf("%-17s %5s %5s %8s %8s %8s %8s %8s %8s %9s %8s %9s %6s %6s %6s\n", "beside it",
              "swaps", "s", "< 1", "< 10", "< 100", "< 1,000", "< 10,000", "more", "longest", "CPU",
              "blocked", "gave", "taken", "faults");
  std::vector<Row> rows = run_rows();
  std::printf("reads of a millisecond and more, blocked ones first\n");
  for (Row& row : rows) print_late(row.name, row.outcome);
  for (const Row& row : rows) {
    const std::string_view name = row.name;
    if (name != "swaps" && name != "loads") continue;
    bar_at_most(fmt::format("cache_reader_blocked_ms_by_{}", name), row.outcome.blocked() * 1e3, 1);
  }
  bar_at_least("cache_swaps_beside_a_reader", static_cast<double>(rows[2].outcome.swaps), 50);
}

}  // namespace holdfast::bench
