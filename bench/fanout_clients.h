// A thousand watchers and a few writers against one server, the same for ours and for etcd. Each
// event carries the time its put was sent, so that every delivery knows its delay.
#pragma once

namespace holdfast::bench {

struct FanOutLoad {
  int watchers = 1000;
  int connections = 10;
  int events = 2000;
  int writers = 16;
};

struct FanOutResult {
  double events_per_second = 0;  // delivered, to all watchers together
  double p50_ms = 0;
  double p99_ms = 0;
};

FanOutResult measure_holdfast(const FanOutLoad& load);
FanOutResult measure_etcd(const FanOutLoad& load);

}  // namespace holdfast::bench
