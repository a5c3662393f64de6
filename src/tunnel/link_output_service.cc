// The part of a link that sends: control first, then whoever's turn it is, as one batch.
#include <boost/asio/defer.hpp>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "tunnel/link_state_service.h"

namespace holdfast::tunnel {
namespace {

constexpr size_t kFullFrame = kFrameHeaderBytes + kMaxDataBytes;
constexpr size_t kControlRoom = kFrameHeaderBytes + kMaxMessageBytes;
// A batch of data leaves room for control before and after it.
constexpr size_t kMostData = LinkBuffers::kBatchBytes - 2 * kControlRoom;
constexpr size_t kLeastData = 32 << 10;
// A batch in so short a time before: there are many that speak.
constexpr Duration kGathered = std::chrono::microseconds(50);

}  // namespace

// After what the loop has found ready already: their bytes then go together.
void Link::State::schedule_work() {
  if (work_scheduled_ || !running_) return;
  work_scheduled_ = true;
  handlers_ += 1;
  asio::defer(parts_.loop, [this] {
    handlers_ -= 1;
    work_scheduled_ = false;
    std::exchange(buried_, {}).clear();
    if (outcome_) {
      over_.cancel();
      return;
    }
    if (more_to_read_) receive();
    work();
  });
}

void Link::State::work() {
  if (outcome_) return;
  make_room();
  write_batch();
  const bool done = session_.is_leaving() && streams_.empty() && session_.streams() == 0 &&
                    !session_.has_control() && !pipe_.blocked();
  if (done) close(absl::OkStatus());
}

void Link::State::make_room() {
  if (room_.empty()) return;
  now_ = parts_.clock.now();
  std::vector<StreamId> with_room = std::exchange(room_, {});
  for (const StreamId id : with_room) {
    Stream* stream = find(id);
    if (stream != nullptr && stream->end) push_kept(id, *stream);
  }
}

void Link::State::write_batch() {
  for (const StreamId id : ready_) {
    const Stream* stream = find(id);
    if (stream != nullptr && stream->end) session_.set_ready(id);
  }
  if (!ready_.empty()) gathers_ = ready_.size() > 1;
  ready_.clear();
  if (pipe_.blocked()) return;
  const std::span<char> out = parts_.buffers.out();
  const size_t size = fill(out);
  wrote_ = parts_.clock.now();
  if (size == 0 || !write(out.first(size))) return;
  if (pipe_.blocked()) {
    batch_bytes_ = std::clamp(pipe_.last_written(), kLeastData, kMostData);
    blocked_since_ = parts_.clock.now();
    wait_to_write();
    arm_timer();
  } else if (size >= batch_bytes_ || session_.has_control()) {
    batch_bytes_ = std::min(2 * batch_bytes_, kMostData);
    schedule_work();  // there is more, after others had their turn
  }
}

size_t Link::State::fill(std::span<char> out) {
  size_t size = session_.take_control(out);
  const size_t most = std::min(size + batch_bytes_, out.size() - kControlRoom - kFullFrame);
  while (size < most) {
    const std::optional<Session::Turn> turn = session_.next_turn();
    if (turn) size += take_turn(*turn, out.subspan(size));
    // A stream that ended, after its last bytes.
    const size_t control = session_.has_control() ? session_.take_control(out.subspan(size)) : 0;
    size += control;
    if (!turn && control == 0) break;
  }
  return size;
}

size_t Link::State::take_turn(const Session::Turn& turn, std::span<char> out) {
  const std::span<char, kFrameHeaderBytes> header = out.first<kFrameHeaderBytes>();
  Stream* stream = find(turn.stream);
  HF_CHECK(stream != nullptr && stream->end, "only streams with an end are ready");
  const StreamEnd::Pulled pulled = stream->end->pull(out.subspan(kFrameHeaderBytes, turn.most));
  session_.commit(turn, pulled.bytes, header);
  if (pulled.broken) {
    break_stream(turn.stream, "the connection behind it broke");
  } else if (pulled.ended && !stream->end_sent) {
    stream->end_sent = true;
    session_.end(turn.stream);
    end_if_over(turn.stream, *stream);
  }
  return pulled.bytes == 0 ? 0 : kFrameHeaderBytes + pulled.bytes;
}

bool Link::State::write(std::span<const char> bytes) {
  Status written = pipe_.write(bytes);
  if (written.ok()) return true;
  receive_rest();
  close(std::move(written));
  return false;
}

void Link::State::on_writable() {
  if (!pipe_.blocked()) return;
  const Result<size_t> written = pipe_.write_kept();
  if (!written.ok()) {
    receive_rest();
    return close(written.status());
  }
  if (*written > 0) blocked_since_ = parts_.clock.now();
  if (pipe_.blocked()) wait_to_write();
}

void Link::State::ready(StreamId stream) {
  if (outcome_) return;
  ready_.push_back(stream);
  schedule_work();
}

// Whoever speaks after a silence is served at once; if there is much to do, what comes gathers.
void Link::State::woken(StreamId stream) {
  if (outcome_) return;
  ready_.push_back(stream);
  const bool is_quiet =
      running_ && !work_scheduled_ && !gathers_ && parts_.clock.now() - wrote_ > kGathered;
  if (is_quiet) {
    work();
  } else {
    schedule_work();
  }
}

void Link::State::room(StreamId stream) {
  if (outcome_ && streams_.empty()) return;
  room_.push_back(stream);
  schedule_work();
}

}  // namespace holdfast::tunnel
