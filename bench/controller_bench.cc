// One controller on SQLite with 30,000 agents that announce themselves, TTL 60 s, for two minutes;
// 300 of them fall silent on the way.
//
// Promise: every silent one is offline within its TTL and 2 s, no live one ever is; a get under
// that load takes at most 50 ms (p99); a listing of them all, in pages, adds at most 32 MiB.
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "bars.h"
#include "base/check.h"
#include "base/rng.h"
#include "controller_fleet.h"
#include "process_usage.h"
#include "support/child_process.h"
#include "support/eventually.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

// The daemon's own program, with the TTL fixed.
class Controller {
 public:
  explicit Controller(int ttl_seconds) {
    const std::string ttl = std::to_string(ttl_seconds) + "s";
    ::setenv("HOLDFAST_PRESENCE_AGENT_TTL", ttl.c_str(), 1);
    ::setenv("HOLDFAST_PRESENCE_AGENT_MAX_TTL", ttl.c_str(), 1);
    process_ = std::make_unique<test::ChildProcess>(test::ChildOptions{
        .arguments = {test::built("holdfastd"), "controller", "--data-dir", dir_.file("data"),
                      "--listen", "127.0.0.1:0", "--http-listen", "", "--health-listen", ""},
        .output_file = dir_.file("log")});
    const auto deadline = std::chrono::system_clock::now() + 30s;
    HF_CHECK(connect_all(address(), 1).front()->WaitForConnected(deadline),
             "the controller listens within 30 s");
  }
  std::string address() const { return "unix:" + dir_.file("data") + "/holdfast.sock"; }
  pid_t pid() const { return process_->pid(); }

 private:
  test::TempDir dir_;
  std::unique_ptr<test::ChildProcess> process_;
};

// Gets one agent after the other, a hundred a second.
class Getter {
 public:
  Getter(const std::string& address, int agents) : agents_(agents) {
    channel_ = connect_all(address, 1).front();
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  const DelayHistogram& delays() const { return delays_; }

 private:
  void run(const std::stop_token& stop) {
    Rng rng(3);
    const auto stub = v1::Resources::NewStub(channel_);
    while (!stop.stop_requested()) {
      grpc::ClientContext context;
      v1::GetRequest request;
      request.set_kind("agent");
      request.set_name(agent_name(static_cast<int>(rng.below(static_cast<uint64_t>(agents_)))));
      v1::Resource response;
      const int64_t start = now_nanoseconds();
      const grpc::Status status = stub->Get(&context, request, &response);
      HF_CHECK(status.ok(), "get: " + status.error_message());
      delays_.record(now_nanoseconds() - start);
      test::let_pass(10ms);
    }
  }

  int agents_;
  std::shared_ptr<grpc::Channel> channel_;  // tidy: shared, gRPC asks for it
  DelayHistogram delays_;
  std::jthread thread_;
};

int list_all(const std::string& address) {
  const auto stub = v1::Resources::NewStub(connect_all(address, 1).front());
  v1::ListRequest request;
  request.set_kind("agent");
  request.set_page_size(1'000);
  int count = 0;
  do {
    grpc::ClientContext context;
    v1::ListResponse page;
    const grpc::Status status = stub->List(&context, request, &page);
    HF_CHECK(status.ok(), "list: " + status.error_message());
    count += page.resources_size();
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return count;
}

struct Listing {
  int agents = 0;
  double before_mib = 0;
  double during_mib = 0;
  double after_mib = 0;
  double seconds = 0;
};

Listing measure_list(const Controller& controller) {
  Listing listing{.before_mib = memory_mib(controller.pid())};
  const int64_t start = now_nanoseconds();
  {
    const PeakMemory peak(controller.pid());
    listing.agents = list_all(controller.address());
    listing.during_mib = peak.mib();
  }
  listing.seconds = static_cast<double>(now_nanoseconds() - start) / 1e9;
  listing.after_mib = memory_mib(controller.pid());
  return listing;
}

void print_bars(const FleetOptions& options, const FleetFindings& found, const Listing& listing) {
  bar_at_most("presence_announce_failures", static_cast<double>(found.failed), 0);
  bar_at_most("presence_missed_offline", static_cast<double>(found.missed), 0);
  bar_at_most("presence_false_offline", static_cast<double>(found.false_offline), 0);
  bar_at_most("presence_offline_after_ttl_s", found.latest_seconds, 2);
  bar_at_least("presence_agents_listed", listing.agents, options.agents);
  bar_at_most("presence_list_growth_mib", listing.during_mib - listing.before_mib, 32);
}

int run(const FleetOptions& options) {
  std::printf(
      "%d simulated agents on %d shared connections (real ones have one each), TTL %d s, "
      "%d s measured, %d fall silent\n",
      options.agents, options.connections, options.ttl_seconds, options.seconds, options.stopping);
  const Controller controller(options.ttl_seconds);
  Fleet fleet(controller.address(), options);
  fleet.start();
  // Everybody is there after half a TTL.
  test::let_pass(std::chrono::seconds(options.ttl_seconds / 2 + 3));

  const double cpu_before = cpu_seconds(controller.pid());
  const int64_t start = now_nanoseconds();
  fleet.begin_stopping();
  auto getter = std::make_unique<Getter>(controller.address(), options.agents);
  test::let_pass(std::chrono::seconds(options.seconds / 2));
  const Listing listing = measure_list(controller);
  const int64_t end = start + int64_t{options.seconds} * 1'000'000'000;
  test::let_pass(Duration(std::max<int64_t>(0, end - now_nanoseconds())));
  const double seconds = static_cast<double>(now_nanoseconds() - start) / 1e9;
  const double cpu = (cpu_seconds(controller.pid()) - cpu_before) / seconds * 100;
  const double get_p99 = getter->delays().percentile_ms(0.99);
  const double get_p50 = getter->delays().percentile_ms(0.5);
  getter.reset();
  const FleetFindings found = fleet.finish();

  std::printf("announced %lu, failed %lu; p50 %.1f ms, p99 %.1f ms\n", found.announced,
              found.failed, fleet.delays().percentile_ms(0.5), fleet.delays().percentile_ms(0.99));
  std::printf("silent agents seen offline %.2f to %.2f s after their TTL; missed %lu, false %lu\n",
              found.earliest_seconds, found.latest_seconds, found.missed, found.false_offline);
  std::printf("controller: CPU %.0f %% of one core, memory %.0f MiB\n", cpu,
              memory_mib(controller.pid()));
  std::printf("get agents/NAME: p50 %.1f ms, p99 %.1f ms\n", get_p50, get_p99);
  std::printf("list of %d in %.1f s: memory %.0f MiB before, %.0f at most, %.0f after\n",
              listing.agents, listing.seconds, listing.before_mib, listing.during_mib,
              listing.after_mib);
  print_bars(options, found, listing);
  bar_at_most("presence_cpu_percent", cpu, 100);
  bar_at_most("presence_announce_p99_ms", fleet.delays().percentile_ms(0.99), 250);
  bar_at_most("presence_get_p99_ms", get_p99, 50);
  return 0;
}

int main(int argc, char** argv) {
  FleetOptions options;
  const struct {
    const char* flag;
    int& value;
  } flags[] = {{"--agents", options.agents},
               {"--seconds", options.seconds},
               {"--ttl", options.ttl_seconds},
               {"--stopping", options.stopping},
               {"--connections", options.connections}};
  for (int i = 1; i < argc; i += 2) {
    bool known = false;
    for (const auto& flag : flags) {
      if (i + 1 >= argc || std::strcmp(argv[i], flag.flag) != 0) continue;
      flag.value = std::atoi(argv[i + 1]);
      known = flag.value > 0;
    }
    if (known) continue;
    std::fprintf(stderr, "%s: use --agents, --seconds, --ttl, --stopping, --connections NUMBER\n",
                 argv[i]);
    return 64;
  }
  if (options.seconds < options.ttl_seconds + 10 || options.stopping > options.agents / 2) {
    std::fprintf(stderr, "measure for at least the TTL and 10 s; stop at most half\n");
    return 64;
  }
  return run(options);
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  return holdfast::bench::main(argc, argv);
}
