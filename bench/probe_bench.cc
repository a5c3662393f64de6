// Probes through the handler (a process) beside the same probes made directly by the same prober:
// for each kind how long one takes, and how many are made per second. One at a time, the caller of
// the handler is that prober, too, so a probe through it is two connections made and closed instead
// of one. Many at once, callers are as cheap as can be: with a connection each time, as the
// kubelet, and with connections that are kept. A raw relay in the handler's place, in the same run,
// says how much of it is the machine's. Promises, for HTTP: the handler adds at most 150 us (p50)
// and carries at least 10,000 probes per second; its memory and descriptors do not grow over a
// million of them (HF_BENCH_PROBES). An argument, as HTTPS, is another kind to measure besides
// HTTP; without any, all are.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bars.h"
#include "e2e/probe_app.h"
#include "e2e/probe_apps.h"
#include "e2e/probe_process.h"
#include "probe/registry.h"
#include "probe_callers.h"
#include "probe_load.h"
#include "probe_relay.h"
#include "process_usage.h"
#include "support/eventually.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kAtOnce = 16;
constexpr Duration kTime = 2s;
constexpr int kRounds = 3;

struct Kind {
  const char* name;
  probe::Probe direct;
  probe::Probe through{};
};

struct Added {
  double p50_us = 0;
  double per_second = 0;
  double kept_per_second = 0;
};

// The same of the relay, and what a probe costs it.
struct Relayed {
  double p50_us = 0;
  double per_second = 0;
  double cpu_us = 0;
};

void print(const std::string& what, const ProbeTimes& times) {
  std::printf("%-28s %6.0f/s  p50 %6.0f us  p99 %6.0f us%s\n", what.c_str(), times.per_second,
              times.p50_us, times.p99_us, times.unhealthy == 0 ? "" : "  UNHEALTHY");
  std::fflush(stdout);
}

// Turn by turn, so that what the machine does meanwhile meets both.
Added compare(const Kind& kind) {
  std::vector<double> added;
  std::vector<double> rates;
  std::vector<double> kept_rates;
  const std::string name = kind.name;
  CallerLoad callers{.port = kind.through.port,
                     .target = std::get<probe::HttpGet>(kind.through.action).path,
                     .at_once = kAtOnce,
                     .time = kTime};
  for (int round = 0; round < kRounds; ++round) {
    const ProbeTimes one = run_load({.probe = kind.direct, .time = kTime});
    const ProbeTimes through = run_load({.probe = kind.through, .time = kTime});
    print(name + " direct, one", one);
    print(name + " handler, one", through);
    print(name + " direct, 16",
          run_load({.probe = kind.direct, .at_once = kAtOnce, .time = kTime}));
    callers.kept = false;
    const ProbeTimes many = call_handler(callers);
    print(name + " handler, 16", many);
    callers.kept = true;
    const ProbeTimes kept = call_handler(callers);
    print(name + " handler, 16 kept", kept);
    added.push_back(through.p50_us - one.p50_us);
    rates.push_back(many.per_second);
    kept_rates.push_back(kept.per_second);
  }
  return {
      .p50_us = median(added), .per_second = median(rates), .kept_per_second = median(kept_rates)};
}

// The same as compare() for the relay; the direct probes are measured again, beside it.
Relayed compare_relay(const Kind& kind, const RawRelay& relay) {
  std::vector<double> added;
  std::vector<double> rates;
  std::vector<double> costs;
  const probe::Probe through = {.action = probe::HttpGet{.path = "/"}, .port = relay.port()};
  for (int round = 0; round < kRounds; ++round) {
    const ProbeTimes one = run_load({.probe = kind.direct, .time = kTime});
    const ProbeTimes relayed = run_load({.probe = through, .time = kTime});
    print("HTTP direct, one", one);
    print("HTTP raw relay, one", relayed);
    const double cpu = cpu_seconds(relay.pid());
    const ProbeTimes many =
        call_handler({.port = relay.port(), .target = "/", .at_once = kAtOnce, .time = kTime});
    print("HTTP raw relay, 16", many);
    added.push_back(relayed.p50_us - one.p50_us);
    rates.push_back(many.per_second);
    costs.push_back((cpu_seconds(relay.pid()) - cpu) * 1e6 / static_cast<double>(many.made));
  }
  return {.p50_us = median(added), .per_second = median(rates), .cpu_us = median(costs)};
}

uint64_t wanted_probes() {
  const char* text = std::getenv("HF_BENCH_PROBES");
  return text == nullptr ? 1'000'000 : std::strtoull(text, nullptr, 10);
}

// Nothing of the handler grows meanwhile.
void make_many(test::ProbeHandler& handler, const Kind& kind) {
  test::let_pass(500ms);  // what was there before has ended
  const pid_t pid = handler.process().pid();
  const double memory = memory_mib(pid);
  const auto descriptors = static_cast<double>(handler.descriptor_count());
  const double cpu = cpu_seconds(pid);
  const ProbeTimes all = call_handler({.port = kind.through.port,
                                       .target = std::get<probe::HttpGet>(kind.through.action).path,
                                       .at_once = kAtOnce,
                                       .count = wanted_probes()});
  const double spent_us = (cpu_seconds(pid) - cpu) * 1e6 / static_cast<double>(all.made);
  const double grown = memory_mib(pid) - memory;
  std::printf(
      "%llu HTTP probes: %.0f/s, %llu not healthy, %.0f us of the handler's CPU each; memory "
      "%.1f MiB, then %.1f; in TIME_WAIT at the handler %zu, at the application %zu\n",
      static_cast<unsigned long long>(all.made), all.per_second,
      static_cast<unsigned long long>(all.unhealthy), spent_us, memory, memory + grown,
      test::time_waits_of(handler.port()), test::time_waits_of(kind.direct.port));
  test::let_pass(500ms);
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
  const RawRelay relay(app.port());
  const Relayed relayed = compare_relay(kinds[0], relay);
  std::vector<Added> added;
  for (size_t i = 0; i < kinds.size(); ++i) {
    kinds[i].through = {.action = probe::HttpGet{.path = paths[i]}, .port = handler.port()};
    added.push_back(compare(kinds[i]));
  }
  for (size_t i = 1; i < kinds.size(); ++i) {
    std::printf("%s: the handler adds %.0f us (p50), carries %.0f/s\n", kinds[i].name,
                added[i].p50_us, added[i].per_second);
  }
  std::printf(
      "HTTP: the handler adds %.0f us (p50), the raw relay %.0f: %.2f times; they carry %.0f/s and "
      "%.0f/s: %.2f times; the relay needs %.0f us of CPU for a probe\n",
      added[0].p50_us, relayed.p50_us, added[0].p50_us / relayed.p50_us, added[0].per_second,
      relayed.per_second, added[0].per_second / relayed.per_second, relayed.cpu_us);
  make_many(handler, kinds[0]);
  bar_at_most("probe_http_added_p50_us", added[0].p50_us, 150);
  bar_at_least("probe_http_per_second", added[0].per_second, 10'000);
  bar_at_least("probe_http_kept_per_second", added[0].kept_per_second, 10'000);
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--relay") {
    return holdfast::bench::run_relay(static_cast<uint16_t>(std::atoi(argv[2])),
                                      static_cast<uint16_t>(std::atoi(argv[3])));
  }
  holdfast::bench::run(std::set<std::string>(argv + 1, argv + argc));
  return 0;
}
