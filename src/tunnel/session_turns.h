// Whose data goes next. A stream that sent little of late goes before those that send all the time;
// these take turns, a frame each. So a question and its answer pass a download, and downloads
// share.
#pragma once

#include <cstdint>

#include "tunnel/session_streams.h"

namespace holdfast::tunnel {

class TurnQueue {
 public:
  explicit TurnQueue(StreamTable& streams) : streams_(streams) {}

  // The stream has something to send and may. Nothing if it waits already.
  void add(Stream& stream);
  // Nothing if it does not wait.
  void remove(Stream& stream);
  // nullptr if nobody waits.
  Stream* next();
  // How many bytes a turn of this stream may have.
  static size_t most_of(const Stream& stream);
  // The stream whose turn it was sent that much, and waits for its next turn.
  void sent(Stream& stream, uint32_t bytes);

 private:
  struct List {
    uint32_t first = Stream::kNone;
    uint32_t last = Stream::kNone;
  };
  List& list_of(Stream::Queue queue) { return queue == Stream::Queue::Light ? light_ : bulk_; }
  void append(Stream& stream, Stream::Queue queue);

  StreamTable& streams_;
  List light_{};
  List bulk_{};
  uint64_t sent_ = 0;       // by all, ever
  uint32_t light_run_ = 0;  // bytes that went before the bulk that waits
};

}  // namespace holdfast::tunnel
