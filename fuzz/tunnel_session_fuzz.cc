// A peer that says anything, to either side of a session that is in use. The first byte chooses the
// side and how the bytes are cut; to a side that answers nothing they must mean the same uncut.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/reason.h"
#include "tunnel/session.h"

namespace holdfast::tunnel {
namespace {

constexpr SessionOptions kOptions{.max_streams = 8,
                                  .initial_window = 16 << 10,
                                  .max_window = 64 << 10,
                                  .window_budget = 128 << 10,
                                  .max_queued_control = 4 << 10,
                                  .max_resets_per_second = 16,
                                  .max_messages_per_second = 16};

enum class Manner : uint8_t { Answers, IsSilent };

// One side of ours. If it answers, it accepts or refuses, consumes what comes on every other
// stream, ends what the peer ends, and always has something to send.
class Ours {
 public:
  Ours(Side side, Manner manner) : session_(with_side(side), Time{}), manner_(manner) {
    HF_CHECK(session_.on_tick(now_).ok(), "a peer that may answer is not dead");
    if (side == Side::Acceptor) return;
    for (int i = 0; i < 3; ++i) ready(session_.open("db").value());
  }

  // What happened, but for where data was cut.
  std::string hear(std::string_view bytes, size_t piece) {
    for (; !bytes.empty() && !is_broken_; bytes.remove_prefix(std::min(piece, bytes.size()))) {
      const std::string copy(bytes.substr(0, piece));
      hear_piece(copy);
    }
    for (const auto& [stream, count] : came_) {
      trace_ += std::to_string(stream) + "+" + std::to_string(count) + " ";
    }
    return trace_;
  }

  // All that may be sent goes, as frames that the other side could read.
  void send_all() {
    std::array<char, 1'024> room{};  // it sends no messages
    std::array<char, kFrameHeaderBytes> header{};
    for (int i = 0; i < 100; ++i) {
      while (session_.take_control(room) > 0) continue;
      const auto turn = session_.next_turn();
      if (!turn) return;
      HF_CHECK(turn->most > 0 && turn->most <= kMaxDataBytes, "a turn is a frame");
      session_.commit(*turn, i % 3 == 2 ? turn->most / 2 : turn->most, header);
      HF_CHECK(turn->most < 2 || decode_header(header).has_value(), "what is sent is a frame");
    }
  }

 private:
  static SessionOptions with_side(Side side) {
    SessionOptions options = kOptions;
    options.side = side;
    return options;
  }

  void hear_piece(const std::string& bytes) {
    std::vector<Event> events;
    if (manner_ == Manner::Answers) now_ += std::chrono::milliseconds(1);
    const Status status = session_.receive(bytes, now_, events);
    for (const Event& event : events) std::visit([this](const auto& one) { on(one); }, event);
    HF_CHECK(session_.streams() <= kOptions.max_streams, "streams have their limit");
    HF_CHECK(session_.grown_window_bytes() <= kOptions.window_budget, "windows have theirs");
    if (status.ok()) {
      HF_CHECK(session_.queued_control() <= kOptions.max_queued_control, "so has control");
      return;
    }
    is_broken_ = true;
    trace_ += status.ToString() + " ";
    HF_CHECK(split_reason(status).code.starts_with("HF200"), "a broken tunnel says why");
  }

  void ready(StreamId stream) { session_.set_ready(stream); }

  void on(const OpenAsked& event) {
    trace_ += "open" + std::to_string(event.stream) + std::string(event.payload) + " ";
    if (manner_ == Manner::IsSilent) return;
    if (event.payload.starts_with("no")) {
      return session_.reset(event.stream, ResetCode::Refused, event.payload);
    }
    session_.accept(event.stream);
    ready(event.stream);
  }
  void on(const Accepted& event) { trace_ += "accepted" + std::to_string(event.stream) + " "; }
  void on(const DataCame& event) {
    HF_CHECK(!event.bytes.empty(), "data is something");
    for (auto& [stream, count] : came_) {
      if (stream == event.stream) return take(event, count);
    }
    take(event, came_.emplace_back(event.stream, 0).second);
  }
  void take(const DataCame& event, size_t& count) {
    count += event.bytes.size();
    if (manner_ == Manner::IsSilent || event.stream % 2 == 1) return;
    session_.consumed(event.stream, event.bytes.size(), now_);
  }
  void on(const EndCame& event) {
    trace_ += "end" + std::to_string(event.stream) + " ";
    if (manner_ == Manner::Answers) session_.end(event.stream);
  }
  void on(const ResetCame& event) {
    trace_ += "reset" + std::to_string(event.stream) + std::string(event.why) + " ";
  }
  void on(const MessageCame& event) {
    trace_ += "message" + std::string(event.payload) + " ";
    if (manner_ == Manner::Answers && event.payload.empty()) session_.say_goodbye("bye");
  }
  void on(const GoodbyeCame& event) { trace_ += "goodbye" + std::string(event.why) + " "; }

  Session session_;
  Manner manner_;
  Time now_{std::chrono::seconds(1)};  // stands still for who is silent: limits are by the second
  std::vector<std::pair<StreamId, size_t>> came_;
  std::string trace_;
  bool is_broken_ = false;
};

}  // namespace
}  // namespace holdfast::tunnel

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace holdfast::tunnel;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const Side side = data[0] % 2 == 0 ? Side::Opener : Side::Acceptor;
  const size_t piece = size_t{data[0]} / 2 + 1;
  Ours answering(side, Manner::Answers);
  answering.hear(bytes, piece);
  answering.send_all();
  const std::string cut = Ours(side, Manner::IsSilent).hear(bytes, piece);
  const std::string whole = Ours(side, Manner::IsSilent).hear(bytes, bytes.size() + 1);
  HF_CHECK(cut == whole, "where bytes are cut changes nothing");
  return 0;
}
