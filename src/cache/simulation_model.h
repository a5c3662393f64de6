// What the simulation of caches takes for the truth: a controller with revisions, a history that is
// kept for a while, pages read at different revisions, and kinds that come and go. And the checks
// that compare others with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/cache_fixture.h"

namespace holdfast::cache {

// What a server says of itself; new ones say everything.
enum class Age : uint8_t { New, NoUpTo, NoStatus, BareInit };

// Three seeds in ten have a server that is older, each in its own way.
inline Age age_of(uint64_t seed) {
  switch (seed % 10) {
    case 7:
      return Age::NoUpTo;
    case 8:
      return Age::NoStatus;
    case 9:
      return Age::BareInit;
    default:
      return Age::New;
  }
}

using Key = std::pair<Kind, std::string>;

struct LogEntry {
  int64_t revision = 0;
  Key key;
  bool put = false;
};

class Model {
 public:
  explicit Model(Age age) : age(age) {}

  void write(const std::vector<std::pair<Key, bool>>& changes) {
    latest += 1;
    for (const auto& [key, put] : changes) {
      const bool there = exists(key, latest);
      if (!there && !put) continue;
      log.push_back({latest, key, put});
      history_[key].emplace_back(latest, put);
    }
  }

  v1::Event event(const LogEntry& entry) const {
    const auto& [kind, name] = entry.key;
    return entry.put ? put_event(kind, name, entry.revision)
                     : delete_event(kind, name, entry.revision);
  }
  size_t first_after(int64_t revision) const {
    return static_cast<size_t>(std::ranges::upper_bound(log, revision, {}, &LogEntry::revision) -
                               log.begin());
  }

  // As it was at revision `at`. The token is the last name the page before told of.
  Result<v1::ListResponse> list(const v1::ListRequest& request, int64_t at) const {
    const std::optional<Kind> kind = resource::kind_named(request.kind());
    if (!kind || !offered.contains(*kind)) return absl::UnimplementedError("no such kind");
    NameRevisions items;
    PageShape shape{.revision = at};
    for (const auto& [name, revision] : state(*kind, at)) {
      if (name <= request.page_token()) continue;
      if (items.size() == request.page_size()) {
        shape.next = items.rbegin()->first;
        break;
      }
      items.emplace(name, revision);
    }
    v1::ListResponse page = page_of(*kind, items, shape);
    if (age == Age::New) page.set_up_to(shape.next);
    if (age != Age::New && age != Age::NoUpTo) page.set_page_revision(0);
    return page;
  }

  NameRevisions state(Kind kind, int64_t at) const {
    NameRevisions found;
    for (const auto& [key, versions] : history_) {
      if (key.first != kind) continue;
      if (const int64_t revision = version(key, at)) found.emplace(key.second, revision);
    }
    return found;
  }

  // The revision of what `key` was at revision `at`; 0 if it did not exist.
  int64_t version(const Key& key, int64_t at) const {
    const auto found = history_.find(key);
    if (found == history_.end()) return 0;
    int64_t revision = 0;
    for (const auto& [changed, put] : found->second) {
      if (changed <= at) revision = put ? changed : 0;
    }
    return revision;
  }
  bool exists(const Key& key, int64_t at) const { return version(key, at) != 0; }

  // The first revision from `low` on at which `key` was `shown` (0: not there).
  std::optional<int64_t> when(const Key& key, int64_t shown, int64_t low) const {
    if (version(key, low) == shown) return low;
    const auto found = history_.find(key);
    if (found == history_.end()) return std::nullopt;
    for (const auto& [changed, put] : found->second) {
      if (changed > low && (put ? changed : 0) == shown) return changed;
    }
    return std::nullopt;
  }

  Age age;
  int64_t latest = 1;
  int64_t floor = 0;  // changes up to here are forgotten
  std::set<Kind> offered;
  std::vector<LogEntry> log;

 private:
  std::map<Key, std::vector<std::pair<int64_t, bool>>> history_;
};

// Follows one stream: every change of its kinds after Init, once, in order, whole revisions.
class StreamCheck {
 public:
  explicit StreamCheck(const Model& model) : model_(&model) {}

  void check(const v1::WatchResponse& message) {
    for (const v1::Event& event : message.events()) {
      if (event.type() == v1::EVENT_TYPE_INIT) {
        begin(event);
      } else {
        follow(event);
      }
    }
    const size_t next = skip(at_);
    if (!synced_ || next == model_->log.size()) return;
    EXPECT_GT(model_->log[next].revision, seen_) << "a revision was split";
  }

  int64_t seen() const { return seen_; }
  bool begun() const { return begun_; }
  // Whether everything has been seen.
  bool caught_up() const { return !synced_ || skip(at_) == model_->log.size(); }

 private:
  void begin(const v1::Event& init) {
    EXPECT_FALSE(begun_) << "Init came twice";
    begun_ = true;
    for (const v1::WatchKind& kind : init.status().kinds()) {
      kinds_.insert(*resource::kind_named(kind.kind()));
    }
    seen_ = init.revision();
    at_ = model_->first_after(seen_);
    synced_ = seen_ != 0;  // a server that names no revision begins with its first event
  }

  void follow(const v1::Event& event) {
    ASSERT_TRUE(begun_) << "an event before Init";
    if (!synced_) at_ = model_->first_after(event.revision() - 1);
    synced_ = true;
    at_ = skip(at_);
    ASSERT_LT(at_, model_->log.size()) << "an event that never was";
    const LogEntry& due = model_->log[at_];
    ASSERT_EQ(event.revision(), due.revision) << "a gap or a duplicate";
    ASSERT_EQ(event.resource().metadata().name(), due.key.second);
    ASSERT_EQ(event.type() == v1::EVENT_TYPE_PUT, due.put);
    seen_ = event.revision();
    at_ += 1;
  }

  size_t skip(size_t from) const {
    while (from < model_->log.size() && !kinds_.contains(model_->log[from].key.first)) from += 1;
    return from;
  }

  const Model* model_;
  std::set<Kind> kinds_;
  size_t at_ = 0;
  int64_t seen_ = 0;
  bool begun_ = false;
  bool synced_ = false;
};

// What one cache, in one life, has shown of each name. Its states, in the order in which they were
// shown, are states the model went through, in the model's order; and none is older than the
// revision up to which the cache says that the table is whole, or that the name's page was read.
// Past its bound a table may be replaced by an older one.
class TableCheck {
 public:
  TableCheck(const Model& model, Duration bound, Time now)
      : model_(model), bound_(bound), born_(now) {}

  void check(Kind kind, const KindView& view, const std::vector<std::string>& names, Time now) {
    const bool old = is_past_bound(kind, view, now);
    const bool none = view.as_of == WallTime{};  // no table, not even for when upstream fails
    for (const std::string& name : names) {
      if (old || none) low_.erase({kind, name});
      if (none) continue;
      const v1::Resource* found = view.items.find(name);
      const int64_t shown = found == nullptr ? 0 : found->metadata().revision();
      int64_t& low = low_[{kind, name}];
      const int64_t paged = view.ahead ? view.ahead->at(name) : 0;
      const std::optional<int64_t> when =
          model_.when({kind, name}, shown, std::max({low, view.revision, paged}));
      ASSERT_TRUE(when.has_value())
          << kind_name(kind) << " " << name << " is shown at " << shown << ", whole up to "
          << view.revision << ", was known at " << low;
      // What old servers leave out of a page may have been deleted any time after.
      if (model_.age == Age::New || shown != 0) low = *when;
    }
  }

 private:
  struct Fresh {
    Time until{};  // live, or from disk
    bool live = false;
  };
  bool is_past_bound(Kind kind, const KindView& view, Time now) {
    Fresh& fresh = fresh_.try_emplace(kind, Fresh{.until = born_}).first->second;
    if (fresh.live) fresh.until = now;
    fresh.live = view.source == Source::Cache;
    return now - fresh.until >= bound_;
  }

  const Model& model_;
  Duration bound_;
  Time born_;
  std::map<Key, int64_t> low_;
  std::map<Kind, Fresh> fresh_;
};

}  // namespace holdfast::cache
