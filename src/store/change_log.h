// The recent history of a store in memory: what watchers read. Bounded by count and by bytes; when
// full, the oldest revisions go first, and a watcher that still needed them is told so.
//
//      floor                              last
//        │  41  42  42  43  44  45  46  47  │
//        └──── kept: (floor, last] ─────────┘
#pragma once

#include <deque>
#include <vector>

#include "store/replica.h"

namespace holdfast::store {

// How many changes a watcher is handed at once.
inline constexpr size_t kChangesAtOnce = 512;

struct ChangeLogOptions {
  size_t max_changes = 16'384;
  size_t max_bytes = 64 << 20;
};

// Changes read from a history, and how far the reader has come by reading them.
struct ChangeSlice {
  std::vector<Change> changes;
  Revision through = 0;
};

class ChangeLog {
 public:
  // The store is at `last`; changes up to and including `floor` are forgotten, and there are none
  // between the two.
  ChangeLog(ChangeLogOptions options, Revision floor, Revision last)
      : options_(options), floor_(floor), last_(last) {}

  // The changes of the next revision. Requires: not empty, one revision, above last().
  void append(std::vector<Change> changes, const Head& head = {});

  // Up to about `max_changes` changes of `range` after `after`, ending at a whole revision. Empty
  // with `through` == last() if there are none. kOutOfRange if `after` is below floor() or above
  // last().
  Result<ChangeSlice> read(const KeyRange& range, Revision after, size_t max_changes) const;

  // As Replica::entries. Requires: `after` in [floor(), last()], and a tenure since then.
  std::vector<Entry> entries(Revision after, size_t max_bytes) const;

  void compact(Revision through);
  // Another history took its place; it is at `last` and keeps nothing.
  void restart(Revision last);

  Revision floor() const { return floor_; }
  Revision last() const { return last_; }
  size_t size() const { return changes_.size(); }

 private:
  void forget_oldest_revision();

  ChangeLogOptions options_;
  Revision floor_;
  Revision last_;
  size_t bytes_ = 0;
  std::deque<Change> changes_;
  std::deque<Head> heads_;  // of the revisions that belong to a tenure, without a gap
};

}  // namespace holdfast::store
