// A CacheService that follows a FakeUpstream on one loop: the first generation in pages of 1,000,
// then the stream ends and is opened again, with nothing changed meanwhile.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <functional>

#include "bars.h"
#include "base/clock.h"
#include "cache/cache_service.h"
#include "cache/fake_upstream_service.h"
#include "cache_agents.h"
#include "cache_core.h"

namespace holdfast::bench {
namespace {

namespace asio = boost::asio;
using resource::Kind;
constexpr int kReconnects = 20;
constexpr double kLongest = 5;  // seconds for each step

class Whole {
 public:
  Whole() {
    for (int i = 0; i < kAgents; ++i) {
      const v1::Resource agent = make_agent(i);
      upstream_.put(Kind::Agent, agent.metadata().name());
    }
  }
  double load() {
    const double start = thread_cpu_seconds();
    run(cache_.start());
    wait_until([&] { return is_live(); });
    return thread_cpu_seconds() - start;
  }
  double reconnect() {
    const auto resumes = cache_.stats().resumes;
    const double start = thread_cpu_seconds();
    upstream_.end_streams(absl::AbortedError("the stream moves"));
    wait_until([&] { return cache_.stats().resumes > resumes && is_live(); });
    return thread_cpu_seconds() - start;
  }
  void stop() {
    late_ = false;
    run(cache_.stop());
  }
  const cache::CacheStats& stats() const { return cache_.stats(); }
  // Something has not come to pass in time; nothing is waited for any more.
  bool is_late() const { return late_; }

 private:
  static cache::CacheServiceOptions options() {
    cache::CacheServiceOptions made;
    made.cache.kinds = {{.kind = Kind::Agent}};
    made.cache.page_size = kPageSize;
    made.cache.max_backoff = std::chrono::milliseconds(4);  // waiting is not what is measured
    return made;
  }
  bool is_live() {
    const auto rows = cache_.describe();
    return rows.size() == 1 && rows[0].source() == "cache" && rows[0].items() == kAgents;
  }
  void wait_until(const std::function<bool()>& condition) {
    for (const double end = seconds() + kLongest; !condition() && !late_;) {
      late_ = seconds() > end;
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(10));
    }
  }
  void run(asio::awaitable<void> call) {
    bool done = false;
    asio::co_spawn(io_, std::move(call), [&](const std::exception_ptr&) { done = true; });
    wait_until([&] { return done; });
  }

  bool late_ = false;
  asio::io_context io_;
  SystemClock clock_;
  metrics::Registry registry_{{}};
  cache::FakeUpstream upstream_{io_.get_executor(), {Kind::Agent}};
  cache::CacheService cache_{io_.get_executor(), clock_, upstream_, registry_, options()};
};

}  // namespace

void bench_service() {
  Whole whole;
  const double loading = whole.load();
  const cache::CacheStats before = whole.stats();
  std::vector<double> reconnects;
  for (int i = 0; i < kReconnects; ++i) reconnects.push_back(whole.reconnect());
  const bool failed = whole.is_late() || whole.stats().pages != before.pages;
  std::printf("the whole service, names and empty agents, upstream included: CPU time, ms\n");
  std::printf("%-60s %9.3f\n", "from start() to all agents readable", loading * 1e3);
  std::printf("%-60s %9.3f\n", "a stream that ends and is resumed, nothing changed",
              median(reconnects) * 1e3);
  if (failed) std::printf("this failed: it took too long, or pages were fetched again\n");
  bar_at_most("cache_service_reconnect_vs_load", failed ? 1 : median(reconnects) / loading, 0.01);
  whole.stop();
}

}  // namespace holdfast::bench
