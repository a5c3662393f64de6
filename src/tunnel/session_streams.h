// The streams of a session, found by slot in one step. Pointers live until the next add().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "tunnel/frame.h"

namespace holdfast::tunnel {

struct Stream {
  static constexpr uint32_t kNone = UINT32_MAX;
  enum class Queue : uint8_t { None, Light, Bulk };

  StreamId id = 0;  // 0: the slot is free
  bool is_open = false;
  bool is_ready = false;   // this side has bytes to send
  bool end_waits = false;  // to be sent as soon as the stream is open
  bool end_sent = false;
  bool end_came = false;
  Queue queue = Queue::None;
  // Sending: see session_turns.h.
  uint32_t previous = kNone;
  uint32_t next = kNone;
  uint32_t may_send = 0;
  uint32_t recently_sent = 0;
  uint64_t sent_mark = 0;
  // Receiving: see session_windows.h.
  uint32_t window = 0;
  uint32_t first_window = 0;
  uint32_t may_come = 0;
  uint32_t held = 0;
  Time told{};
};

class StreamTable {
 public:
  enum class Slots : uint8_t { PickedHere, PickedByPeer };
  explicit StreamTable(Slots slots) : slots_are_ours_(slots == Slots::PickedHere) {}

  // The stream of a slot that nobody uses. Requires: size() < kMaxSlots.
  Stream& add();
  // Whether a new stream may be called that: its slot is free and this its next use.
  bool is_next(StreamId id) const;
  // Counts a number as used, without a stream. Requires: is_next(id).
  void skip(StreamId id);
  // Requires: is_next(id).
  Stream& add(StreamId id);

  Stream* find(StreamId id) {
    const uint32_t slot = slot_of(id);
    return slot < slots_.size() && slots_[slot].id == id ? &slots_[slot] : nullptr;
  }
  Stream& at(uint32_t slot) { return slots_[slot]; }
  // Whether there was such a stream, however long ago.
  bool was_used(StreamId id) const;
  void remove(Stream& stream);
  // Gives memory back if there are no streams.
  void trim();

  size_t size() const { return size_; }

 private:
  std::vector<Stream> slots_;
  std::vector<uint16_t> uses_;  // of each slot, the last; 0 is none
  std::vector<uint16_t> free_;  // slots, the next one last; if they are picked here
  bool slots_are_ours_;
  size_t size_ = 0;
};

}  // namespace holdfast::tunnel
