// Probes through the handler (a process) beside the same probes made directly by the same prober:
// for each kind how long one takes, and how many are made per second. The caller of the handler is
// that prober, too, so a probe through it is two connections made and closed instead of one.
// Promises, for HTTP: the handler adds at most 150 us (p50) and carries at least 10,000 probes per
// second; its memory and descriptors do not grow over a million of them (HF_BENCH_PROBES). An
// argument, as HTTPS, is another kind to measure besides HTTP; without any, all are.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "bars.h"
#include "e2e/probe_app.h"
#include "e2e/probe_apps.h"
#include "e2e/probe_process.h"
#include "probe/registry.h"
#include "probe_load.h"
#include "process_usage.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kAtOnce = 16;
constexpr Duration kTime = 3s;
constexpr int kRounds = 3;

struct Kind {
  const char* name;
  probe::Probe direct;
  probe::Probe through{};
};

struct Added {
  double p50_us = 0;
  double per_second = 0;
};

void print(const std::string& what, const ProbeTimes& one, const ProbeTimes& many) {
  std::printf(
      "%-16s one at a time: p50 %6.0f us  p99 %6.0f us   %d at once: %6.0f/s  p50 %6.0f us "
      " p99 %6.0f us%s\n",
      what.c_str(), one.p50_us, one.p99_us, kAtOnce, many.per_second, many.p50_us, many.p99_us,
      one.unhealthy + many.unhealthy == 0 ? "" : "  UNHEALTHY");
  std::fflush(stdout);
}

// Turn by turn, so that what the machine does meanwhile meets both.
Added compare(const Kind& kind) {
  std::vector<double> added;
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    const ProbeTimes one = run_load({.probe = kind.direct, .time = kTime});
    const ProbeTimes one_through = run_load({.probe = kind.through, .time = kTime});
    const ProbeTimes many = run_load({.probe = kind.direct, .at_once = kAtOnce, .time = kTime});
    const ProbeTimes many_through =
        run_load({.probe = kind.through, .at_once = kAtOnce, .time = kTime});
    print(std::string(kind.name) + " direct", one, many);
    print(std::string(kind.name) + " handler", one_through, many_through);
    added.push_back(one_through.p50_us - one.p50_us);
    rates.push_back(many_through.per_second);
  }
  return {.p50_us = median(added), .per_second = median(rates)};
}

uint64_t wanted_probes() {
  const char* text = std::getenv("HF_BENCH_PROBES");
  return text == nullptr ? 1'000'000 : std::strtoull(text, nullptr, 10);
}

// Nothing of the handler grows meanwhile.
void make_many(test::ProbeHandler& handler, const Kind& kind) {
  const pid_t pid = handler.process().pid();
  const double memory = memory_mib(pid);
  const auto descriptors = static_cast<double>(handler.descriptor_count());
  const double cpu = cpu_seconds(pid);
  const ProbeTimes all =
      run_load({.probe = kind.through, .at_once = kAtOnce, .count = wanted_probes()});
  const double spent_us = (cpu_seconds(pid) - cpu) * 1e6 / static_cast<double>(all.made);
  const double grown = memory_mib(pid) - memory;
  std::printf(
      "%llu HTTP probes: %.0f/s, %llu not healthy, %.0f us of the handler's CPU each; memory "
      "%.1f MiB, then %.1f; in TIME_WAIT at the handler %zu, at the application %zu\n",
      static_cast<unsigned long long>(all.made), all.per_second,
      static_cast<unsigned long long>(all.unhealthy), spent_us, memory, memory + grown,
      test::time_waits_of(handler.port()), test::time_waits_of(kind.direct.port));
  const double left = static_cast<double>(handler.descriptor_count()) - descriptors;
  bar_at_most("probe_memory_growth_mib", grown, 2);
  bar_at_most("probe_descriptor_growth", left, 0);
  bar_at_most("probe_unhealthy", static_cast<double>(all.unhealthy), 0);
}

void run(const std::set<std::string>& wanted) {
  test::ProbeApp app;
  test::TlsApp tls_app;
  test::GrpcApp grpc_app;
  std::vector<Kind> kinds = {
      {"HTTP", {.action = probe::HttpGet{.path = "/healthz"}, .port = app.port()}},
      {"HTTPS", {.action = probe::HttpGet{.path = "/", .tls = true}, .port = tls_app.port()}},
      {"TCP", {.action = probe::TcpSocket{}, .port = app.port()}},
      {"gRPC", {.action = probe::Grpc{}, .port = grpc_app.port()}}};
  std::erase_if(kinds, [&](const Kind& kind) {
    return !wanted.empty() && kind.name != std::string("HTTP") && !wanted.contains(kind.name);
  });
  probe::Registry registry;
  std::vector<std::string> paths;
  for (const Kind& kind : kinds) paths.push_back(registry.add(kind.direct).value());
  test::ProbeHandler handler(registry.to_json());
  std::vector<Added> added;
  for (size_t i = 0; i < kinds.size(); ++i) {
    kinds[i].through = {.action = probe::HttpGet{.path = paths[i]}, .port = handler.port()};
    added.push_back(compare(kinds[i]));
  }
  for (size_t i = 1; i < kinds.size(); ++i) {
    std::printf("%s: the handler adds %.0f us (p50), carries %.0f/s\n", kinds[i].name,
                added[i].p50_us, added[i].per_second);
  }
  make_many(handler, kinds[0]);
  bar_at_most("probe_http_added_p50_us", added[0].p50_us, 150);
  bar_at_least("probe_http_per_second", added[0].per_second, 10'000);
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  holdfast::bench::run(std::set<std::string>(argv + 1, argv + argc));
  return 0;
}
