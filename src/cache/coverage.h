// Which revision the pages of a listing show, name by name. Pages come in order of name, each read
// at a revision of its own; what a page leaves out did not exist then.
//
//   page 1 at 5: a c, up to e        page 2 at 9: k m
//   ─────────a──c──e│──────────k──m──────────►  names
//        5          │           9
//
// A page that does not say up to where it looked counts up to its last name. Between that and the
// first name of the next one the older of both counts, as either may have looked there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cache {

class Coverage {
 public:
  struct Range {
    int64_t revision = 0;
    std::string up_to;  // with this name; empty: all that follow
  };

  // The next page, read at `revision`: all names after the page before, if it said up to where it
  // looked, else from its own `first` name. Requires: `last` above that of the page before.
  void add(std::string_view first, std::string_view last, int64_t revision, bool exact);
  // A page with no names that does not say where it looked.
  void add_empty(int64_t revision);
  // The last page tells of everything that follows.
  void add_last(std::string_view first, int64_t revision);

  // What the listing says of `name` is true at this revision; 0 if there is no page at all.
  int64_t at(std::string_view name) const;
  // Of the names after `after`: up to where they share a revision, and which.
  Range range_after(std::string_view after) const;
  // Events after this are news for every name.
  int64_t newest() const { return newest_; }

 private:
  // Closes what is between the page before and `first`.
  void fill_gap(std::string_view first, int64_t revision);

  std::vector<Range> ranges_;  // each begins after the one before; the last has an empty `up_to`
  int64_t unsure_ = 0;         // the oldest revision that may count after ranges_.back()
  bool exact_ = true;          // it was said up to where ranges_.back() goes
  int64_t newest_ = 0;
};

}  // namespace holdfast::cache
