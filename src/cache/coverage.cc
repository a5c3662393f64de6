#include "cache/coverage.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::cache {

void Coverage::fill_gap(std::string_view first, int64_t revision) {
  newest_ = std::max(newest_, revision);
  if (exact_) return;
  HF_CHECK(!first.empty(), "a page that says nothing is added by add_empty()");
  // Everything below `first`: its last byte lowered, then as high as a name gets.
  std::string before(first);
  before.back() = static_cast<char>(static_cast<unsigned char>(before.back()) - 1);
  before.push_back('\xff');
  ranges_.push_back({.revision = std::min(unsure_, revision), .up_to = std::move(before)});
}

void Coverage::add(std::string_view first, std::string_view last, int64_t revision, bool exact) {
  fill_gap(first, revision);
  ranges_.push_back({.revision = revision, .up_to = std::string(last)});
  unsure_ = revision;
  exact_ = exact;
}

void Coverage::add_empty(int64_t revision) {
  newest_ = std::max(newest_, revision);
  unsure_ = exact_ ? revision : std::min(unsure_, revision);
  exact_ = false;
}

void Coverage::add_last(std::string_view first, int64_t revision) {
  if (first.empty()) {
    if (!exact_) revision = std::min(unsure_, revision);
    newest_ = std::max(newest_, revision);
  } else {
    fill_gap(first, revision);
  }
  ranges_.push_back({.revision = revision, .up_to = {}});
}

Coverage::Range Coverage::range_after(std::string_view after) const {
  const auto range = std::ranges::find_if(
      ranges_, [&](const Range& one) { return one.up_to.empty() || one.up_to > after; });
  return range == ranges_.end() ? Range{} : *range;
}

int64_t Coverage::at(std::string_view name) const {
  const auto range = std::ranges::partition_point(
      ranges_, [&](const Range& one) { return !one.up_to.empty() && one.up_to < name; });
  return range == ranges_.end() ? 0 : range->revision;
}

}  // namespace holdfast::cache
