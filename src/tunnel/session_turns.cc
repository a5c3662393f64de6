#include "tunnel/session_turns.h"

#include <algorithm>

namespace holdfast::tunnel {
namespace {

// What a stream may send before it counts as bulk.
constexpr uint32_t kLightBytes = 32 << 10;
// A stream is forgiven a byte for this many that all have sent: whoever has less than such a share
// stays light.
constexpr uint64_t kForgivenShare = 64;
// Light streams together leave bulk one turn after this much: nobody starves.
constexpr uint32_t kLightRunBytes = 64 << 10;
// A light stream's turn: it is bulk before it has sent a full frame.
constexpr size_t kLightTurnBytes = 16 << 10;

}  // namespace

void TurnQueue::append(Stream& stream, Stream::Queue queue) {
  List& list = list_of(queue);
  const uint32_t slot = slot_of(stream.id);
  stream.queue = queue;
  stream.previous = list.last;
  stream.next = Stream::kNone;
  (list.last == Stream::kNone ? list.first : streams_.at(list.last).next) = slot;
  list.last = slot;
}

void TurnQueue::add(Stream& stream) {
  if (stream.queue != Stream::Queue::None) return;
  const uint64_t forgiven = (sent_ - stream.sent_mark) / kForgivenShare;
  stream.recently_sent -= static_cast<uint32_t>(std::min<uint64_t>(stream.recently_sent, forgiven));
  if (forgiven > 0) stream.sent_mark = sent_;
  const bool is_light = stream.recently_sent < kLightBytes;
  append(stream, is_light ? Stream::Queue::Light : Stream::Queue::Bulk);
}

void TurnQueue::remove(Stream& stream) {
  if (stream.queue == Stream::Queue::None) return;
  List& list = list_of(stream.queue);
  const uint32_t previous = stream.previous, next = stream.next;
  (previous == Stream::kNone ? list.first : streams_.at(previous).next) = next;
  (next == Stream::kNone ? list.last : streams_.at(next).previous) = previous;
  stream.queue = Stream::Queue::None;
}

Stream* TurnQueue::next() {
  const bool is_bulks_turn = light_.first == Stream::kNone || light_run_ >= kLightRunBytes;
  const List& list = is_bulks_turn && bulk_.first != Stream::kNone ? bulk_ : light_;
  return list.first == Stream::kNone ? nullptr : &streams_.at(list.first);
}

size_t TurnQueue::most_of(const Stream& stream) {
  return stream.queue == Stream::Queue::Light ? kLightTurnBytes : kMaxDataBytes;
}

void TurnQueue::sent(Stream& stream, uint32_t bytes) {
  const Stream::Queue queue = stream.queue;
  sent_ += bytes;
  stream.recently_sent = std::min(stream.recently_sent + bytes, 2 * kLightBytes);
  light_run_ = queue == Stream::Queue::Light ? std::min(light_run_ + bytes, kLightRunBytes) : 0;
  if (bulk_.first == Stream::kNone) light_run_ = 0;
  remove(stream);
  const bool stays_light = queue == Stream::Queue::Light && stream.recently_sent < kLightBytes;
  append(stream, stays_light ? Stream::Queue::Light : Stream::Queue::Bulk);
}

}  // namespace holdfast::tunnel
