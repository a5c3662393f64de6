// How much the peer may send on each stream. A window grows while its stream is consumed as fast as
// it comes, within a budget for all, and falls back when the stream slows down.
//
//   window = may come + held (came, not consumed) + owed (consumed, the peer not told)
//
// The peer is told when it is owed half a window: few frames, and it never stands still if both
// sides keep pace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "tunnel/session_streams.h"

namespace holdfast::tunnel {

struct WindowOptions {
  size_t initial;
  size_t max;
  size_t budget;
};

class ReceiveWindows {
 public:
  // What any stream gets, however many there are.
  static constexpr size_t kSmallestWindow = 16 << 10;

  // Requires: kSmallestWindow <= initial <= max < 2 GiB.
  explicit ReceiveWindows(WindowOptions options);

  // The stream's first window: its share of the budget, if there are many.
  uint32_t start(Stream& stream, size_t streams, Time now);
  // Whether the peer may send that much; counts it if so.
  bool receive(Stream& stream, uint32_t bytes);
  // How much more the peer may send, to be told now; 0: not yet.
  uint32_t consume(Stream& stream, uint32_t bytes, Time now, Duration round_trip);
  // Nothing more comes on it.
  void stop(Stream& stream);

  size_t grown_bytes() const { return grown_; }

 private:
  void resize(Stream& stream, Duration took, Duration round_trip);

  WindowOptions options_;
  size_t grown_ = 0;  // of all windows, beyond their first
};

}  // namespace holdfast::tunnel
