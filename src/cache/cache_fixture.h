// What the tests of the cache share: a server's words, and a rig that feeds a Cache by hand.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cache/cache.h"
#include "resource/registry.h"

namespace holdfast::cache {

using resource::Kind;
using NameRevisions = std::map<std::string, int64_t>;

inline std::string kind_name(Kind kind) {
  return std::string(resource::info(kind).name);
}

inline v1::Resource item(Kind kind, const std::string& name, int64_t revision) {
  v1::Resource made = resource::make_resource(kind, name);
  made.mutable_metadata()->set_revision(revision);
  return made;
}

inline v1::Event init_event(const std::vector<Kind>& confirmed, int64_t revision,
                            bool with_secrets = false) {
  v1::Event event;
  event.set_type(v1::EVENT_TYPE_INIT);
  event.set_revision(revision);
  event.mutable_status();
  for (const Kind kind : confirmed) {
    v1::WatchKind& row = *event.mutable_status()->add_kinds();
    row.set_kind(kind_name(kind));
    row.set_with_secrets(with_secrets);
  }
  return event;
}

inline v1::Event put_event(Kind kind, const std::string& name, int64_t revision) {
  v1::Event event;
  event.set_type(v1::EVENT_TYPE_PUT);
  event.set_revision(revision);
  *event.mutable_resource() = item(kind, name, revision);
  return event;
}

inline v1::Event delete_event(Kind kind, const std::string& name, int64_t revision) {
  v1::Event event;
  event.set_type(v1::EVENT_TYPE_DELETE);
  event.set_revision(revision);
  event.mutable_resource()->set_kind(kind_name(kind));
  event.mutable_resource()->mutable_metadata()->set_name(name);
  return event;
}

inline v1::WatchResponse message(const std::vector<v1::Event>& events) {
  v1::WatchResponse response;
  for (const v1::Event& event : events) *response.add_events() = event;
  return response;
}

struct PageShape {
  int64_t revision = 0;
  std::string next = {};
};

inline v1::ListResponse page_of(Kind kind, const NameRevisions& items, const PageShape& shape) {
  v1::ListResponse response;
  for (const auto& [name, revision] : items) *response.add_resources() = item(kind, name, revision);
  response.set_next_page_token(shape.next);
  response.set_revision(shape.revision);
  response.set_page_revision(shape.revision);
  return response;
}

inline NameRevisions contents(const Table& table) {
  NameRevisions found;
  table.for_each([&](const Shared& one) {
    found.emplace(one->metadata().name(), one->metadata().revision());
    return true;
  });
  return found;
}

class CacheRig {
 public:
  explicit CacheRig(CacheOptions options) : cache(std::move(options)) {}

  Moment now() const { return {clock.now(), clock.wall_now()}; }
  void start() { take(cache.start(now())); }
  void send(const std::vector<v1::Event>& events) {
    take(cache.on_message(attempt, message(events), now()));
  }
  void close(const Status& why) { take(cache.on_closed(attempt, why, now())); }

  // Answers the fetch of `kind` that is under way.
  void answer(Kind kind, Result<v1::ListResponse> page) {
    const auto found = std::ranges::find(fetches, kind, &Fetch::kind);
    if (found == fetches.end()) {
      unexpected += 1;
      return;
    }
    const uint64_t id = found->id;
    fetches.erase(found);
    take(cache.on_page(id, std::move(page), now()));
  }
  void answer(Kind kind, const NameRevisions& items, const PageShape& shape) {
    answer(kind, page_of(kind, items, shape));
  }

  // Lets time pass, ticking whenever the cache wants to.
  void advance(Duration by) {
    const Time end = clock.now() + by;
    for (int ticks = 0; ticks < 10'000; ++ticks) {
      const std::optional<Time> deadline = cache.next_deadline();
      if (!deadline || *deadline > end) break;
      clock.advance(std::max(Duration::zero(), *deadline - clock.now()));
      take(cache.on_tick(now()));
    }
    clock.advance(end - clock.now());
  }

  void take(Actions actions) {
    for (Action& action : actions) {
      if (auto* subscribe = std::get_if<Subscribe>(&action)) {
        attempt = subscribe->attempt;
        request = subscribe->request;
        subscribes += 1;
        fetches.clear();
      } else if (auto* fetch = std::get_if<Fetch>(&action)) {
        std::erase_if(fetches, [&](const Fetch& old) { return old.kind == fetch->kind; });
        fetches.push_back(*fetch);
      } else if (auto* wake = std::get_if<Wake>(&action)) {
        woken.insert(woken.end(), wake->watchers.begin(), wake->watchers.end());
      } else if (std::holds_alternative<Unsubscribe>(action)) {
        unsubscribes += 1;
      } else if (std::holds_alternative<Changed>(action)) {
        changes += 1;
      } else {
        saves += 1;
      }
    }
  }

  const KindView& view(Kind kind) const { return cache.current().of(kind); }
  Source source(Kind kind) const { return view(kind).source; }
  NameRevisions shown(Kind kind) const { return contents(view(kind).items); }
  v1::CachedKind row(Kind kind) const {
    for (const v1::CachedKind& row : cache.describe()) {
      if (row.kind() == kind_name(kind)) return row;
    }
    return {};
  }

  ManualClock clock;
  Cache cache;
  uint64_t attempt = 0;
  v1::WatchRequest request;
  std::deque<Fetch> fetches;
  std::vector<events::WatcherId> woken;
  int subscribes = 0;
  int unsubscribes = 0;
  int changes = 0;
  int saves = 0;
  int unexpected = 0;  // answers to fetches nobody asked for
};

}  // namespace holdfast::cache
