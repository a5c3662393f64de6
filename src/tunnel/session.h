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
#include "tunnel/frame_reader.h"
#include "tunnel/session_control.h"
#include "tunnel/session_keepalive.h"
#include "tunnel/session_rate.h"
#include "tunnel/session_streams.h"
#include "tunnel/session_turns.h"
#include "tunnel/session_windows.h"

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
  uint32_t max_streams = 4'096;
  // What the peer may send on a stream before it is consumed: grows from the first to the second
  // for a stream that is consumed as fast as it comes and waits for more, as long as what all have
  // grown by stays in the budget. The first is smaller if there are many streams.
  size_t initial_window = 256 << 10;
  size_t max_window = 4 << 20;
  size_t window_budget = 64 << 20;
  size_t max_queued_control = 1 << 20;  // beyond it the peer does not read: the tunnel is broken
  // Streams that are opened and given up again before they were answered, in a second. An opener
  // keeps to half of it; its peer bears all of it for as long as it likes, and at once as many as
  // may be open and as come in ten seconds in which it could not read.
  uint32_t max_resets_per_second = 2'000;
  uint32_t max_messages_per_second = 1'000;
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
  uint64_t refused = 0;    // streams beyond max_streams, or after goodbye
  uint64_t given_up = 0;   // before they were answered; at the acceptor: by the peer
  uint64_t throttled = 0;  // not opened: too many were given up,
  uint64_t full = 0;       // or as many were open as may be
  uint64_t resets = 0;     // sent and received
  uint64_t messages = 0;   // received
  uint64_t bytes_in = 0;   // of data
  uint64_t bytes_out = 0;
  uint64_t bytes_dropped = 0;  // data of streams that were over
  uint64_t pings = 0;

  void add(const SessionStats& more);
};

class Session {
 public:
  // Requires: max_streams <= kMaxSlots, windows as session_windows.h wants them.
  Session(SessionOptions options, Time now);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // What came from the peer; appends what it means. Views live until the next receive() or the end
  // of `bytes`. kDataLoss or kResourceExhausted, with a reason code HF20nn: the tunnel is broken
  // and nothing more may be asked of it. Data and ends of streams that are over are dropped.
  // A stream can be over here while events of it are still to be handled.
  Status receive(std::string_view bytes, Time now, std::vector<Event>& events);

  // Requires: side Opener. kResourceExhausted at max_streams, if too much waits to be sent or too
  // many streams were given up in this second,
  // kUnavailable after a goodbye, kInvalidArgument if the payload is too long.
  Result<StreamId> open(std::string_view payload);
  // Requires: side Acceptor. Nothing if the peer has given the stream up.
  void accept(StreamId stream);
  // Nothing more comes from this side. What was committed goes before it. Of a stream that is not
  // open yet: as soon as it is.
  void end(StreamId stream);
  // Either side, in any state; unknown streams are ignored.
  void reset(StreamId stream, ResetCode code, std::string_view why);
  // kResourceExhausted if too much waits already, kInvalidArgument if it is too long.
  Status send_message(std::string_view payload);
  // No new streams from here on; told once.
  void say_goodbye(std::string_view why);

  // The stream has bytes to send. A turn that got fewer bytes than it could take leaves the stream
  // not ready. Unknown streams are ignored.
  void set_ready(StreamId stream);
  // That many bytes of DataCame are out of our hands: the peer may send more. Unknown streams are
  // ignored.
  void consumed(StreamId stream, size_t bytes, Time now);

  bool has_control() const;
  // Whole frames of control, as many as fit; 0 if there are none. Requires: room for one of
  // kMaxMessageBytes + kFrameHeaderBytes.
  size_t take_control(std::span<char> into);
  struct Turn {
    StreamId stream;
    size_t most;  // bytes: of one frame, in the peer's window, not more than asked for
  };
  // Whose data goes next; absent if nobody is ready or allowed, or control waits: it goes first.
  std::optional<Turn> next_turn(size_t most = kMaxDataBytes);
  // The turn's outcome; writes the header that stands before those bytes. With 0 bytes there is no
  // frame. Before end(), if these are the last bytes.
  void commit(const Turn& turn, size_t bytes, std::span<char, kFrameHeaderBytes> header);

  // When on_tick() must be called.
  Time next_deadline() const { return keepalive_.next_deadline(); }
  // Asks for keepalives. kUnavailable HF2001: the peer is dead. kResourceExhausted HF2005: it does
  // not read.
  Status on_tick(Time now);
  // As soon as the networking config changes.
  void set_keepalive(Duration interval, uint32_t misses, Time now);

  size_t streams() const { return streams_.size(); }
  bool is_leaving() const { return is_leaving_; }  // say_goodbye() was called
  bool peer_is_leaving() const { return peer_is_leaving_; }
  // Smoothed, new samples weigh 1/8.
  std::optional<Duration> round_trip() const { return keepalive_.round_trip(); }
  Time last_frame() const { return keepalive_.last_bytes(); }  // when anything last came
  const SessionStats& stats() const { return stats_; }
  size_t queued_control() const { return control_.queued_bytes(); }
  size_t grown_window_bytes() const { return windows_.grown_bytes(); }

 private:
  Status on_part(const FramePart& part, std::vector<Event>& events);
  Status on_tunnel_frame(const FramePart& part, std::vector<Event>& events);
  Status on_stream_frame(Stream& stream, const FramePart& part, std::vector<Event>& events);
  Status on_data(const FramePart& part, std::vector<Event>& events);
  Status on_open(const FramePart& part, std::vector<Event>& events);
  Status on_message(const FramePart& part, std::vector<Event>& events);
  Status on_goodbye(const FramePart& part, std::vector<Event>& events);
  Status on_accepted(Stream& stream, const FramePart& part, std::vector<Event>& events);
  Status on_window(Stream& stream, uint32_t bytes);
  Status on_end(Stream& stream, std::vector<Event>& events);
  Status on_reset(Stream& stream, const FramePart& part, std::vector<Event>& events);
  Status refuse(StreamId id, ResetCode code, std::string_view why);

  void put_reset(StreamId id, ResetCode code, std::string_view why);
  void send_end(Stream& stream);
  void remove_if_over(Stream& stream);
  void remove(Stream& stream);
  Status control_is_bounded() const;

  SessionOptions options_;
  Time now_;  // of the last input that had one
  FrameReader reader_{};
  StreamTable streams_;
  TurnQueue turns_;
  ReceiveWindows windows_;
  ControlQueue control_{};
  Keepalive keepalive_;
  RateLimit own_give_ups_;  // of an opener
  BurstLimit give_ups_;     // of its peer
  RateLimit messages_;
  bool is_leaving_ = false;
  bool peer_is_leaving_ = false;
  SessionStats stats_{};
};

}  // namespace holdfast::tunnel
