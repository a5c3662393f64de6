// A crowd of agents, all in this process, each with its own certificate and the real AgentService,
// against real proxies. First what an idle tunnel costs a proxy in memory; then a proxy with its
// share of the crowd is killed, and the crowd finds its way to the others.
//
//   BAR idle_tunnel_kb <= 60          BAR peak_tunnels_per_second_per_proxy <= 400
//   BAR longest_unreachable_s <= 8 with one tunnel each     BAR redundant_again_s <= 15 with two
//
// HF_BENCH_AGENTS (2000) sets the size of the crowd; HF_BENCH_ONLY=memory ends after the first
// part, which is how `make bench-tunnel` has it.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <future>
#include <map>
#include <string_view>
#include <thread>

#include "bars.h"
#include "base/check.h"
#include "base/log.h"
#include "e2e/tunnel_fleet.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "identity/certificate.h"
#include "process_usage.h"
#include "rpc/channel.h"
#include "support/eventually.h"
#include "tunnel/agent_service.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr int kFewAgents = 200;
constexpr int kFirstAgents = 16;
constexpr int kStartingAtOnce = 32;
constexpr int kUsesOfToken = 1'000;  // the most that the controller allows

int crowd_size() {
  const char* text = std::getenv("HF_BENCH_AGENTS");
  return text == nullptr ? 2'000 : std::max(kFewAgents, std::atoi(text));
}

// All agents come from one address here; a proxy would rightly call that a flood.
test::Arguments crowd_limits() {
  return {"--set", "proxy.limits.strangers_per_address=10000"};
}

template <typename T>
T must(Result<T> result) {
  HF_CHECK(result.ok(), std::string(result.status().message()));
  return *std::move(result);
}

// Certificates for agents that never ran `holdfast join`: the same call, without a process each.
class Enrolment {
 public:
  explicit Enrolment(test::TunnelFleet& fleet)
      : fleet_(fleet),
        stub_(v1::Identity::NewStub(rpc::make_channel(fleet.controller().unix_server(), {}))),
        key_(must(identity::make_private_key())),
        request_(must(identity::make_request(key_))) {}

  tunnel::AgentIdentity join(const std::string& name, const std::string& zone) {
    if (uses_left_ == 0) renew_token();
    uses_left_ -= 1;
    v1::JoinRequest request;
    request.set_token(token_);
    request.set_name(name);
    request.set_zone(zone);
    request.set_request_pem(request_);
    v1::Credentials credentials;
    grpc::ClientContext context;
    const grpc::Status joined = stub_->Join(&context, request, &credentials);
    HF_CHECK(joined.ok(), joined.error_message());
    return {.private_key_pem = key_,
            .certificate_pem = credentials.certificate_pem(),
            .ca_pem = credentials.ca_pem()};
  }

 private:
  void renew_token() {
    uses_left_ = kUsesOfToken;
    const test::ProgramOutcome token =
        fleet_.cli({"token", "create", "--role", "agent", "--uses", std::to_string(kUsesOfToken)});
    HF_CHECK(token.exit_code == 0, token.error);
    token_ = token.output.substr(0, token.output.find('\n'));
  }

  test::TunnelFleet& fleet_;
  std::unique_ptr<v1::Identity::Stub> stub_;
  std::string key_;
  std::string request_;
  std::string token_;
  int uses_left_ = 0;
};

// Everything but the constructor and the destructor runs on its loop's thread.
class Crowd {
 public:
  Crowd(test::TunnelFleet& fleet, int agents, int tunnels_each) : tunnels_each_(tunnels_each) {
    Enrolment enrolment(fleet);
    std::vector<std::string> addresses;
    for (const std::string& proxy : fleet.names("proxy"))
      addresses.push_back(fmt::format("127.0.0.1:{}", fleet.ports(proxy).tunnel));
    v1::NetworkingConfig settings;
    settings.set_tunnel_strategy(v1::TUNNEL_STRATEGY_PROXY_PEERING);
    settings.set_agent_connection_count(static_cast<uint32_t>(tunnels_each));
    for (int i = 0; i < agents; ++i) {
      tunnel::AgentOptions options{.version = "bench", .seed = static_cast<uint64_t>(i) + 1};
      auto agent = must(
          tunnel::AgentService::make(loop_.get_executor(), clock_, options,
                                     enrolment.join(fmt::format("one-of-{}-{}", agents, i), "a")));
      agent->set_bootstrap(addresses);
      agent->set_settings(settings);
      agents_.push_back(std::move(agent));
    }
    asio::co_spawn(loop_, watch(), asio::detached);
    runner_ = std::thread([this] { loop_.run(); });
  }
  ~Crowd() {
    ending_ = true;
    asio::co_spawn(loop_, stop_all(), asio::detached);
    runner_.join();
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  size_t tunnels() const { return tunnels_; }
  bool complete() const { return tunnels_ == agents_.size() * static_cast<size_t>(tunnels_each_); }

  struct Report {
    double longest_unreachable_s = 0;  // of any agent without a tunnel
    double again_complete_s = 0;
    std::map<std::string, int> peak_per_second{};  // new tunnels, by proxy
  };
  // From here on; again when it is complete.
  void mark() { marked_ = clock_.now(); }
  Report report() {
    std::promise<Report> made;
    asio::post(loop_, [&] { made.set_value(report_now()); });
    return made.get_future().get();
  }

 private:
  struct Seen {
    std::vector<std::string> proxies{};
    std::optional<Time> none_since{};
  };

  // Looks at every agent 50 times a second: the journal of who came when.
  asio::awaitable<void> watch() {
    seen_.resize(agents_.size());
    while (!ending_) {
      const Time now = clock_.now();
      size_t all = 0;
      for (size_t i = 0; i < agents_.size(); ++i) all += look_at(i, now);
      start_some();
      if (all < agents_.size() * static_cast<size_t>(tunnels_each_)) last_incomplete_ = now;
      tunnels_ = all;
      co_await net::pause(20ms);
    }
  }

  // Not all at once: this one thread would be late for each of their handshakes. How a crowd comes
  // back after a loss is its own affair.
  void start_some() {
    const auto waits = [](const Seen& seen) { return seen.proxies.empty(); };
    const auto begun = seen_.begin() + static_cast<ptrdiff_t>(started_);
    for (auto waiting = std::count_if(seen_.begin(), begun, waits);
         started_ < agents_.size() && waiting < kStartingAtOnce; ++waiting) {
      agents_[started_++]->start();
    }
  }

  size_t look_at(size_t index, Time now) {
    Seen& seen = seen_[index];
    std::vector<std::string> proxies = agents_[index]->proxies();
    for (const std::string& proxy : proxies) {
      if (std::ranges::find(seen.proxies, proxy) == seen.proxies.end()) came_[proxy].push_back(now);
    }
    if (!proxies.empty() && seen.none_since && *seen.none_since > marked_.load())
      longest_ = std::max(longest_, now - *seen.none_since);
    if (proxies.empty() && !seen.none_since) seen.none_since = now;
    if (!proxies.empty()) seen.none_since.reset();
    seen.proxies = std::move(proxies);
    return seen.proxies.size();
  }

  Report report_now() {
    Report made{.longest_unreachable_s = std::chrono::duration<double>(longest_).count(),
                .again_complete_s =
                    std::chrono::duration<double>(last_incomplete_ - marked_.load()).count()};
    for (const auto& [proxy, times] : came_) {
      for (auto first = times.begin(), last = times.begin(); last != times.end(); ++last) {
        if (*last < marked_.load()) continue;
        while (*last - *first > 1s) ++first;
        const auto from = std::max(first, std::ranges::lower_bound(times, marked_.load()));
        int& peak = made.peak_per_second[proxy];
        peak = std::max(peak, static_cast<int>(last - from) + 1);
      }
    }
    return made;
  }

  asio::awaitable<void> stop_all() {
    for (auto& agent : agents_) co_await agent->stop();
    agents_.clear();
  }

  asio::io_context loop_{1};
  SystemClock clock_;
  int tunnels_each_;
  std::vector<std::unique_ptr<tunnel::AgentService>> agents_;
  std::vector<Seen> seen_;
  size_t started_ = 0;
  std::map<std::string, std::vector<Time>> came_;
  Duration longest_{0};
  Time last_incomplete_{};
  std::atomic<Time> marked_{Time::max()};
  std::atomic<size_t> tunnels_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread runner_;
};

void wait_for(const Crowd& crowd, const char* what) {
  const bool in_time = test::eventually([&] { return crowd.complete(); }, 120s);
  HF_CHECK(in_time, fmt::format("{} within 120 s; {} tunnels are there", what, crowd.tunnels()));
}

void measure_memory(test::TunnelFleet& fleet) {
  const pid_t proxy = fleet.process("px-1").pid();
  // What the first ones need and all share is not the tunnels' own.
  const Crowd first(fleet, kFirstAgents, 1);
  wait_for(first, "the first agents have a tunnel");
  test::let_pass(5s);
  const double before = memory_mib(proxy) * 1024;
  const Crowd crowd(fleet, kFewAgents, 1);
  wait_for(crowd, "all agents have a tunnel");
  test::let_pass(5s);  // a few keepalives each
  const double each = (memory_mib(proxy) * 1024 - before) / kFewAgents;
  fmt::print("{} idle tunnels: {:.1f} KB of the proxy's memory each\n", kFewAgents, each);
  bar_at_most("idle_tunnel_kb", each, 60);
}

void measure_loss(int agents, int tunnels_each) {
  test::TunnelFleet fleet;
  for (const char* name : {"px-1", "px-2", "px-3", "px-4"})
    fleet.add_proxy(name, "a", {}, crowd_limits());
  Crowd crowd(fleet, agents, tunnels_each);
  wait_for(crowd, "all agents have their tunnels");
  fmt::print("{} agents with {} tunnels each over 4 proxies; kill -9 of px-1\n", agents,
             tunnels_each);
  crowd.mark();
  fleet.process("px-1").kill();
  test::let_pass(2s);
  wait_for(crowd, "all agents have their tunnels again");
  const Crowd::Report report = crowd.report();
  int peak = 0;
  for (const auto& [proxy, most] : report.peak_per_second) {
    fmt::print("  {}: at most {} new tunnels in a second\n", proxy, most);
    peak = std::max(peak, most);
  }
  fmt::print("  all tunnels again after {:.1f} s; longest without any {:.1f} s\n",
             report.again_complete_s, report.longest_unreachable_s);
  bar_at_most(fmt::format("peak_tunnels_per_second_with_{}", tunnels_each), peak, 400);
  if (tunnels_each == 1) {
    bar_at_most("longest_unreachable_s", report.longest_unreachable_s, 8);
  } else {
    bar_at_most("longest_unreachable_with_2_s", report.longest_unreachable_s, 0);
    bar_at_most("redundant_again_s", report.again_complete_s, 15);
  }
}

bool is_memory_only() {
  const char* text = std::getenv("HF_BENCH_ONLY");
  return text != nullptr && std::string_view(text) == "memory";
}

void run() {
  {
    test::TunnelFleet fleet;
    fleet.add_proxy("px-1", "a", {}, crowd_limits());
    measure_memory(fleet);
  }
  if (is_memory_only()) return;
  measure_loss(crowd_size(), 1);
  measure_loss(crowd_size(), 2);
}

}  // namespace
}  // namespace holdfast::bench

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  holdfast::log::configure(holdfast::log::Level::Error, holdfast::log::Format::Logfmt);
  holdfast::bench::run();
}
