#include "tunnel/session_windows.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;

// Half a window within two round trips: the peer stood still for want of window. If it took longer,
// a larger window would only fill buffers on the way, and everybody else would wait behind them.
constexpr int kFastRoundTrips = 2;
// Half a window in so long: the stream has slowed down.
constexpr Duration kSlow = 1s;

}  // namespace

ReceiveWindows::ReceiveWindows(WindowOptions options) : options_(options) {
  HF_CHECK(options.initial >= kSmallestWindow, "a window takes a frame");
  HF_CHECK(options.initial <= options.max && options.max <= INT32_MAX, "windows have a limit");
}

uint32_t ReceiveWindows::start(Stream& stream, size_t streams, Time now) {
  const size_t share = options_.budget / std::max<size_t>(streams, 1);
  stream.window = static_cast<uint32_t>(std::clamp(share, kSmallestWindow, options_.initial));
  stream.first_window = stream.window;
  stream.may_come = stream.window;
  stream.told = now;
  return stream.window;
}

bool ReceiveWindows::receive(Stream& stream, uint32_t bytes) {
  if (bytes > stream.may_come) return false;
  stream.may_come -= bytes;
  stream.held += bytes;
  return true;
}

uint32_t ReceiveWindows::consume(Stream& stream, uint32_t bytes, Time now, Duration round_trip) {
  HF_CHECK(bytes <= stream.held, "only what came is consumed");
  stream.held -= bytes;
  if (stream.end_came) return 0;
  if (stream.window - stream.may_come - stream.held < stream.window / 2) return 0;
  resize(stream, now - stream.told, round_trip);
  const uint32_t owed = stream.window - stream.may_come - stream.held;
  stream.may_come += owed;
  stream.told = now;
  return owed;
}

void ReceiveWindows::resize(Stream& stream, Duration took, Duration round_trip) {
  if (took <= kFastRoundTrips * round_trip && stream.held <= stream.window / 4) {
    const size_t room =
        std::min(options_.max - stream.window, options_.budget - std::min(grown_, options_.budget));
    const auto more = static_cast<uint32_t>(std::min<size_t>(stream.window, room));
    stream.window += more;
    grown_ += more;
  } else if (took > std::max(kSlow, 40 * round_trip)) {
    const uint32_t less = (stream.window - stream.first_window + 1) / 2;
    stream.window -= less;
    grown_ -= less;
  }
}

void ReceiveWindows::stop(Stream& stream) {
  grown_ -= stream.window - stream.first_window;
  stream.window = stream.first_window;
}

}  // namespace holdfast::tunnel
