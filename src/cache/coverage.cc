#include "cache/coverage.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::cache {
namespace {

// The highest text below `first`: names are ASCII without '\x7f' (resource/text_rules.h), so none
// is between them. A bound travels in pages and tokens, which must be UTF-8.
std::string below(std::string_view first) {
  const auto foreign = std::ranges::find_if(
      first, [](char letter) { return static_cast<unsigned char>(letter) >= 0x7f; });
  std::string before(first.begin(), foreign);
  if (foreign == first.end()) {
    const char last = before.back();
    before.pop_back();
    if (last == '\0') return before;
    before.push_back(static_cast<char>(last - 1));
  }
  before.push_back('\x7f');
  return before;
}

}  // namespace

void Coverage::fill_gap(std::string_view first, int64_t revision) {
  newest_ = std::max(newest_, revision);
  if (exact_) return;
  HF_CHECK(!first.empty(), "a page that says nothing is added by add_empty()");
  std::string before = below(first);
  if (!ranges_.empty() && before <= ranges_.back().up_to) return;  // there is nothing between
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
