#include "track/model_ids.h"

namespace holdfast::track {

std::optional<uint16_t> ServiceIds::give() {
  if (taken_.size() + 1 >= size_) return std::nullopt;
  for (;;) {
    if (next_ >= size_) next_ = 1;
    const auto id = static_cast<uint16_t>(next_++);
    if (taken_.insert(id).second) return id;
  }
}

void ServiceIds::next_round() {
  for (const uint16_t id : resting_) taken_.erase(id);
  resting_.clear();
}

void BackendIds::take(const Who& who, uint32_t id) {
  ids_[who] = id;
  taken_.insert(id);
}

void BackendIds::next_round() {
  for (const uint32_t id : resting_) taken_.erase(id);
  resting_.clear();
}

std::optional<BackendIds::Given> BackendIds::give(const Who& who) {
  if (const auto known = ids_.find(who); known != ids_.end()) {
    return Given{.id = known->second, .generation = generations_[known->second]};
  }
  if (taken_.size() + 1 >= size_) return std::nullopt;
  for (;;) {
    if (next_ >= size_) next_ = 1;
    const uint32_t id = next_++;
    if (!taken_.insert(id).second) continue;
    ids_[who] = id;
    generations_[id] = (generations_[id] | 1) + 1;
    return Given{.id = id, .is_new = true, .generation = generations_[id]};
  }
}

std::optional<BackendIds::Given> BackendIds::give_back(const Who& who) {
  const auto known = ids_.find(who);
  if (known == ids_.end()) return std::nullopt;
  const uint32_t id = known->second;
  ids_.erase(known);
  resting_.push_back(id);
  return Given{.id = id, .generation = generations_[id] |= 1};
}

void SlotRanges::take(uint32_t first, uint32_t count) {
  auto around = free_.upper_bound(first);
  if (around == free_.begin() || count == 0) return;
  --around;
  const auto [start, length] = *around;
  if (first + count > start + length) return;  // taken already, as by a torn map
  free_.erase(around);
  if (first > start) free_[start] = first - start;
  if (first + count < start + length) free_[first + count] = start + length - first - count;
}

std::optional<uint32_t> SlotRanges::give(uint32_t count) {
  for (const auto& [start, length] : free_) {
    if (length < count) continue;
    const uint32_t first = start;
    take(first, count);
    return first;
  }
  return std::nullopt;
}

void SlotRanges::next_round() {
  for (const auto& [first, count] : resting_) join(first, count);
  resting_.clear();
}

void SlotRanges::join(uint32_t first, uint32_t count) {
  if (count == 0) return;
  auto after = free_.lower_bound(first);
  if (after != free_.end() && after->first == first + count) {
    count += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == first) {
      before->second += count;
      return;
    }
  }
  free_[first] = count;
}

}  // namespace holdfast::track
