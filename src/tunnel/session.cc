// What this side asks for; what the peer sends is in session_receive.cc.
#include "tunnel/session.h"

#include <algorithm>

#include "base/check.h"
#include "base/reason.h"

namespace holdfast::tunnel {
namespace {

// What an opener sends in this time may come at once, after a pause.
constexpr uint64_t kBunchedSeconds = 10;

StreamTable::Slots slots_of(Side side) {
  return side == Side::Opener ? StreamTable::Slots::PickedHere : StreamTable::Slots::PickedByPeer;
}

}  // namespace

std::string_view to_string(ResetCode code) {
  switch (code) {
    case ResetCode::Cancelled:
      return "cancelled";
    case ResetCode::Refused:
      return "refused";
    case ResetCode::NotExposed:
      return "not exposed";
    case ResetCode::Draining:
      return "draining";
    case ResetCode::Limit:
      return "limit";
    case ResetCode::Broken:
      return "broken";
    case ResetCode::Timeout:
      return "timeout";
    case ResetCode::NotAllowed:
      return "not allowed";
  }
  return "unknown";  // a newer peer's
}

void SessionStats::add(const SessionStats& more) {
  opened += more.opened;
  refused += more.refused;
  given_up += more.given_up;
  throttled += more.throttled;
  full += more.full;
  resets += more.resets;
  messages += more.messages;
  bytes_in += more.bytes_in;
  bytes_out += more.bytes_out;
  bytes_dropped += more.bytes_dropped;
  pings += more.pings;
}

Session::Session(SessionOptions options, Time now)
    : options_(options),
      now_(now),
      streams_(slots_of(options.side)),
      turns_(streams_),
      windows_({options.initial_window, options.max_window, options.window_budget}),
      keepalive_(options.keepalive, options.misses, now),
      own_give_ups_(std::max(1U, options.max_resets_per_second / 2)),
      give_ups_(options.max_resets_per_second,
                options.max_streams + kBunchedSeconds * options.max_resets_per_second),
      messages_(options.max_messages_per_second) {
  HF_CHECK(options.max_streams <= kMaxSlots, "each stream has a slot");
}

Result<StreamId> Session::open(std::string_view payload) {
  HF_CHECK(options_.side == Side::Opener, "only one side opens streams");
  if (payload.size() > kMaxOpenBytes) {
    return absl::InvalidArgumentError("what is asked for is too long for an open frame");
  }
  if (is_leaving_ || peer_is_leaving_) {
    return coded(absl::StatusCode::kUnavailable, "HF2008", "the tunnel takes no new streams");
  }
  if (streams_.size() >= options_.max_streams) {
    stats_.full += 1;
    return coded(absl::StatusCode::kResourceExhausted, "HF2007", "the tunnel is full of streams");
  }
  if (own_give_ups_.is_used_up(now_)) {
    stats_.throttled += 1;
    return coded(absl::StatusCode::kResourceExhausted, "HF2007",
                 "too many streams of the tunnel were given up");
  }
  if (control_.queued_bytes() > options_.max_queued_control / 2) {
    return coded(absl::StatusCode::kResourceExhausted, "HF2009", "too much waits to be sent");
  }
  Stream& stream = streams_.add();
  stats_.opened += 1;
  const uint32_t window = windows_.start(stream, streams_.size(), now_);
  control_.put_number(FrameType::Open, stream.id, window, payload);
  return stream.id;
}

void Session::accept(StreamId id) {
  HF_CHECK(options_.side == Side::Acceptor, "the side that opens does not accept");
  Stream* stream = streams_.find(id);
  if (stream == nullptr) return;
  HF_CHECK(!stream->is_open, "a stream is accepted once");
  stream->is_open = true;
  control_.put_number(FrameType::Accept, id, windows_.start(*stream, streams_.size(), now_));
  if (stream->end_waits) return send_end(*stream);
  if (stream->is_ready) set_ready(id);
}

void Session::end(StreamId id) {
  Stream* stream = streams_.find(id);
  if (stream == nullptr || stream->end_sent) return;
  stream->is_ready = false;
  if (stream->is_open) return send_end(*stream);
  stream->end_waits = true;
}

void Session::send_end(Stream& stream) {
  turns_.remove(stream);
  stream.end_waits = false;
  stream.end_sent = true;
  control_.put(FrameType::End, stream.id, "");
  remove_if_over(stream);
}

void Session::reset(StreamId id, ResetCode code, std::string_view why) {
  Stream* stream = streams_.find(id);
  if (stream == nullptr) return;
  if (options_.side == Side::Opener && !stream->is_open) {
    stats_.given_up += 1;
    static_cast<void>(own_give_ups_.allow(now_));  // open() looks at it
  }
  put_reset(id, code, why);
  remove(*stream);
}

void Session::put_reset(StreamId id, ResetCode code, std::string_view why) {
  stats_.resets += 1;
  control_.put_number(FrameType::Reset, id, static_cast<uint32_t>(code),
                      why.substr(0, kMaxTextBytes));
}

void Session::remove_if_over(Stream& stream) {
  if (stream.end_sent && stream.end_came) remove(stream);
}

void Session::remove(Stream& stream) {
  turns_.remove(stream);
  windows_.stop(stream);
  streams_.remove(stream);
}

Status Session::send_message(std::string_view payload) {
  if (payload.size() > kMaxMessageBytes) {
    return absl::InvalidArgumentError("the message is too long for a frame");
  }
  // The other half is for what answers the peer.
  if (control_.queued_bytes() + payload.size() > options_.max_queued_control / 2) {
    return coded(absl::StatusCode::kResourceExhausted, "HF2009", "too much waits to be sent");
  }
  control_.put(FrameType::Message, 0, payload);
  return absl::OkStatus();
}

void Session::say_goodbye(std::string_view why) {
  if (is_leaving_) return;
  is_leaving_ = true;
  control_.put(FrameType::Goodbye, 0, why.substr(0, kMaxTextBytes));
}

void Session::set_ready(StreamId id) {
  Stream* stream = streams_.find(id);
  if (stream == nullptr || stream->end_sent || stream->end_waits) return;
  stream->is_ready = true;
  if (stream->is_open && stream->may_send > 0) turns_.add(*stream);
}

void Session::consumed(StreamId id, size_t bytes, Time now) {
  now_ = now;
  Stream* stream = streams_.find(id);
  if (stream == nullptr || bytes == 0) return;
  const Duration round_trip = keepalive_.shortest_round_trip().value_or(Duration::zero());
  const uint32_t more = windows_.consume(*stream, static_cast<uint32_t>(bytes), now, round_trip);
  if (more > 0) control_.put_number(FrameType::Window, id, more);
}

bool Session::has_control() const {
  return !control_.is_empty();
}

size_t Session::take_control(std::span<char> into) {
  return control_.is_empty() ? 0 : control_.take(into);
}

std::optional<Session::Turn> Session::next_turn(size_t most) {
  if (has_control()) return std::nullopt;
  const Stream* stream = turns_.next();
  if (stream == nullptr || most == 0) return std::nullopt;
  return Turn{.stream = stream->id,
              .most = std::min({most, TurnQueue::most_of(*stream), size_t{stream->may_send}})};
}

void Session::commit(const Turn& turn, size_t bytes, std::span<char, kFrameHeaderBytes> header) {
  HF_CHECK(bytes <= turn.most, "a turn has its limit");
  Stream* stream = streams_.find(turn.stream);
  HF_CHECK(bytes == 0 || (stream != nullptr && bytes <= stream->may_send && !stream->end_sent),
           "whose turn it is may send");
  if (stream == nullptr) return;
  if (bytes > 0) {
    const auto length = static_cast<uint32_t>(bytes);
    encode_header({.length = length, .type = FrameType::Data, .stream = stream->id}, header);
    stream->may_send -= length;
    stats_.bytes_out += length;
    turns_.sent(*stream, length);
  }
  if (bytes < turn.most) stream->is_ready = false;
  if (!stream->is_ready || stream->may_send == 0) turns_.remove(*stream);
}

Status Session::on_tick(Time now) {
  now_ = now;
  TRY_OK(control_is_bounded());
  switch (keepalive_.on_tick(now)) {
    case Keepalive::Action::None:
      break;
    case Keepalive::Action::Ping:
      stats_.pings += 1;
      control_.trim();
      streams_.trim();
      control_.put_ping(keepalive_.ping_value());
      break;
    case Keepalive::Action::Dead:
      return coded(absl::StatusCode::kUnavailable, "HF2001", "the peer has fallen silent");
  }
  return absl::OkStatus();
}

void Session::set_keepalive(Duration interval, uint32_t misses, Time now) {
  keepalive_.set(interval, misses, now);
}

Status Session::control_is_bounded() const {
  if (control_.queued_bytes() <= options_.max_queued_control) return absl::OkStatus();
  return coded(absl::StatusCode::kResourceExhausted, "HF2005",
               "the peer does not read what it makes us answer");
}

}  // namespace holdfast::tunnel
