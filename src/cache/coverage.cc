#include "cache/coverage.h"

#include <algorithm>

namespace holdfast::cache {

void Coverage::add(std::string_view first, std::string_view last, int64_t revision) {
  const int64_t gap = any_ ? std::min(tail_, revision) : revision;
  pages_.push_back({std::string(first), std::string(last), revision, gap});
  tail_ = revision;
  newest_ = std::max(newest_, revision);
  any_ = true;
}

void Coverage::add_empty(int64_t revision) {
  tail_ = any_ ? std::min(tail_, revision) : revision;
  newest_ = std::max(newest_, revision);
  any_ = true;
}

int64_t Coverage::at(std::string_view name) const {
  const auto page = std::ranges::lower_bound(
      pages_, name, {}, [](const Page& one) -> std::string_view { return one.last; });
  if (page == pages_.end()) return tail_;
  return name < page->first ? page->gap : page->revision;
}

}  // namespace holdfast::cache
