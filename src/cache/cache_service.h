// Runs a Cache: keeps its stream, fetches pages, saves and loads the copy on disk, and answers
// reads: from the cache if the kind is cached, else from upstream, once for all who ask at the same
// time, remembered for a second. With upstream gone too, the last good generation answers, and says
// that it is stale.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cache/cache.h"
#include "cache/snapshot.h"
#include "cache/upstream.h"
#include "events/fan_out.h"
#include "holdfast/v1/resource.pb.h"
#include "metrics/metrics.h"

namespace holdfast::cache {

template <typename T>
struct Read {
  T value;
  Source source = Source::Cache;
  Duration age{0};  // of a stale answer: since it was last known to be whole
};

// Belongs to one executor; View (snapshot.h) is for other threads.
class CacheService final : public Upstream {
 public:
  CacheService(const asio::any_io_executor& loop, const Clock& clock, Upstream& upstream,
               metrics::Registry& registry, CacheServiceOptions options);

  // Returns when the first generation is readable, the first try failed, or options.first_wait is
  // over; goes on in the background.
  asio::awaitable<void> start();
  asio::awaitable<void> stop();

  // kNotFound from the cache is an answer. kUnimplemented from upstream is the caller's alone.
  template <resource::Kind K>
  asio::awaitable<Result<Read<Shared>>> get_one(std::string name);
  template <resource::Kind K>
  asio::awaitable<Result<Read<std::vector<Shared>>>> get_all();

  // For other caches and for the wire (web::Backend): the same rules, kinds by name.
  asio::awaitable<Result<std::unique_ptr<EventStream>>> watch(v1::WatchRequest request) override;
  asio::awaitable<Result<v1::ListResponse>> list(v1::ListRequest request) override;
  asio::awaitable<Result<v1::Resource>> get(v1::GetRequest request) override;

  Published<Snapshot>& published();
  events::FanOut& fan_out();
  // Called with the watchers to wake, after each change of the fan-out.
  void on_wake(std::function<void(const std::vector<events::WatcherId>&)> wake);
  // One row per configured kind, as `holdfast get caches` shows it.
  std::vector<v1::CachedKind> describe() const;
  // Called after describe() has changed in more than counts and revisions.
  void on_change(std::function<void()> changed);
};

}  // namespace holdfast::cache
