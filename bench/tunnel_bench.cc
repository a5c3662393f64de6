// Holdfast's tunnel beside its peers, in one run and in turns, so that what else this machine does
// hits all of them. Client, app and both ends of each path share its cores. Prints a table, then
//
//   BAR bulk_*_vs_best_peer >= 1.1         BAR bulk_*_vs_tls >= 0.7
//   BAR echo_p50_vs_best_peer <= 1.0       BAR echo64_vs_best_peer >= 1.2
//   BAR new_connections_vs_best_peer >= 3  BAR echo_under_bulk_p99_ms <= 5
//
// Memory of idle tunnels (BAR idle_tunnel_kb <= 60) is agents_bench's; `make bench-tunnel` runs it
// right after. HF_BENCH_ROUNDS (3) sets the number of turns; HF_BENCH_PATHS=holdfast,haproxy keeps
// only the paths whose names begin so.
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>

#include "bars.h"
#include "e2e/tunnel_fleet.h"
#include "tunnel_app.h"
#include "tunnel_load.h"
#include "tunnel_paths.h"

namespace holdfast::bench {
namespace {

constexpr uint64_t kBulkBytes = 512 << 20;
constexpr double kSeconds = 1.5;
constexpr int kIdle = 1'000;

// Medians by measure, then by path.
using Samples = std::map<std::string, std::map<std::string, std::vector<double>>>;

int rounds() {
  const char* text = std::getenv("HF_BENCH_ROUNDS");
  return text == nullptr ? 3 : std::max(1, std::atoi(text));
}

bool is_wanted(const std::string& name) {
  const char* text = std::getenv("HF_BENCH_PATHS");
  if (text == nullptr) return true;
  std::istringstream wanted(text);
  for (std::string each; std::getline(wanted, each, ',');) {
    if (name.starts_with(each)) return true;
  }
  return false;
}

// What the path's processes used for it goes into a column of its own.
void measure_bulk(const Path& path, char what, int connections, Samples& samples) {
  const std::string name = fmt::format("{} {}", what == 'D' ? "down" : "up", connections);
  const uint64_t bytes = kBulkBytes / static_cast<uint64_t>(connections);
  const double before = path.cpu_seconds();
  samples["bulk " + name][path.name].push_back(bulk(path.endpoint, what, connections, bytes));
  const double used = path.cpu_seconds() - before;
  samples["CPU s/GB " + name][path.name].push_back(used / (kBulkBytes / 1e9));
}

void measure_echo(const Path& path, int connections, Samples& samples) {
  const double before = path.cpu_seconds();
  const Echoes echoes = echo(path.endpoint, connections, kSeconds);
  const double used = path.cpu_seconds() - before;
  const std::string name = fmt::format("echo {}", connections);
  samples[name + " p50 us"][path.name].push_back(echoes.p50_us);
  samples[name + " p99 us"][path.name].push_back(echoes.p99_us);
  samples[name + " per s"][path.name].push_back(echoes.per_second);
  samples["CPU us/" + name][path.name].push_back(used * 1e6 / (echoes.per_second * kSeconds));
}

void measure_crowded(const Path& path, Samples& samples) {
  const Echoes crowded = echo_under_bulk(path.endpoint, kSeconds);
  samples["echo under bulk p50 us"][path.name].push_back(crowded.p50_us);
  samples["echo under bulk p99 us"][path.name].push_back(crowded.p99_us);
}

void measure_connections(const Path& path, Samples& samples) {
  const double before = path.cpu_seconds();
  const double per_second = new_connections(path.endpoint, 32, kSeconds);
  const double used = path.cpu_seconds() - before;
  samples["connections per s"][path.name].push_back(per_second);
  samples["CPU us/connection"][path.name].push_back(used * 1e6 / (per_second * kSeconds));
}

void measure_idle(const Path& path, Samples& samples) {
  if (path.processes.empty()) return;
  const double before = path.memory_kb();
  const IdleConnections idle(path.endpoint, kIdle);
  const double grown = path.memory_kb() - before;
  samples[fmt::format("MB of {} idle", kIdle)][path.name].push_back(grown / 1024);
}

void print(const std::vector<Path>& paths, const Samples& samples) {
  fmt::print("\n{:<24}", "");
  for (const Path& path : paths) fmt::print("{:>18}", path.name);
  for (const auto& [measure, by_path] : samples) {
    fmt::print("\n{:<24}", measure);
    for (const Path& path : paths) {
      const auto found = by_path.find(path.name);
      if (found == by_path.end()) {
        fmt::print("{:>18}", "-");
      } else {
        fmt::print("{:>18.1f}", median(found->second));
      }
    }
  }
  fmt::print("\n\n");
}

class Bars {
 public:
  Bars(const std::vector<Path>& paths, const Samples& samples) : paths_(paths), samples_(samples) {}

  void print() const {
    for (const char* measure : {"bulk down 1", "bulk up 1", "bulk down 16", "bulk up 16"}) {
      std::string name = measure;
      std::ranges::replace(name, ' ', '_');
      bar_at_least(name + "_vs_best_peer", ours(measure) / best(measure, true), 1.1);
      bar_at_least(name + "_vs_tls", ours(measure) / limit(measure), 0.7);
    }
    bar_at_most("echo_p50_vs_best_peer", ours("echo 1 p50 us") / best("echo 1 p50 us", false), 1.0);
    bar_at_least("echo64_vs_best_peer", ours("echo 64 per s") / best("echo 64 per s", true), 1.2);
    bar_at_least("new_connections_vs_best_peer",
                 ours("connections per s") / best("connections per s", true), 3);
    bar_at_most("echo_under_bulk_p99_ms", ours("echo under bulk p99 us") / 1e3, 5);
  }

 private:
  double value(const std::string& measure, const Path& path) const {
    return median(samples_.at(measure).at(path.name));
  }
  double ours(const std::string& measure) const {
    for (const Path& path : paths_) {
      if (path.role == Path::Role::Ours) return value(measure, path);
    }
    return 0;
  }
  // The faster of its suites.
  double limit(const std::string& measure) const {
    double most = 0;
    for (const Path& path : paths_) {
      if (path.role == Path::Role::Limit) most = std::max(most, value(measure, path));
    }
    return most;
  }
  double best(const std::string& measure, bool most) const {
    double found = most ? 0 : 1e300;
    for (const Path& path : paths_) {
      if (path.role != Path::Role::Peer) continue;
      const double each = value(measure, path);
      found = most ? std::max(found, each) : std::min(found, each);
    }
    return found;
  }

  const std::vector<Path>& paths_;
  const Samples& samples_;
};

// One measure on all paths, then the next: what this machine does besides hits all alike.
void measure_round(const std::vector<Path>& paths, int round, Samples& samples) {
  const std::vector<std::function<void(const Path&)>> measures = {
      [&](const Path& path) { measure_bulk(path, 'D', 1, samples); },
      [&](const Path& path) { measure_bulk(path, 'U', 1, samples); },
      [&](const Path& path) { measure_bulk(path, 'D', 16, samples); },
      [&](const Path& path) { measure_bulk(path, 'U', 16, samples); },
      [&](const Path& path) { measure_echo(path, 1, samples); },
      [&](const Path& path) { measure_echo(path, 64, samples); },
      [&](const Path& path) { measure_crowded(path, samples); },
      [&](const Path& path) { measure_connections(path, samples); }};
  fmt::print("round {} of {}\n", round, rounds());
  std::fflush(stdout);
  for (const auto& measure : measures) {
    for (const Path& path : paths) measure(path);
  }
}

std::string service_yaml() {
  return "kind: service\nmetadata: {name: app}\n"
         "spec: {ports: [{name: main, port: 9000, protocol: tcp}]}\n";
}

void run() {
  const test::TempDir folder;
  const AppTls tls = make_certificate(folder);
  const TunnelApp app(tls);
  fmt::print("starting ssh, nginx, haproxy and Holdfast\n");
  const Peers peers(app, tls);
  test::TunnelFleet fleet;
  fleet.apply(service_yaml());
  fleet.add_proxy("px-1", "a", {"app"});
  fleet.add_agent("edge-1", "a", {fmt::format("app=127.0.0.1:{}", app.port())});

  std::vector<Path> paths = {
      {.name = "direct", .role = Path::Role::Direct, .endpoint = {.port = app.port()}},
      {.name = "tls13 aes128",
       .role = Path::Role::Limit,
       .endpoint = {.port = app.tls_port(), .tls_cipher = "TLS_AES_128_GCM_SHA256"}},
      {.name = "tls13 aes256",
       .role = Path::Role::Limit,
       .endpoint = {.port = app.tls_port(), .tls_cipher = "TLS_AES_256_GCM_SHA384"}}};
  paths.insert(paths.end(), peers.paths().begin(), peers.paths().end());
  paths.push_back({.name = "holdfast",
                   .role = Path::Role::Ours,
                   .endpoint = {.port = fleet.ports("px-1").ingress[0]},
                   .processes = {fleet.process("px-1").pid(), fleet.process("edge-1").pid()}});
  wait_until_it_carries(paths.back());
  std::erase_if(paths, [](const Path& path) { return !is_wanted(path.name); });

  Samples samples;
  for (int round = 1; round <= rounds(); ++round) measure_round(paths, round, samples);
  for (const Path& path : paths) measure_idle(path, samples);
  print(paths, samples);
  if (std::getenv("HF_BENCH_PATHS") == nullptr) Bars(paths, samples).print();
}

}  // namespace
}  // namespace holdfast::bench

int main() {
  holdfast::bench::run();
}
