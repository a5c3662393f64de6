#include "tunnel/session_windows.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;

// A window within two round trips: the peer stood still for want of it. If it took longer, a larger
// one would only fill buffers on the way, and everybody else would wait behind them.
constexpr int kFastRoundTrips = 2;
// Up to this size a millisecond will do: nobody minds that much in a buffer, and where round trips
// are shorter each WINDOW that is waited for costs more.
constexpr uint32_t kShortPath = 512 << 10;
constexpr Duration kFast = 1ms;
// A window in so long, or so many round trips: the stream has slowed down.
constexpr Duration kSlow = 2s;
constexpr int kSlowRoundTrips = 40;

// First windows take a fourth of the budget between them, until each is as small as it may be.
constexpr size_t kFirstShare = 4;

uint32_t owed(const Stream& stream) {
  return stream.window - stream.may_come - stream.held;
}

}  // namespace

ReceiveWindows::ReceiveWindows(WindowOptions options) : options_(options) {
  HF_CHECK(options.initial >= kSmallestWindow, "a window takes a frame");
  HF_CHECK(options.initial <= options.max && options.max <= INT32_MAX, "windows have a limit");
}

uint32_t ReceiveWindows::start(Stream& stream, size_t streams, Time now) {
  const size_t share = options_.budget / kFirstShare / std::max<size_t>(streams, 1);
  stream.window = static_cast<uint32_t>(std::clamp(share, kSmallestWindow, options_.initial));
  stream.first_window = stream.window;
  stream.may_come = stream.window;
  stream.least_held = stream.window;  // nothing was shown yet
  stream.measured_since = now;
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
  stream.consumed += bytes;
  stream.least_held = std::min(stream.least_held, stream.held);
  if (stream.consumed >= stream.window) measure(stream, now, round_trip);
  const uint32_t more = owed(stream);
  if (more < stream.window / 2) return 0;
  stream.may_come += more;
  return more;
}

// Once a window. Much comes at once, so what is held now says little; whoever keeps pace holds
// nearly nothing at some time in between.
void ReceiveWindows::measure(Stream& stream, Time now, Duration round_trip) {
  const Duration took = now - stream.measured_since;
  const bool keeps_pace = stream.least_held <= stream.window / 4;
  const Duration fast =
      std::max(kFastRoundTrips * round_trip, stream.window < kShortPath ? kFast : Duration::zero());
  if (round_trip > Duration::zero() && took <= fast && keeps_pace) {
    grow(stream);
  } else if (took > std::max(kSlow, kSlowRoundTrips * round_trip)) {
    shrink(stream);
  }
  stream.consumed = 0;
  stream.least_held = stream.held;
  stream.measured_since = now;
}

void ReceiveWindows::grow(Stream& stream) {
  const size_t room =
      std::min(options_.max - stream.window, options_.budget - std::min(grown_, options_.budget));
  const auto more = static_cast<uint32_t>(std::min<size_t>(stream.window, room));
  stream.window += more;
  grown_ += more;
}

// What the peer was told it may send cannot be taken back: only what it is owed.
void ReceiveWindows::shrink(Stream& stream) {
  const uint32_t less = std::min((stream.window - stream.first_window + 1) / 2, owed(stream));
  stream.window -= less;
  grown_ -= less;
}

void ReceiveWindows::stop(Stream& stream) {
  grown_ -= stream.window - stream.first_window;
  stream.window = stream.first_window;
}

}  // namespace holdfast::tunnel
