// One stream of events to many watchers: a shared ring, a cursor per watcher, no queue anywhere.
//
//      front                     capacity back from the end        end
//        │ overflow: kept while a cursor needs it, │ always kept     │
//        │ and at most `grace` long                │                 │
//        ▲ slow watcher                        ▲ watcher        ▲▲▲▲▲▲ caught up
//
// Watchers with the same request share a View: an event is matched once per view, and the message
// that carries it is built once for all watchers at the same position. A watcher that falls behind
// for longer than the grace period is closed with the reason; it never slows the others and never
// sees a gap.
//
// Before init() the source is not ready: watchers wait, checked against the configured kinds only;
// at init() each is checked again.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "events/event.h"
#include "events/watch_request.h"

namespace holdfast::events {

struct FanOutOptions {
  size_t capacity = 8'192;       // events always kept, for watchers that resume
  size_t max_bytes = 128 << 20;  // of all events kept; above it the slowest are closed at once
  Duration grace = std::chrono::seconds(59);
  size_t max_watchers = 20'000;          // further ones are refused with kResourceExhausted
  size_t max_message_bytes = 256 << 10;  // a message ends with the revision that passes this
};

struct FanOutStats {
  uint64_t events = 0;
  uint64_t messages_built = 0;  // encodings of a batch
  uint64_t messages_taken = 0;  // deliveries of one
  uint64_t evicted = 0;         // watchers closed for being slow
  uint64_t refused = 0;         // watchers refused at max_watchers
};

using WatcherId = uint64_t;

// A WatchResponse ready for the wire, shared by every watcher that is due the same.
struct Message {
  std::string bytes;
  size_t events = 0;
  int64_t last_revision = 0;
};

struct Nothing {};  // wait until woken
struct Closed {
  Status why;
};
using Taken = std::variant<std::shared_ptr<const Message>, Nothing, Closed>;

class FanOut {
 public:
  // `configured`: all that the source could ever confirm.
  FanOut(FanOutOptions options, std::vector<WatchKind> configured)
      : options_(options), configured_(std::move(configured)) {}

  // The source shows `confirmed` and every change after `revision`; it is at `latest` already, so
  // the changes up to there are still to come, for those who resume. Returns who to wake.
  std::vector<WatcherId> init(std::vector<WatchKind> confirmed, int64_t revision, int64_t latest);
  // Closes every watcher with `why`; the source must init() again. Returns who to wake.
  std::vector<WatcherId> reset(Status why);

  // Fails as narrow() does; kOutOfRange if changes after `after_revision` are no longer kept, or it
  // is above latest().
  Result<WatcherId> add(const WatchRequest& request);
  void remove(WatcherId id);

  // Events in order of revision, whole revisions. Returns who to wake. Requires: after init().
  std::vector<WatcherId> append(std::vector<Event> events, Time now);

  // What is next for a watcher. After Closed the watcher is gone.
  Taken take(WatcherId id);

  // When a slow watcher's grace may end.
  std::optional<Time> next_deadline() const;
  // Returns who to wake, each of them closed.
  std::vector<WatcherId> on_tick(Time now);

  const FanOutStats& stats() const { return stats_; }
  // The source was seen at this revision, though its events up to there may still be under way, or
  // may concern nobody.
  void note_latest(int64_t revision) { latest_ = std::max(latest_, revision); }
  int64_t latest() const { return latest_; }
  // Watchers cannot resume from before this revision: events up to there may be missing.
  void forget_up_to(int64_t revision) { floor_ = std::max(floor_, revision); }
  size_t watcher_count() const { return watchers_.size(); }
  size_t event_count() const { return ring_.size(); }
  size_t bytes() const { return bytes_; }
  bool initialised() const { return initialised_; }

 private:
  struct Entry {
    Event event;
    Time appended;
    size_t cursors = 0;  // watchers whose next event is this one
  };
  struct Built {
    uint64_t from = 0;
    uint64_t to = 0;
    std::shared_ptr<const Message> message;  // null: nothing in between for this view
  };
  struct View {
    std::vector<WatchKind> kinds;
    std::vector<WatcherId> idle;  // caught up and waiting
    size_t watchers = 0;
    std::deque<Built> built;
  };
  struct Watcher {
    WatchRequest request;
    View* view = nullptr;  // null until initialised
    uint64_t cursor = 0;   // position of its next event; none while idle
    int64_t after = 0;     // events up to this revision are not for it
    bool init_sent = false;
    bool idle = false;  // caught up, and nothing since concerned it
    std::optional<Status> closed;
  };

  uint64_t end() const { return first_ + ring_.size(); }
  size_t& cursors_at(uint64_t position);
  void wake_idle(View& view, std::vector<WatcherId>& woken);
  Status start(Watcher& watcher);
  View& view_for(std::vector<WatchKind> kinds);
  void leave_view(Watcher& watcher, WatcherId id);
  Built build(const View& view, uint64_t from) const;
  std::shared_ptr<const Message> init_message(const Watcher& watcher) const;
  void skip_what_is_older(Watcher& watcher);
  void trim(std::optional<Time> now, std::vector<WatcherId>& woken);
  void drop_front(std::vector<WatcherId>& woken);
  bool front_is_due(std::optional<Time> now) const;

  FanOutOptions options_;
  std::vector<WatchKind> configured_;
  std::vector<WatchKind> confirmed_;
  bool initialised_ = false;
  std::deque<Entry> ring_;
  uint64_t first_ = 0;  // position of ring_.front()
  size_t cursors_at_end_ = 0;
  size_t bytes_ = 0;
  int64_t floor_ = 0;          // revisions up to here are forgotten
  int64_t last_revision_ = 0;  // of the newest event
  int64_t latest_ = 0;         // of the source; at least last_revision_
  std::unordered_map<WatcherId, Watcher> watchers_;
  WatcherId next_id_ = 1;
  std::vector<std::unique_ptr<View>> views_;
  FanOutStats stats_;
};

}  // namespace holdfast::events
