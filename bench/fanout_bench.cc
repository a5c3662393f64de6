// Fan-out of 2,000 events to 1,000 watchers: the core alone, the controller over gRPC, and etcd
// over gRPC with the same watchers and writers.
//
// Promise: at least twice etcd's delivered events per second, at a p99 delay below etcd's.
#include <cstdio>

#include "bars.h"
#include "delays.h"
#include "events/fan_out.h"
#include "fanout_clients.h"

namespace holdfast::bench {
namespace {

constexpr int kRounds = 3;

// Every event on its own, taken by every watcher before the next: no batching helps.
FanOutResult in_process(const FanOutLoad& load) {
  const events::WatchKind agents{.kind = "agent"};
  events::FanOut fan_out({}, {agents});
  fan_out.init({agents}, 1, 1);
  for (int i = 0; i < load.watchers; ++i) {
    const auto id = fan_out.add({.kinds = {agents}});
    fan_out.take(*id);
    fan_out.take(*id);
  }
  DelayHistogram delays;
  v1::Resource resource;
  resource.set_kind("agent");
  resource.mutable_metadata()->set_name("a");
  resource.mutable_metadata()->set_description(std::string(200, 'p'));
  const int64_t start = now_nanoseconds();
  for (int i = 0; i < load.events; ++i) {
    const int64_t sent = now_nanoseconds();
    std::vector<events::Event> one;
    one.push_back(events::make_put(resource, nullptr, 2 + i));
    for (const events::WatcherId id : fan_out.append(std::move(one), Time(Duration(sent)))) {
      while (!std::holds_alternative<events::Nothing>(fan_out.take(id))) {
        delays.record(now_nanoseconds() - sent);
      }
    }
  }
  const double seconds = static_cast<double>(now_nanoseconds() - start) / 1e9;
  return {.events_per_second = static_cast<double>(delays.count()) / seconds,
          .p50_ms = delays.percentile_ms(0.5),
          .p99_ms = delays.percentile_ms(0.99)};
}

struct Series {
  std::vector<double> rate, p50, p99;
  void add(const FanOutResult& result) {
    rate.push_back(result.events_per_second);
    p50.push_back(result.p50_ms);
    p99.push_back(result.p99_ms);
  }
  void print(const char* name) const {
    std::printf("%-22s %16.0f %12.2f %12.2f\n", name, median(rate), median(p50), median(p99));
  }
};

int main() {
  const FanOutLoad load;
  std::printf("%d events to %d watchers on %d connections, %d writers; medians of %d rounds\n",
              load.events, load.watchers, load.connections, load.writers, kRounds);
  Series core, ours, theirs;
  for (int round = 0; round < kRounds; ++round) {
    core.add(in_process(load));
    theirs.add(measure_etcd(load));
    ours.add(measure_holdfast(load));
  }
  std::printf("%-22s %16s %12s %12s\n", "", "delivered/s", "p50 ms", "p99 ms");
  core.print("in process");
  ours.print("controller over gRPC");
  theirs.print("etcd over gRPC");
  bar_at_least("fanout_rate_vs_etcd", median(ours.rate) / median(theirs.rate), 2.0);
  bar_at_most("fanout_p99_vs_etcd", median(ours.p99) / median(theirs.p99), 1.0);
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main() {
  return holdfast::bench::main();
}
