// One thread reads by name and times every read; another does one of four things meanwhile:
//
//   nothing            what the machine itself does to a reader
//   burns CPU          the same with both cores busy: the scheduler takes the reader's core away
//   swaps              decodes 100,000 agents, publishes them, frees those before them, and again
//   fills under lock   the peer: a shared_mutex, and each generation is put into the map under it
//
// A read that took long was on its way for long: its thread ran, and so used CPU time (it may have
// spun for the writer), or it did not run. If not, it gave its core up by itself, as who waits for
// a lock does and the kernel counts, or the core was taken from it, which is no doing of the cache.
// So a reader is blocked by the CPU time of a read, and by all of its time if it ever gave up.
#include "cache_swaps.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "bars.h"
#include "base/check.h"
#include "cache_agents.h"

namespace holdfast::bench {
namespace {

using resource::Kind;
constexpr double kSeconds = 6;
constexpr size_t kSlice = 500;

// Sixteen buckets for each doubling of the nanoseconds.
class Times {
 public:
  void add(double seconds) {
    const auto sixteenths = static_cast<uint64_t>(std::max(seconds * 1e9, 1.0) * 16);
    const int doublings = std::bit_width(sixteenths) - 5;
    buckets_[static_cast<size_t>(doublings) * 16 + (sixteenths >> doublings) - 16] += 1;
    count_ += 1;
    longest_ = std::max(longest_, seconds);
  }
  double percentile_us(double share) const {
    auto wanted = static_cast<uint64_t>(share * static_cast<double>(count_));
    for (size_t i = 0; i < buckets_.size(); ++i) {
      if (wanted <= buckets_[i]) {
        return static_cast<double>((16 + i % 16) << (i / 16)) / 16 / 1e3;
      }
      wanted -= buckets_[i];
    }
    return longest_us();
  }
  double longest_us() const { return longest_ * 1e6; }
  uint64_t count() const { return count_; }

 private:
  std::array<uint64_t, 1024> buckets_{};
  uint64_t count_ = 0;
  double longest_ = 0;
};

struct Outcome {
  Times wall;  // of each read
  Times cpu;   // of each read, with the clock that counts it
  int64_t gave_up = 0;
  uint64_t swaps = 0;

  double blocked_us() const { return gave_up == 0 ? cpu.longest_us() : wall.longest_us(); }
};

template <typename Get>
void read_until(const std::atomic<bool>& over, Get&& get, Outcome& outcome) {
  const Names names(1);
  const int64_t switches = voluntary_switches();
  double cpu = thread_cpu_seconds();
  for (uint64_t i = 0; !over.load(std::memory_order_relaxed); ++i) {
    const double start = seconds();
    HF_CHECK(get(names[i]) > 0, "every name is found");
    outcome.wall.add(seconds() - start);
    const double cpu_now = thread_cpu_seconds();
    outcome.cpu.add(cpu_now - cpu);
    cpu = cpu_now;
  }
  outcome.gave_up = voluntary_switches() - switches;
}

// Runs `write` again and again on this thread while another reads.
template <typename Get, typename Write>
Outcome race(Get&& get, Write&& write) {
  Outcome outcome;
  std::atomic<bool> over = false;
  {
    std::jthread reader([&] { read_until(over, get, outcome); });
    for (const double end = seconds() + kSeconds; seconds() < end;) {
      if (write()) outcome.swaps += 1;
    }
    over = true;
  }
  return outcome;
}

template <typename Write>
Outcome race_cache(const Write& write) {
  auto pages = make_pages();
  cache::Published<cache::Snapshot> published(snapshot_of(table_of(pages), 1));
  cache::View view(published);
  return race(
      [&](std::string_view name) {
        const auto agents = view.read<Kind::Agent>();
        return agents ? agents.find(name)->body.zone().size() : 0;
      },
      [&] { return write(published); });
}

Outcome race_locked_map(const std::vector<std::string>& encoded) {
  std::unordered_map<std::string, cache::Shared> map;
  std::shared_mutex mutex;
  const auto fill = [&] {
    auto pages = decode(encoded);
    const std::unique_lock lock(mutex);
    map.clear();
    for (auto& page : pages) {
      for (auto& each : *page.mutable_resources()) {
        auto shared = std::make_shared<const v1::Resource>(std::move(each));
        map.emplace(shared->metadata().name(), shared);
      }
    }
    return true;
  };
  fill();
  return race(
      [&](std::string_view name) {
        const std::shared_lock lock(mutex);
        return map.at(std::string(name))->agent().zone().size();
      },
      fill);
}

void print(const char* name, const Outcome& outcome) {
  std::printf("%-18s %6llu %10.2f %10.2f %10.0f %10.2f %10.0f %8lld %10.0f\n", name,
              static_cast<unsigned long long>(outcome.swaps),
              static_cast<double>(outcome.wall.count()) / 1e6, outcome.wall.percentile_us(0.9999),
              outcome.wall.longest_us(), outcome.cpu.percentile_us(0.9999),
              outcome.cpu.longest_us(), static_cast<long long>(outcome.gave_up),
              outcome.blocked_us());
}

}  // namespace

void bench_swaps() {
  const auto encoded = encoded_pages();
  std::printf(
      "\none reader, each read timed, %.0f s each; microseconds. \"gave up\": how often its "
      "thread\n"
      "left its core by itself, as for a lock; without that, time on the wall beyond CPU time is\n"
      "the scheduler's or the host's, and \"blocked\" is the longest CPU time of a read\n",
      kSeconds);
  std::printf("%-18s %6s %10s %10s %10s %10s %10s %8s %10s\n", "beside it", "swaps", "Mio reads",
              "wall p9999", "wall max", "cpu p9999", "cpu max", "gave up", "blocked");
  const Outcome alone = race_cache([](auto&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return false;
  });
  print("nothing", alone);
  const Outcome busy = race_cache([](auto&) {
    for (const double end = seconds() + 0.05; seconds() < end;) {
    }
    return false;
  });
  print("burns CPU", busy);
  uint64_t generation = 1;
  const Outcome swaps = race_cache([&](auto& published) {
    auto pages = decode(encoded);
    published.publish(snapshot_of(table_of(pages), ++generation));
    while (published.reclaim(kSlice).unread > 0) {
    }
    return true;
  });
  print("swaps", swaps);
  const Outcome locked = race_locked_map(encoded);
  print("fills under lock", locked);
  bar_at_most("cache_reader_blocked_ms_by_swaps", swaps.blocked_us() / 1e3, 1);
  bar_at_most("cache_reader_p9999_us_vs_busy_machine",
              swaps.wall.percentile_us(0.9999) / busy.wall.percentile_us(0.9999), 2);
}

}  // namespace holdfast::bench
