// One kind being fetched: pages go into a table beside the one that is read, and events that come
// meanwhile are kept for the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cache/coverage.h"
#include "cache/table.h"
#include "holdfast/v1/api.pb.h"
#include "resource/kind.h"

namespace holdfast::cache {

// A put or a delete of one name.
struct Change {
  std::string name;
  int64_t revision = 0;
  Shared put;  // null: deleted
};

// False, and nothing is done, if a page has shown what the change says already.
// `pages` is null once none of them can be ahead of a change.
bool apply_change(Table& table, const Coverage* pages, const Change& change);

struct Items {
  Table table;
  Coverage coverage;
};

struct LoadLimits {
  size_t max_items = 0;
  size_t max_held_events = 0;
  // Pages read before it are refused: events up to here have not been kept.
  int64_t not_before = 0;
};

class KindLoad {
 public:
  KindLoad(resource::Kind kind, LoadLimits limits) : kind_(kind), limits_(limits) {}

  // Fails if the page cannot be trusted; the load is then of no use.
  Status add_page(v1::ListResponse page);
  // A singleton that does not exist: the whole listing is empty.
  void add_nothing();
  // False if there is no room to keep it; the load is then of no use.
  bool hold(Change change);

  bool done() const { return done_; }
  const std::string& next_page_token() const { return next_page_token_; }
  // Requires: done().
  Items take();
  // Of the changes kept: how many a page had shown, and how many were news.
  size_t skipped() const { return skipped_; }
  size_t applied() const { return applied_; }

 private:
  Status add_items(v1::ListResponse& page);
  // `first`: the page's first name; empty if it has none.
  Status add_coverage(const v1::ListResponse& page, const std::string& first, int64_t revision);
  void apply(const Change& change);
  void finish();

  resource::Kind kind_;
  LoadLimits limits_;
  Items items_;
  std::vector<Change> held_;
  std::string next_page_token_;
  std::string last_name_;
  size_t empty_pages_ = 0;
  size_t skipped_ = 0;
  size_t applied_ = 0;
  bool done_ = false;
};

}  // namespace holdfast::cache
