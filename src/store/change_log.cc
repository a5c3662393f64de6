#include "store/change_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace holdfast::store {
namespace {

size_t footprint(const Change& change) {
  return sizeof(Change) + change.item.key.size() + change.item.value.size();
}

}  // namespace

void ChangeLog::append(std::vector<Change> changes, const Head& head) {
  HF_CHECK(!changes.empty(), "a revision has changes");
  const Revision revision = changes.front().item.revision;
  HF_CHECK(revision > last_, "revisions grow");
  for (Change& change : changes) {
    HF_CHECK(change.item.revision == revision, "one revision at a time");
    bytes_ += footprint(change);
    changes_.push_back(std::move(change));
  }
  last_ = revision;
  if (head.epoch != 0) heads_.push_back(head);
  while (changes_.size() > options_.max_changes || bytes_ > options_.max_bytes) {
    forget_oldest_revision();
  }
}

Result<ChangeSlice> ChangeLog::read(const KeyRange& range, Revision after,
                                    size_t max_changes) const {
  if (after < floor_) {
    return absl::OutOfRangeError(fmt::format(
        "compacted: changes after revision {} are kept, not those after {}", floor_, after));
  }
  if (after > last_) {
    return absl::OutOfRangeError(
        fmt::format("revision {} is in the future; the store is at {}", after, last_));
  }
  ChangeSlice slice{.changes = {}, .through = last_};
  const auto first = std::upper_bound(
      changes_.begin(), changes_.end(), after,
      [](Revision revision, const Change& change) { return revision < change.item.revision; });
  for (auto it = first; it != changes_.end(); ++it) {
    const bool new_revision = it != first && it->item.revision != std::prev(it)->item.revision;
    if (new_revision && slice.changes.size() >= max_changes) {
      slice.through = std::prev(it)->item.revision;
      break;
    }
    if (range.contains(it->item.key)) slice.changes.push_back(*it);
  }
  return slice;
}

std::vector<Entry> ChangeLog::entries(Revision after, size_t max_bytes) const {
  std::vector<Entry> entries;
  size_t bytes = 0;
  auto change = std::ranges::upper_bound(
      changes_, after, {}, [](const Change& candidate) { return candidate.item.revision; });
  for (Revision revision = after + 1; revision <= last_; ++revision) {
    HF_CHECK(!heads_.empty() && revision >= heads_.front().revision, "entries have a tenure");
    Entry entry{.head = heads_[static_cast<size_t>(revision - heads_.front().revision)],
                .changes = {}};
    for (; change != changes_.end() && change->item.revision == revision; ++change) {
      entry.changes.push_back(*change);
      bytes += footprint(*change);
    }
    if (!entries.empty() && bytes > max_bytes) break;
    entries.push_back(std::move(entry));
  }
  return entries;
}

void ChangeLog::restart(Revision last) {
  changes_.clear();
  heads_.clear();
  bytes_ = 0;
  floor_ = last;
  last_ = last;
}

void ChangeLog::compact(Revision through) {
  while (!changes_.empty() && changes_.front().item.revision <= through) forget_oldest_revision();
  floor_ = std::max(floor_, std::min(through, last_));
}

void ChangeLog::forget_oldest_revision() {
  floor_ = changes_.front().item.revision;
  while (!changes_.empty() && changes_.front().item.revision == floor_) {
    bytes_ -= footprint(changes_.front());
    changes_.pop_front();
  }
  if (!heads_.empty() && heads_.front().revision <= floor_) heads_.pop_front();
}

}  // namespace holdfast::store
