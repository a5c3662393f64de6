// How long a client that writes all along has to do without: from a fault to the next acknowledged
// write, HF_BENCH_ROUNDS times (30) each, beside three members of etcd with their defaults in the
// same run. And what writing to both disks costs.
//
// Promises: 99 of 100 within 300 ms of kill -9 of the active half, within 1.5 s of its being frozen
// or cut off, within 200 ms of a planned switchover, in which no call fails; `sync` writes at least
// half as fast as one controller alone.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bars.h"
#include "base/check.h"
#include "failover_etcd.h"
#include "failover_pair.h"
#include "support/netns.h"

namespace holdfast::bench {
namespace {

constexpr int kWriters = 64;
constexpr int kThroughputRounds = 3;
constexpr auto kThroughputDuration = std::chrono::seconds(3);

int rounds() {
  const char* given = std::getenv("HF_BENCH_ROUNDS");
  return given == nullptr ? 30 : std::atoi(given);
}

void show(const char* what, const Gaps& gaps) {
  std::printf("%-36s %8.0f %8.0f %8.0f\n", what, gaps.percentile(0.5), gaps.percentile(0.99),
              gaps.percentile(0));
  std::fflush(stdout);
}

struct OurGaps {
  Gaps killed;
  Gaps frozen;
  Gaps isolated;
  FailoverPair::Switchovers switched;
};

OurGaps measure_pair(int count) {
  FailoverPair pair;
  OurGaps gaps;
  gaps.killed = pair.kill_active(count);
  show("pair, kill -9 of the active half", gaps.killed);
  gaps.frozen = pair.freeze_active(count);
  show("pair, SIGSTOP of the active half", gaps.frozen);
  gaps.isolated = pair.isolate_active(count);
  show("pair, the active half cut off", gaps.isolated);
  gaps.switched = pair.switch_over(count);
  show("pair, planned switchover", gaps.switched.gaps);
  std::printf("failed calls in %d switchovers: %zu\n", count, gaps.switched.failed_calls);
  return gaps;
}

void measure_etcd(int count) {
  FailoverEtcd etcd;
  show("etcd, kill -9 of the leader", etcd.kill_leader(count));
  show("etcd, SIGSTOP of the leader", etcd.freeze_leader(count));
}

// Of `sync`, as a share of a single controller's.
double measure_throughput() {
  std::printf("%-36s %8s %8s\n", "writes/s, 64 writers", "median", "share");
  std::vector<double> alone, best_effort, sync, witness;
  for (int round = 0; round < kThroughputRounds; ++round) {
    alone.push_back(writes_per_second("none", kWriters, kThroughputDuration));
    best_effort.push_back(writes_per_second("best-effort", kWriters, kThroughputDuration));
    sync.push_back(writes_per_second("sync", kWriters, kThroughputDuration));
    witness.push_back(writes_per_second("witness", kWriters, kThroughputDuration));
  }
  const double whole = median(alone);
  std::printf("%-36s %8.0f %8.2f\n", "one controller", whole, 1.0);
  std::printf("%-36s %8.0f %8.2f\n", "best-effort", median(best_effort),
              median(best_effort) / whole);
  std::printf("%-36s %8.0f %8.2f\n", "sync", median(sync), median(sync) / whole);
  std::printf("%-36s %8.0f %8.2f\n", "witness", median(witness), median(witness) / whole);
  return median(sync) / whole;
}

int main() {
  const Status entered = test::enter_own_network();
  HF_CHECK(entered.ok(), "the benchmark needs networks of its own: " + entered.ToString());
  const int count = rounds();
  std::printf("ms without an acknowledged write, %d rounds each\n", count);
  std::printf("%-36s %8s %8s %8s\n", "", "p50", "p99", "least");
  const OurGaps ours = measure_pair(count);
  measure_etcd(count);
  const double share = measure_throughput();
  bar_at_most("failover_kill_p99_ms", ours.killed.percentile(0.99), 300);
  bar_at_most("failover_sigstop_p99_ms", ours.frozen.percentile(0.99), 1500);
  bar_at_most("failover_isolation_p99_ms", ours.isolated.percentile(0.99), 1500);
  bar_at_most("switchover_p99_ms", ours.switched.gaps.percentile(0.99), 200);
  bar_at_most("switchover_failed_calls", static_cast<double>(ours.switched.failed_calls), 0);
  bar_at_least("sync_writes_share_of_single", share, 0.5);
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main() {
  return holdfast::bench::main();
}
