// One side of a tunnel: many streams over one ordered connection. Pure: bytes come in with their
// time and become events; what is to be sent is asked for.
//
//   bytes ─► receive() ─► events           take_control(), next_turn()/commit() ─► bytes
//
// One side opens streams, the other accepts or resets them. Frames of control never wait behind
// data. Data is not handed in but fetched when its turn has come: the session says whose turn it is
// and how much may go, so that bytes which cannot be sent yet stay where they are. A stream that
// has sent little goes before those that send all the time; these take turns.
//
//            open()                 accept() / Accepted              end() and EndCame
//   (none) ─────────► Opening ───────────────────────► Open ─────────────────────────► (none)
//                        └──────── reset() / ResetCame ───┘
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "tunnel/frame.h"

namespace holdfast::tunnel {

enum class Side : uint8_t { Opener, Acceptor };

// Why a stream was reset; the numbers travel.
enum class ResetCode : uint32_t {
  Cancelled = 1,   // whoever asked is gone
  Refused = 2,     // the target does not answer; another agent may
  NotExposed = 3,  // the agent does not carry this service
  Draining = 4,    // no new streams here
  Limit = 5,       // too many streams
  Broken = 6,      // the connection behind it broke in its middle
  Timeout = 7,
  NotAllowed = 8,
};
std::string_view to_string(ResetCode code);

struct SessionOptions {
  Side side = Side::Opener;
  uint32_t max_streams = 16'384;
  // What the peer may send on a stream before it is consumed: grows from the first to the second
  // for a stream that is consumed as fast as it comes, as long as all of them stay in the budget.
  size_t initial_window = 256 << 10;
  size_t max_window = 4 << 20;
  size_t window_budget = 64 << 20;
  size_t max_queued_control = 1 << 20;  // beyond it the peer does not read: the tunnel is broken
  // Streams the peer may open and give up again, or have refused, in a second.
  uint32_t max_resets_per_second = 2'000;
  Duration keepalive = std::chrono::seconds(2);
  uint32_t misses = 3;  // of keepalives: then the tunnel is dead
};

struct OpenAsked {
  StreamId stream;
  std::string_view payload;  // an OpenStream, not parsed
};
struct Accepted {
  StreamId stream;
};
struct DataCame {
  StreamId stream;
  std::string_view bytes;
};
struct EndCame {
  StreamId stream;
};
struct ResetCame {
  StreamId stream;
  ResetCode code;
  std::string_view why;
};
struct MessageCame {
  std::string_view payload;  // a TunnelMessage, not parsed
};
struct GoodbyeCame {
  std::string_view why;
};
using Event =
    std::variant<OpenAsked, Accepted, DataCame, EndCame, ResetCame, MessageCame, GoodbyeCame>;

struct SessionStats {
  uint64_t opened = 0;
  uint64_t refused = 0;  // streams beyond max_streams, or after goodbye
  uint64_t resets = 0;
  uint64_t bytes_in = 0;  // of data
  uint64_t bytes_out = 0;
  uint64_t pings = 0;
};

class Session {
 public:
  Session(SessionOptions options, Time now);

  // What came from the peer; appends what it means. Views live until the next receive() or the end
  // of `bytes`. kDataLoss or kResourceExhausted, with a reason code HF20nn: the tunnel is broken
  // and nothing more may be asked of it. Data and ends of streams that are over are dropped.
  Status receive(std::string_view bytes, Time now, std::vector<Event>& events);

  // Requires: side Opener. kResourceExhausted at max_streams, kUnavailable after a goodbye.
  Result<StreamId> open(std::string_view payload);
  // Requires: side Acceptor, asked for and not answered yet.
  void accept(StreamId stream);
  // Nothing more comes from this side. What was committed goes before it.
  void end(StreamId stream);
  // Either side, in any state; unknown streams are ignored.
  void reset(StreamId stream, ResetCode code, std::string_view why);
  // kResourceExhausted if too much waits already, kInvalidArgument if it is too long.
  Status send_message(std::string_view payload);
  // No new streams from here on; told once.
  void say_goodbye(std::string_view why);

  // Whether the stream has bytes to send. A turn that got fewer bytes than it could take leaves the
  // stream not ready.
  void set_ready(StreamId stream);
  // That many bytes of DataCame are out of our hands: the peer may send more.
  void consumed(StreamId stream, size_t bytes, Time now);

  bool has_control() const;
  // Whole frames of control, as many as fit; 0 if there are none. Requires: room for one of
  // kMaxMessageBytes + kFrameHeaderBytes.
  size_t take_control(std::span<char> into);
  struct Turn {
    StreamId stream;
    size_t most;  // bytes: of one frame, in the peer's window
  };
  // Whose data goes next; absent if nobody is ready or allowed.
  std::optional<Turn> next_turn();
  // The turn's outcome; writes the header that stands before those bytes. With 0 bytes the stream
  // is not ready any more and there is no frame.
  void commit(const Turn& turn, size_t bytes, std::span<char, kFrameHeaderBytes> header);

  // When on_tick() must be called.
  Time next_deadline() const;
  // Asks for keepalives. kUnavailable HF2001: the peer is dead.
  Status on_tick(Time now);
  // As soon as the networking config changes.
  void set_keepalive(Duration interval, uint32_t misses, Time now);

  size_t streams() const;
  bool is_leaving() const;                     // say_goodbye() was called
  std::optional<Duration> round_trip() const;  // smoothed, new samples weigh 1/8
  Time last_frame() const;                     // when anything last came
  const SessionStats& stats() const;

 private:
  // The implementation's.
};

}  // namespace holdfast::tunnel
