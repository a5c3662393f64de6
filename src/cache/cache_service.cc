#include "cache/cache_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "cache/published.h"

namespace holdfast::cache {
namespace {

constexpr auto kNever = asio::steady_timer::time_point::max();
constexpr Duration kShortestWait = std::chrono::microseconds(100);
constexpr Duration kLongestWait = std::chrono::minutes(1);
constexpr Duration kTidyAtMostEvery = std::chrono::milliseconds(100);

asio::awaitable<bool> is_cancelled() {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

// Until it expires or is cancelled; false if the task was cancelled, then or before.
asio::awaitable<bool> wait_for(asio::steady_timer& timer) {
  const bool too_late = co_await is_cancelled();
  if (too_late) co_return false;
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  const bool cancelled = co_await is_cancelled();
  co_return !cancelled;
}

}  // namespace

CacheService::CacheService(const asio::any_io_executor& loop, const Clock& clock,
                           Upstream& upstream, metrics::Registry& registry,
                           CacheServiceOptions options)
    : clock_(clock),
      upstream_(upstream),
      options_(std::move(options)),
      cache_(options_.cache),
      copy_(options_.copy),
      reads_(loop, clock, cache_, upstream, options_.reads),
      derived_(loop, cache_.fan_out()),
      metrics_(registry),
      first_try_(loop, kNever),
      start_over_(loop, kNever),
      deadline_(loop, kNever),
      save_asked_(loop, kNever),
      tasks_(loop) {}

CacheService::~CacheService() = default;

asio::awaitable<void> CacheService::start() {
  HF_CHECK(!starting_ && !stopped_ && tasks_.size() == 0, "a cache starts once");
  starting_ = true;
  co_await start_in_order();
  starting_ = false;
  start_over_.cancel();
}

asio::awaitable<void> CacheService::start_in_order() {
  co_await restore();
  if (stopped_) co_return;
  tasks_.spawn(keep_time());
  tasks_.spawn(keep_tidy());
  if (copy_.enabled()) tasks_.spawn(save_when_asked());
  carry_out(cache_.start(now()));
  if (cache_.first_try_over()) co_return;
  first_try_.expires_after(options_.first_wait);
  co_await first_try_.async_wait(asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<void> CacheService::restore() {
  Result<std::vector<KindCopy>> loaded = co_await copy_.load();
  if (stopped_) co_return;
  if (loaded.ok()) {
    carry_out(cache_.restored(*std::move(loaded), now()));
  } else if (!absl::IsNotFound(loaded.status())) {
    load_status_ = loaded.status();
    log::warn("the cache starts without its copy", {{"why", load_status_.ToString()}});
  }
}

asio::awaitable<void> CacheService::stop() {
  if (std::exchange(stopped_, true)) co_return;
  std::vector<KindCopy> last = copies();
  carry_out(cache_.stop());
  reads_.close();
  first_try_.cancel();
  while (starting_) co_await start_over_.async_wait(asio::as_tuple(asio::use_awaitable));
  co_await tasks_.join();
  co_await reads_.join();
  const auto was_loaded = [this](const KindCopy& copy) {
    return cache_.current().of(copy.kind).generation > 0;
  };
  if (std::ranges::any_of(last, was_loaded)) co_await save(std::move(last));
}

void CacheService::carry_out(Actions actions) {
  for (Action& action : actions) {
    std::visit([this](auto& one) { carry_out(one); }, action);
  }
  if (cache_.first_try_over()) first_try_.cancel();
  const std::optional<Time> next = cache_.next_deadline();
  if (next && *next < armed_) deadline_.cancel();
}

void CacheService::carry_out(Subscribe& subscribe) {
  following_.emplace(subscribe.attempt, Following{});
  tasks_.spawn(follow(subscribe.attempt, std::move(subscribe.request)));
}

void CacheService::carry_out(const Unsubscribe& unsubscribe) {
  const auto found = following_.find(unsubscribe.attempt);
  if (found == following_.end()) return;
  found->second.unwanted = true;
  if (found->second.stream != nullptr) found->second.stream->close();
}

void CacheService::carry_out(Fetch& fetch_one) {
  tasks_.spawn(fetch(fetch_one.id, std::move(fetch_one.request)));
}

void CacheService::carry_out(const Wake& wake) {
  derived_.wake(wake.watchers);
  if (on_wake_) on_wake_(wake.watchers);
}

void CacheService::carry_out(const Changed&) {
  update_metrics();
  if (on_change_) on_change_();
}

void CacheService::carry_out(const Save&) {
  unsaved_ = true;
  save_asked_.cancel();
}

asio::awaitable<void> CacheService::follow(uint64_t attempt, v1::WatchRequest request) {
  const bool too_late = co_await is_cancelled();
  if (too_late) co_return;
  Result<std::unique_ptr<EventStream>> opened = co_await upstream_.watch(std::move(request));
  Following& mine = following_.at(attempt);
  Status ended = opened.status();
  if (opened.ok() && !mine.unwanted) mine.stream = opened->get();
  while (ended.ok() && !mine.unwanted) {
    Result<v1::WatchResponse> message = co_await (*opened)->next();
    ended = message.status();
    if (ended.ok()) carry_out(cache_.on_message(attempt, *std::move(message), now()));
  }
  following_.erase(attempt);
  // Nothing if it is no longer wanted: the cache knows its attempts.
  if (!ended.ok()) carry_out(cache_.on_closed(attempt, ended, now()));
}

asio::awaitable<void> CacheService::fetch(uint64_t id, v1::ListRequest request) {
  const bool too_late = co_await is_cancelled();
  if (too_late) co_return;
  Result<v1::ListResponse> page = co_await upstream_.list(std::move(request));
  carry_out(cache_.on_page(id, std::move(page), now()));
}

asio::awaitable<void> CacheService::keep_time() {
  for (;;) {
    const Time at = clock_.now();
    armed_ = std::min(cache_.next_deadline().value_or(Time::max()), at + kLongestWait);
    deadline_.expires_after(std::max(armed_ - at, kShortestWait));
    const bool waited = co_await wait_for(deadline_);
    if (!waited) co_return;
    const std::optional<Time> due = cache_.next_deadline();
    if (due && *due <= clock_.now()) carry_out(cache_.on_tick(now()));
  }
}

asio::awaitable<void> CacheService::keep_tidy() {
  for (;;) {
    const bool all_freed = reads_.reclaim();
    const Duration ttl = std::max<Duration>(options_.reads.memo.ttl, kTidyAtMostEvery);
    const bool slept = co_await net::pause(all_freed ? ttl : kReclaimSoon);
    if (!slept) co_return;
    reads_.tidy_up();
  }
}

asio::awaitable<void> CacheService::save_when_asked() {
  for (;;) {
    while (!unsaved_) {
      const bool waited = co_await wait_for(save_asked_);
      if (!waited) co_return;
    }
    unsaved_ = false;
    co_await save(copies());
    if (save_status_.ok()) continue;
    const bool slept = co_await net::pause(options_.cache.save_every);
    if (!slept) co_return;
    unsaved_ = true;
  }
}

asio::awaitable<void> CacheService::save(std::vector<KindCopy> copies) {
  const Status before = save_status_;
  save_status_ = co_await copy_.save(std::move(copies), clock_.wall_now());
  if (!save_status_.ok() && before.ok()) {
    log::warn("the cache goes on without a copy on disk", {{"why", save_status_.ToString()}});
  }
}

// A kind that is live is whole now, whenever it changed last.
std::vector<KindCopy> CacheService::copies() const {
  std::vector<KindCopy> all = cache_.copies();
  for (KindCopy& copy : all) {
    if (cache_.current().of(copy.kind).source == Source::Cache) copy.as_of = clock_.wall_now();
  }
  return all;
}

asio::awaitable<Result<std::unique_ptr<EventStream>>> CacheService::watch(
    v1::WatchRequest request) {
  if (stopped_) co_return absl::CancelledError("the cache has stopped");
  co_return derived_.open(request);
}

asio::awaitable<Result<v1::ListResponse>> CacheService::list(v1::ListRequest request) {
  CO_TRY(Read<v1::ListResponse> read, co_await reads_.list(std::move(request)));
  co_return std::move(read.value);
}

asio::awaitable<Result<v1::Resource>> CacheService::get(v1::GetRequest request) {
  CO_TRY(Read<v1::Resource> read, co_await reads_.get(std::move(request)));
  co_return std::move(read.value);
}

std::vector<v1::CachedKind> CacheService::describe() const {
  std::vector<v1::CachedKind> rows = cache_.describe();
  if (load_status_.ok()) return rows;
  for (v1::CachedKind& row : rows) {
    if (row.generation() != 0) continue;
    row.set_reason(fmt::format("{}; {}", row.reason(), std::string(load_status_.message())));
  }
  return rows;
}

void CacheService::update_metrics() {
  const ReadStats reads = reads_.stats();
  const CopyStats& copy = copy_.stats();
  metrics_.update(cache_,
                  {.reads_from_table = reads.from_table,
                   .reads_from_last_good = reads.from_last_good,
                   .upstream_reads = reads.from_upstream,
                   .memo_hits = reads.memo.joined + reads.memo.remembered,
                   .memo_dropped = reads.memo.dropped + reads.memo.without_memo,
                   .listings_dropped = reads.listings_dropped,
                   .copy_saves = copy.saves,
                   .copy_failed_saves = copy.failed_saves,
                   .copy_failed_loads = copy.failed_loads},
                  clock_.wall_now());
}

}  // namespace holdfast::cache
