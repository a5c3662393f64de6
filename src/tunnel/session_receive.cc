// What comes from the peer: each frame must fit what was before it, else the tunnel is broken.
#include "base/reason.h"
#include "tunnel/session.h"

namespace holdfast::tunnel {
namespace {

Status violation(std::string_view what) {
  return coded(absl::StatusCode::kDataLoss, "HF2002", what);
}

Status beyond_window(std::string_view what) {
  return coded(absl::StatusCode::kDataLoss, "HF2003", what);
}

}  // namespace

Status Session::receive(std::string_view bytes, Time now, std::vector<Event>& events) {
  if (bytes.empty()) return absl::OkStatus();
  now_ = now;
  keepalive_.on_bytes(now);
  reader_.begin();
  FramePart part;
  for (;;) {
    const FrameReader::Outcome outcome = reader_.next(bytes, part);
    if (outcome == FrameReader::Outcome::NeedsMore) return control_is_bounded();
    if (outcome == FrameReader::Outcome::NoFrame) return violation("no frame of this protocol");
    TRY_OK(on_part(part, events));
  }
}

Status Session::on_part(const FramePart& part, std::vector<Event>& events) {
  if (part.header.type == FrameType::Data) return on_data(part, events);
  if (part.header.stream == 0) return on_tunnel_frame(part, events);
  if (part.header.type == FrameType::Open) return on_open(part, events);
  if (Stream* stream = streams_.find(part.header.stream)) {
    return on_stream_frame(*stream, part, events);
  }
  if (!streams_.was_used(part.header.stream)) return violation("a frame of no stream");
  return absl::OkStatus();
}

Status Session::on_data(const FramePart& part, std::vector<Event>& events) {
  Stream* stream = streams_.find(part.header.stream);
  if (stream == nullptr) {
    if (!streams_.was_used(part.header.stream)) return violation("data of no stream");
    stats_.bytes_dropped += part.bytes.size();
    return absl::OkStatus();
  }
  if (part.starts) {
    if (!stream->is_open) return violation("data before the stream is open");
    if (stream->end_came) return violation("data after the end");
    if (!windows_.receive(*stream, part.header.length)) {
      return beyond_window("data beyond the window");
    }
  }
  if (part.bytes.empty()) return absl::OkStatus();
  stats_.bytes_in += part.bytes.size();
  events.emplace_back(DataCame{.stream = stream->id, .bytes = part.bytes});
  return absl::OkStatus();
}

Status Session::on_tunnel_frame(const FramePart& part, std::vector<Event>& events) {
  switch (part.header.type) {
    case FrameType::Ping:
      control_.put_pong(decode_u64(part.bytes));
      return absl::OkStatus();
    case FrameType::Pong:
      keepalive_.on_pong(decode_u64(part.bytes), now_);
      return absl::OkStatus();
    case FrameType::Message:
      return on_message(part, events);
    case FrameType::Goodbye:
      return on_goodbye(part, events);
    default:
      return violation("a stream's frame of no stream");
  }
}

Status Session::on_message(const FramePart& part, std::vector<Event>& events) {
  stats_.messages += 1;
  if (!messages_.allow(now_)) {
    return coded(absl::StatusCode::kResourceExhausted, "HF2006", "too many messages in a second");
  }
  events.emplace_back(MessageCame{.payload = part.bytes});
  return absl::OkStatus();
}

Status Session::on_goodbye(const FramePart& part, std::vector<Event>& events) {
  if (peer_is_leaving_) return violation("a second goodbye");
  peer_is_leaving_ = true;
  events.emplace_back(GoodbyeCame{.why = part.bytes});
  return absl::OkStatus();
}

Status Session::on_stream_frame(Stream& stream, const FramePart& part, std::vector<Event>& events) {
  switch (part.header.type) {
    case FrameType::Accept:
      return on_accepted(stream, part, events);
    case FrameType::Window:
      return on_window(stream, decode_u32(part.bytes));
    case FrameType::End:
      return on_end(stream, events);
    case FrameType::Reset:
      return on_reset(stream, part, events);
    default:
      return violation("a tunnel's frame of a stream");
  }
}

Status Session::on_open(const FramePart& part, std::vector<Event>& events) {
  const StreamId id = part.header.stream;
  if (options_.side == Side::Opener) return violation("an open from the wrong side");
  if (peer_is_leaving_) return violation("an open after a goodbye");
  if (!streams_.is_next(id)) return violation("an open of a stream that is not the next");
  const uint32_t window = decode_u32(part.bytes);
  if (window > INT32_MAX) return beyond_window("a window too large");
  if (is_leaving_) return refuse(id, ResetCode::Draining, "the tunnel takes no new streams");
  if (streams_.size() >= options_.max_streams) {
    return refuse(id, ResetCode::Limit, "the tunnel is full of streams");
  }
  Stream& stream = streams_.add(id);
  stream.may_send = window;
  stats_.opened += 1;
  events.emplace_back(OpenAsked{.stream = id, .payload = part.bytes.substr(sizeof(window))});
  return absl::OkStatus();
}

Status Session::refuse(StreamId id, ResetCode code, std::string_view why) {
  streams_.skip(id);
  stats_.refused += 1;
  put_reset(id, code, why);
  // An opener with another limit may ask often; one that does not read the answers ends by HF2005.
  return absl::OkStatus();
}

Status Session::on_accepted(Stream& stream, const FramePart& part, std::vector<Event>& events) {
  if (options_.side == Side::Acceptor) return violation("an accept from the wrong side");
  if (stream.is_open) return violation("a second accept");
  const uint32_t window = decode_u32(part.bytes);
  if (window > INT32_MAX) return beyond_window("a window too large");
  stream.is_open = true;
  stream.may_send = window;
  events.emplace_back(Accepted{.stream = stream.id});
  if (stream.end_waits)
    send_end(stream);
  else if (stream.is_ready)
    set_ready(stream.id);
  return absl::OkStatus();
}

Status Session::on_window(Stream& stream, uint32_t bytes) {
  if (!stream.is_open) return violation("a window before the stream is open");
  if (bytes == 0) return violation("a window of nothing");
  if (bytes > INT32_MAX - stream.may_send) return beyond_window("a window too large");
  stream.may_send += bytes;
  if (stream.is_ready) set_ready(stream.id);
  return absl::OkStatus();
}

Status Session::on_end(Stream& stream, std::vector<Event>& events) {
  if (!stream.is_open) return violation("an end before the stream is open");
  if (stream.end_came) return violation("a second end");
  stream.end_came = true;
  windows_.stop(stream);
  events.emplace_back(EndCame{.stream = stream.id});
  remove_if_over(stream);
  return absl::OkStatus();
}

Status Session::on_reset(Stream& stream, const FramePart& part, std::vector<Event>& events) {
  const bool is_given_up = options_.side == Side::Acceptor && !stream.is_open;
  stats_.resets += 1;
  events.emplace_back(ResetCame{.stream = stream.id,
                                .code = static_cast<ResetCode>(decode_u32(part.bytes)),
                                .why = part.bytes.substr(sizeof(uint32_t))});
  remove(stream);
  if (!is_given_up) return absl::OkStatus();
  stats_.given_up += 1;
  if (give_ups_.allow(now_)) return absl::OkStatus();
  return coded(absl::StatusCode::kResourceExhausted, "HF2004", "too many streams given up");
}

}  // namespace holdfast::tunnel
