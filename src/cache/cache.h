// A mirror of some kinds of resources that is healthy kind by kind, and a source of events for
// others. It computes; CacheService owns the stream, the fetches, the timer and the disk.
//
//   Waiting ──► Opening ──Init──► Live ──► pages ──► swap ──► readable, fan-out init
//      ▲           │ no Init,       │ closed: kinds stale at once, upstream after their bound
//      └─ backoff ─┴── closed ◄─────┘
//
// A new stream resumes after the newest revision seen: what it confirms again needs no fetch, and
// derived watchers notice nothing. If that is no longer possible, everything is fetched anew beside
// the old tables, which stay readable and stale until the swap.
//
// No name goes back in time: a page counts for the revision at which it was read, an event that
// such a page has shown already is skipped, and a page older than what the cache has seen is
// refused.
//
// Inputs that carry the number of an earlier stream or fetch are ignored.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "cache/cache_options.h"
#include "cache/kind_state.h"
#include "cache/published.h"
#include "cache/retry_delay.h"
#include "cache/snapshot.h"
#include "events/fan_out.h"

namespace holdfast::cache {

// What a cache asks for, to have what `policy` says.
events::WatchKind watch_kind(const KindPolicy& policy);

// Belongs to one loop; views of published() (snapshot.h) are for every thread.
class Cache {
 public:
  explicit Cache(CacheOptions options);

  // Tables from disk are readable, stale, of generation 0. Copies of kinds that are not configured,
  // or saved with other secrets than are wanted now, are dropped. Requires: before start().
  Actions restored(std::vector<KindCopy> copies, Moment now);
  Actions start(Moment now);
  // Closes the stream and every derived watcher. Tables stay as they are.
  Actions stop();

  Actions on_message(uint64_t attempt, v1::WatchResponse message, Moment now);
  Actions on_closed(uint64_t attempt, const Status& why, Moment now);
  Actions on_page(uint64_t fetch, Result<v1::ListResponse> page, Moment now);
  // Call it at next_deadline(), which may change with every call of anything here or of fan_out().
  Actions on_tick(Moment now);
  std::optional<Time> next_deadline() const;

  // The first generation is readable, or the first try has failed.
  bool first_try_over() const { return first_try_over_; }
  Published<Snapshot>& published() { return published_; }
  const Snapshot& current() const { return published_.current(); }
  // For derived watchers: add(), take() and remove() are the service's to call.
  events::FanOut& fan_out() { return fan_out_; }
  // Null if the kind is not configured.
  const KindPolicy* policy(resource::Kind kind) const;
  // One row per configured kind, in the order of Kind.
  std::vector<v1::CachedKind> describe() const;
  // What is worth saving: every kind that has a table.
  std::vector<KindCopy> copies() const;
  const CacheStats& stats() const { return stats_; }

 private:
  enum class Phase : uint8_t { Stopped, Waiting, Opening, Live };

  // The stream.
  void subscribe(Moment now);
  v1::WatchRequest watch_request() const;
  void fail_stream(const Status& why, Moment now);
  void stream_ended(const Status& why, Moment now);
  bool may_hurry(const Status& why);
  Status on_init(const v1::Event& init, Moment now);
  void begin(Moment now);

  // Events.
  Status on_events(v1::WatchResponse& message, int from, Moment now);
  Result<int64_t> check_order(const v1::WatchResponse& message, int from) const;
  void on_event(v1::Event& event, std::vector<events::Event>& seen, Moment now);
  void apply(KindState& kind, const Change& change, std::vector<events::Event>& seen, Moment now);

  // Fetches.
  void load(KindState& kind, bool together, Moment now);
  void fetch_more();
  void page_arrived(KindState& kind, Result<v1::ListResponse> page, Moment now);
  void fetch_failed(KindState& kind, const Status& why, Moment now);
  bool swap_in(Moment now);
  void note_whole(Moment now);
  void swap_one(KindState& kind, Moment now);
  void retry_fetches(Moment now);

  // What everyone else sees.
  void set_source(KindState& kind, Source source, Explanation why, Moment now);
  void drop(KindState& kind, Moment now);
  void expire(Moment now);
  bool settle_fan_out(Moment now);
  void reset_fan_out(const Status& why);
  void wake(std::vector<events::WatcherId> watchers);
  void publish(Moment now);
  void reclaim(Moment now);
  Actions finish(Moment now);

  KindState* find(std::string_view kind_name);
  KindView& view(const KindState& kind) { return next_.of(kind.policy.kind); }

  const CacheOptions options_;
  std::vector<KindState> kinds_;  // in the order of Kind
  Snapshot next_;                 // what publish() will show
  Published<Snapshot> published_;
  events::FanOut fan_out_;

  Phase phase_ = Phase::Stopped;
  uint64_t attempt_ = 0;
  int64_t asked_after_ = 0;  // of the stream that is open
  int64_t newest_ = 0;       // revision up to which the stream has told everything
  Time deadline_{};          // Waiting: of the next try; Opening: of Init
  // When the stream that is open had brought everything it could; absent while kinds load, or none
  // has.
  std::optional<Time> whole_since_;
  int rushed_ = 0;  // tries without a wait since a stream was whole for a while
  RetryDelay retry_;

  uint64_t generation_ = 0;
  uint64_t last_fetch_ = 0;
  bool first_try_over_ = false;
  bool unpublished_ = false;  // next_ differs from what is published
  bool changed_ = false;
  bool unsaved_ = false;
  std::optional<Time> saved_;
  std::optional<Time> reclaim_at_;  // of tables that are no longer read
  Actions actions_;
  std::vector<events::WatcherId> woken_;
  CacheStats stats_;
};

}  // namespace holdfast::cache
