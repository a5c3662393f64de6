// What a Cache remembers of one kind, beside the table that readers see.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cache/cache_options.h"
#include "cache/kind_load.h"
#include "cache/retry_delay.h"
#include "cache/snapshot.h"

namespace holdfast::cache {

// Why reads of a kind are not answered by a fresh cache; empty if they are.
struct Explanation {
  std::string code;
  std::string reason;
  friend bool operator==(const Explanation&, const Explanation&) = default;
};

struct KindState {
  KindState(KindPolicy wanted, Duration max_backoff, uint64_t seed)
      : policy(wanted), retry(max_backoff, seed) {}

  // Whether a stream is followed right now.
  bool live() const { return source == Source::Cache; }

  void stop_loading() {
    load.reset();
    fetch = 0;
    retry_at.reset();
  }

  KindPolicy policy;
  Source source = Source::Upstream;
  Explanation why;
  WallTime since{};
  // The table is whole up to the newest revision of the stream, so a stream that goes on from there
  // keeps it so. Survives the stream's end, but not a stream that begins anew.
  bool resumable = false;
  bool confirmed = false;        // by the stream that is open
  bool fanned = false;           // derived watchers may follow it
  std::optional<Time> stale_at;  // when Stale becomes Upstream
  int64_t newest_page = 0;       // revision of the newest page that the table was made from

  std::optional<KindLoad> load;
  uint64_t fetch = 0;     // under way; 0: none
  bool together = false;  // the load is swapped in with the others of its stream
  int restarts = 0;
  std::optional<Time> retry_at;  // after a failed fetch
  RetryDelay retry;
};

}  // namespace holdfast::cache
