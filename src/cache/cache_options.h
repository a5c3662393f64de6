// What a Cache is told, what it answers, and what it counts: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "cache/published.h"
#include "cache/table.h"
#include "events/fan_out.h"
#include "holdfast/v1/api.pb.h"
#include "resource/kind.h"

namespace holdfast::cache {

// Both hands of the clock: waits are measured by one, people are shown the other.
struct Moment {
  Time time;
  WallTime wall;
};

struct KindPolicy {
  resource::Kind kind;
  bool with_secrets = false;
  // How long reads are answered from a table whose stream is down, or that came from disk. Later
  // they go upstream.
  Duration max_staleness = std::chrono::minutes(1);
  // Whether the last good table answers, however old, when upstream fails too.
  bool fail_static = true;
};

struct CacheOptions {
  std::vector<KindPolicy> kinds;  // at least one, each kind once
  // An authoritative cache must have every kind: it asks for all or nothing.
  bool strict = false;
  Duration init_timeout = std::chrono::seconds(90);
  // The first wait is anything up to a 16th of it; then they double from there.
  Duration max_backoff = std::chrono::seconds(90);
  size_t parallel_fetches = 2;
  uint32_t page_size = 500;
  // Events kept for a kind while it loads. At the limit its fetch starts again, at most
  // `max_restarts` times in a row; then it has failed.
  size_t max_held_events = 16'384;
  int max_restarts = 3;
  size_t max_items = 1'000'000;  // of a kind; beyond it the kind has failed
  Duration save_every = std::chrono::seconds(30);
  uint64_t seed = 1;
  events::FanOutOptions fan_out = {};
  PublishedOptions published = {};
};

// One kind as the copy on disk has it, and as it is worth saving.
struct KindCopy {
  resource::Kind kind;
  bool with_secrets = false;
  int64_t revision = 0;  // it is whole up to here
  int64_t newest = 0;    // and shows nothing later than this; 0: than `revision`
  WallTime as_of{};
  Table items;
};

// Open the stream; its messages and its end come back with `attempt`.
struct Subscribe {
  uint64_t attempt = 0;
  v1::WatchRequest request;
};
// Close the stream. Nothing that it still says matters.
struct Unsubscribe {
  uint64_t attempt = 0;
};
// Ask for one page; the answer comes back with `id`.
struct Fetch {
  uint64_t id = 0;
  resource::Kind kind;
  v1::ListRequest request;
};
// These have something to take() from fan_out().
struct Wake {
  std::vector<events::WatcherId> watchers;
};
// describe() differs in more than counts and revisions.
struct Changed {};
// The tables are worth saving: there is something new, and the last time was `save_every` ago.
struct Save {};

using Action = std::variant<Subscribe, Unsubscribe, Fetch, Wake, Changed, Save>;
using Actions = std::vector<Action>;

struct CacheStats {
  uint64_t subscribes = 0;
  uint64_t inits = 0;    // streams that began well
  uint64_t resumes = 0;  // of these, those that went on where the last one ended
  uint64_t swaps = 0;    // kinds swapped in
  uint64_t publishes = 0;
  uint64_t resets = 0;  // times all derived watchers were closed
  uint64_t pages = 0;   // fetched
  uint64_t fetches_failed = 0;
  uint64_t fetches_restarted = 0;  // too many events came while a kind loaded
  uint64_t events_applied = 0;
  uint64_t events_skipped = 0;  // a page had shown what they say
  uint64_t events_ignored = 0;  // of kinds that are not cached, or with no name
};

}  // namespace holdfast::cache
