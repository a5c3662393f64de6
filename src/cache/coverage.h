// Which revision the pages of a listing show, name by name. Pages come in order of name, each read
// at a revision of its own; what a page leaves out did not exist then.
//
//   page 1 at 5: a c e        page 2 at 9: k m
//   ───────a──c──e────────────k──m─────►  names
//      5              5         9            between two pages: the older of both, as it is not
//                                            said which of them looked there
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cache {

class Coverage {
 public:
  struct Page {
    std::string first;
    std::string last;
    int64_t revision = 0;
    int64_t gap = 0;  // for names before `first` and after the page before
  };

  // Names without a page of their own, such as after an empty one, count for the oldest revision
  // around them. Requires: names above those of earlier pages.
  void add(std::string_view first, std::string_view last, int64_t revision);
  void add_empty(int64_t revision);

  // What the listing says of `name` is true at this revision; 0 if there is no page at all.
  int64_t at(std::string_view name) const;
  // Events after this are news for every name.
  int64_t newest() const { return newest_; }

 private:
  std::vector<Page> pages_;
  int64_t tail_ = 0;  // for names after the last page
  int64_t newest_ = 0;
  bool any_ = false;
};

}  // namespace holdfast::cache
