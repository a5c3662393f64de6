#include "tunnel/session_streams.h"

#include <numeric>

#include "base/check.h"

namespace holdfast::tunnel {
namespace {

// 0 is skipped, so that no stream is called 0.
uint16_t use_after(uint16_t use) {
  return use == UINT16_MAX ? uint16_t{1} : static_cast<uint16_t>(use + 1);
}

}  // namespace

Stream& StreamTable::add() {
  HF_CHECK(size_ < kMaxSlots, "a slot is free");
  auto slot = static_cast<uint32_t>(uses_.size());
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  }
  return add(stream_id(slot, use_after(slot < uses_.size() ? uses_[slot] : uint16_t{0})));
}

bool StreamTable::is_next(StreamId id) const {
  const uint32_t slot = slot_of(id);
  if (slot > uses_.size()) return false;
  if (slot == uses_.size()) return use_of(id) == 1;
  const bool is_free = slot >= slots_.size() || slots_[slot].id == 0;
  return is_free && use_of(id) == use_after(uses_[slot]);
}

void StreamTable::skip(StreamId id) {
  if (slot_of(id) == uses_.size()) uses_.push_back(0);
  uses_[slot_of(id)] = use_of(id);
}

Stream& StreamTable::add(StreamId id) {
  skip(id);
  const uint32_t slot = slot_of(id);
  if (slot >= slots_.size()) slots_.resize(slot + 1);
  size_ += 1;
  slots_[slot] = {.id = id};
  return slots_[slot];
}

bool StreamTable::was_used(StreamId id) const {
  const uint32_t slot = slot_of(id);
  if (slot >= uses_.size()) return false;
  // Uses go round: those in the half behind the last one are past.
  return static_cast<int16_t>(use_of(id) - uses_[slot]) <= 0;
}

void StreamTable::remove(Stream& stream) {
  if (slots_are_ours_) free_.push_back(static_cast<uint16_t>(slot_of(stream.id)));
  stream = {};
  size_ -= 1;
}

void StreamTable::trim() {
  if (size_ > 0 || slots_.empty()) return;
  std::vector<Stream>().swap(slots_);
  // The lowest slots first, so that few streams need little memory.
  std::iota(free_.rbegin(), free_.rend(), uint16_t{0});
}

}  // namespace holdfast::tunnel
