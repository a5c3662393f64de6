#include "tunnel/relay_end_service.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast::tunnel {
namespace {

class RelayEnd;

// Between two ends: what one was given and the other has not taken. Either end may go first.
struct Half {
  explicit Half(LinkBuffers& buffers) : kept(buffers) {}

  RelayEnd* end = nullptr;  // who pushes into this half; null: gone
  std::string waiting{};
  size_t from = 0;
  bool ended = false;  // nothing comes after what waits
  bool wants_room = false;
  std::optional<ResetCode> reset{};
  std::string why{};
  LinkBuffers::Kept kept;

  size_t size() const { return waiting.size() - from; }
  // What the string has room for is what it costs.
  void count() { kept.set(waiting.empty() ? 0 : waiting.capacity()); }
};

struct Joint {
  Joint(LinkBuffers& buffers_of, size_t most_of)
      : buffers(buffers_of), halves{Half(buffers_of), Half(buffers_of)}, most(most_of) {}

  LinkBuffers& buffers;
  Half halves[2];
  size_t most;

  // How much of them may wait in that half, beside what does.
  size_t room(const Half& half, size_t bytes) const {
    const size_t least = std::min(most, kLeastRelayBytes);
    const size_t limit = buffers.has_room(bytes) ? most : least;
    return std::min(bytes, limit - std::min(limit, half.size()));
  }
};

class RelayEnd final : public StreamEnd {
 public:
  RelayEnd(std::shared_ptr<Joint> joint,  // tidy: shared, by two ends
           size_t side, OnEnded on_ended)
      : joint_(std::move(joint)), side_(side), on_ended_(std::move(on_ended)) {
    own().end = this;
  }

  ~RelayEnd() override {
    own().end = nullptr;
    if (!finished()) tell_other(report_.reset.value_or(ResetCode::Broken), report_.why);
    if (on_ended_) on_ended_(report_);
  }

  void attached(Link& link, StreamId stream) override {
    link_ = &link;
    stream_ = stream;
  }

  Pulled pull(std::span<char> into) override {
    Half& half = other();
    if (half.reset) return {.broken = true};
    const size_t bytes = std::min(into.size(), half.size());
    std::memcpy(into.data(), half.waiting.data() + half.from, bytes);
    half.from += bytes;
    if (half.from == half.waiting.size()) {
      half.waiting = {};
      half.from = 0;
      half.count();
    }
    report_.to_peer += bytes;
    if (half.wants_room && half.size() <= joint_->most / 2) {
      half.wants_room = false;
      if (half.end != nullptr) half.end->tell_room();
    }
    pulled_end_ = half.ended && half.size() == 0;
    return {.bytes = bytes, .ended = pulled_end_};
  }

  ssize_t push(std::string_view bytes) override {
    Half& half = own();
    if (half.from > 0) half.waiting.erase(0, std::exchange(half.from, 0));
    const size_t taken = joint_->room(half, bytes.size());
    half.waiting.append(bytes.substr(0, taken));
    half.count();
    half.wants_room = taken < bytes.size();
    report_.from_peer += taken;
    if (other().end != nullptr) other().end->tell_ready();
    return static_cast<ssize_t>(taken);
  }

  void push_end() override {
    own().ended = true;
    if (other().end != nullptr) other().end->tell_ready();
  }

  void reset(ResetCode code, std::string_view why) override {
    report_.reset = code;
    report_.why = why;
    link_ = nullptr;
    tell_other(code, why);
  }

 private:
  Half& own() { return joint_->halves[side_]; }
  Half& other() { return joint_->halves[1 - side_]; }
  bool finished() { return own().ended && pulled_end_; }

  // The other's stream cannot go on without ours.
  void tell_other(ResetCode code, std::string_view why) {
    if (own().reset) return;
    own().reset = code;
    RelayEnd* other_end = other().end;
    if (other_end != nullptr) other_end->cut(code, why);
  }

  void cut(ResetCode code, std::string_view why) {
    own().reset = code;  // it knows already
    if (link_ != nullptr) std::exchange(link_, nullptr)->reset(stream_, code, why);
  }

  void tell_ready() {
    if (link_ != nullptr) link_->ready(stream_);
  }
  void tell_room() {
    if (link_ != nullptr) link_->room(stream_);
  }

  std::shared_ptr<Joint> joint_;  // tidy: shared, by two ends
  size_t side_;
  OnEnded on_ended_;
  EndReport report_;
  Link* link_ = nullptr;
  StreamId stream_ = 0;
  bool pulled_end_ = false;
};

}  // namespace

RelayPair make_relay(LinkBuffers& buffers, OnEnded on_ended, size_t buffer_bytes) {
  auto joint = std::make_shared<Joint>(buffers, buffer_bytes);
  return {.first = std::make_unique<RelayEnd>(joint, 0, std::move(on_ended)),
          .second = std::make_unique<RelayEnd>(joint, 1, nullptr)};
}

}  // namespace holdfast::tunnel
