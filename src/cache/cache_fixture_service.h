// A cache service with its upstream in memory, and a loop that is run until something is so. Time
// passes for both while it runs, a millisecond for each turn.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/cache_service.h"
#include "cache/fake_upstream_service.h"

namespace holdfast::cache {

using namespace std::chrono_literals;
using resource::Kind;

class CacheServiceTest : public testing::Test {
 protected:
  CacheServiceOptions options() const {
    return {.cache = {.kinds = {{.kind = Kind::Agent, .max_staleness = 50ms},
                                {.kind = Kind::Service, .max_staleness = 50ms}},
                      .init_timeout = 300ms,
                      .max_backoff = 32ms,
                      .page_size = 2,
                      .save_every = 5ms},
            .first_wait = 2s,
            .reads = {.fallback_wait = 50ms}};
  }
  std::unique_ptr<CacheService> make(CacheServiceOptions options) {
    return make_on(upstream_, std::move(options));
  }
  std::unique_ptr<CacheService> make_on(Upstream& upstream, CacheServiceOptions options) {
    return std::make_unique<CacheService>(io_.get_executor(), clock_, upstream, registry_,
                                          std::move(options));
  }

  // Everything that can happen without time passing.
  void settle() {
    io_.restart();
    io_.poll();
  }
  bool run_until(const std::function<bool()>& condition) {
    for (int turn = 0; turn < 5'000; ++turn) {
      settle();
      if (condition()) return true;
      clock_.advance(1ms);
      io_.restart();
      io_.run_one_for(1ms);
    }
    return false;
  }
  template <typename T>
  T ask(asio::awaitable<T> call) {
    std::optional<T> answer;
    asio::co_spawn(io_, std::move(call), [&answer](const std::exception_ptr& thrown, T value) {
      HF_CHECK(thrown == nullptr, "nothing is thrown");
      answer = std::move(value);
    });
    HF_CHECK(run_until([&] { return answer.has_value(); }), "every call ends");
    return *std::move(answer);
  }
  void run(asio::awaitable<void> call) {
    bool done = false;
    asio::co_spawn(io_, std::move(call), [&done](const std::exception_ptr& thrown) {
      HF_CHECK(thrown == nullptr, "nothing is thrown");
      done = true;
    });
    HF_CHECK(run_until([&] { return done; }), "every call ends");
  }

  static v1::CachedKind row(const CacheService& cache, std::string_view kind) {
    for (v1::CachedKind& one : cache.describe()) {
      if (one.kind() == kind) return one;
    }
    return {};
  }
  static bool all_cached(const CacheService& cache) {
    return std::ranges::all_of(cache.describe(),
                               [](const v1::CachedKind& one) { return one.source() == "cache"; });
  }

  asio::io_context io_;
  ManualClock clock_;
  metrics::Registry registry_{{}};
  FakeUpstream upstream_{io_.get_executor(), {Kind::Agent, Kind::Service, Kind::Role}};
};

}  // namespace holdfast::cache
