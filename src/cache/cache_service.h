// Runs a Cache: keeps its stream, fetches pages, saves and loads the copy on disk, and answers
// reads: from the cache if the kind is cached, else from upstream, once for all who ask at the same
// time, remembered for a second. With upstream gone too, the last good generation answers, and says
// that it is stale.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cache/cache.h"
#include "cache/cache_metrics.h"
#include "cache/copy_service.h"
#include "cache/derived_service.h"
#include "cache/reads_service.h"
#include "cache/upstream.h"
#include "metrics/metrics.h"
#include "net/task_group.h"

namespace holdfast::cache {

struct CacheServiceOptions {
  CacheOptions cache;
  // How long start() waits for the first generation.
  Duration first_wait = std::chrono::seconds(20);
  ReadOptions reads = {};
  CopyPlace copy = {};  // an empty folder: no copy on disk
};

// Belongs to one executor; View (snapshot.h) is for other threads.
class CacheService final : public Upstream {
 public:
  CacheService(const asio::any_io_executor& loop, const Clock& clock, Upstream& upstream,
               metrics::Registry& registry, CacheServiceOptions options);
  // Requires: stop() has completed, or start() was never called; its streams are gone.
  ~CacheService() override;
  CacheService(const CacheService&) = delete;
  CacheService& operator=(const CacheService&) = delete;

  // Returns when the first generation is readable, the first try failed, or options.first_wait is
  // over; goes on in the background. A copy on disk is readable before the first try.
  asio::awaitable<void> start();
  // Saves what there is, ends every stream and read, and waits for their end.
  asio::awaitable<void> stop();

  // kNotFound from the cache is an answer. kUnimplemented from upstream is the caller's alone.
  template <resource::Kind K>
  asio::awaitable<Result<Read<Shared>>> get_one(std::string name) {
    return reads_.one(K, std::move(name));
  }
  template <resource::Kind K>
  asio::awaitable<Result<Read<std::vector<Shared>>>> get_all() {
    return reads_.all(K);
  }
  // The same with kinds by name, for the wire. Secrets are shown if they are asked for; whether the
  // caller may see them was decided before.
  asio::awaitable<Result<Read<v1::Resource>>> read(v1::GetRequest request) {
    return reads_.get(std::move(request));
  }
  asio::awaitable<Result<Read<v1::ListResponse>>> read(v1::ListRequest request) {
    return reads_.list(std::move(request));
  }

  // For other caches: the same rules.
  asio::awaitable<Result<std::unique_ptr<EventStream>>> watch(v1::WatchRequest request) override;
  asio::awaitable<Result<v1::ListResponse>> list(v1::ListRequest request) override;
  asio::awaitable<Result<v1::Resource>> get(v1::GetRequest request) override;

  Published<Snapshot>& published() { return cache_.published(); }
  // Whoever adds a watcher is told by on_wake() when to take(). A watcher added or removed changes
  // no deadline that on_tick() would miss.
  events::FanOut& fan_out() { return cache_.fan_out(); }
  // Called with the watchers to wake, after each change of the fan-out.
  void on_wake(std::function<void(const std::vector<events::WatcherId>&)> wake) {
    on_wake_ = std::move(wake);
  }
  // One row per configured kind, as `holdfast get caches` shows it. Until a kind is loaded its
  // reason also says why the copy on disk was of no use.
  std::vector<v1::CachedKind> describe() const;
  // Called after describe() has changed in more than counts and revisions.
  void on_change(std::function<void()> changed) { on_change_ = std::move(changed); }
  // Brings what only time changes up to date; before metrics are shown.
  void update_metrics();
  const CacheStats& stats() const { return cache_.stats(); }
  // Why the copy on disk was of no use at the start, and why it could not be written the last time;
  // ok if neither is so.
  const Status& load_status() const { return load_status_; }
  const Status& save_status() const { return save_status_; }

 private:
  struct Following {
    EventStream* stream = nullptr;  // null while it is being opened
    bool unwanted = false;
  };

  Moment now() const { return {.time = clock_.now(), .wall = clock_.wall_now()}; }
  asio::awaitable<void> start_in_order();
  asio::awaitable<void> restore();
  void carry_out(Actions actions);
  void carry_out(Subscribe& subscribe);
  void carry_out(const Unsubscribe& unsubscribe);
  void carry_out(Fetch& fetch);
  void carry_out(const Wake& wake);
  void carry_out(const Changed& changed);
  void carry_out(const Save& save);
  asio::awaitable<void> follow(uint64_t attempt, v1::WatchRequest request);
  asio::awaitable<void> fetch(uint64_t id, v1::ListRequest request);
  asio::awaitable<void> keep_time();
  asio::awaitable<void> keep_tidy();
  asio::awaitable<void> save_when_asked();
  asio::awaitable<void> save(std::vector<KindCopy> copies);
  std::vector<KindCopy> copies() const;

  const Clock& clock_;
  Upstream& upstream_;
  const CacheServiceOptions options_;
  Cache cache_;
  CopyService copy_;
  ReadsService reads_;
  DerivedService derived_;
  CacheMetrics metrics_;
  std::function<void(const std::vector<events::WatcherId>&)> on_wake_;
  std::function<void()> on_change_;

  bool starting_ = false;  // someone is in start()
  bool stopped_ = false;
  std::map<uint64_t, Following> following_;  // by attempt
  asio::steady_timer first_try_;             // cancelled when it is over
  asio::steady_timer start_over_;            // cancelled when start() is left
  asio::steady_timer deadline_;              // cancelled when an earlier one is due
  Time armed_{};                             // what deadline_ waits for
  asio::steady_timer save_asked_;            // cancelled when there is something to save
  bool unsaved_ = false;
  Status load_status_;
  Status save_status_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::cache
