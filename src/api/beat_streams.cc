#include "api/beat_streams.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <optional>

#include "base/check.h"
#include "base/reason.h"
#include "ha/pair_service.h"
#include "rpc/status.h"

namespace holdfast::api {

Status allow_as_peer(Gate& gate, const Caller& caller, std::string_view own_name) {
  TRY_OK(gate.allow(caller, identity::Call::Pair));
  if (caller.identity.name != own_name) return absl::OkStatus();
  return gate.refuse(caller, "pair", "",
                     coded(absl::StatusCode::kFailedPrecondition, "HF4121",
                           "the other half has the same name as this one; give each its own"));
}

class BeatStreams::Stream final : public BeatStreams::Reactor {
 public:
  Stream(BeatStreams& owner, Presented from, v1::Beat hello)
      : presented(std::move(from)), first(std::move(hello)), owner_(owner), guard_(owner.loop_) {}

  void OnWriteDone(bool ok) override {
    asio::post(owner_.loop_, [this, ok] {
      writing = false;
      if (ok) return owner_.pump(*this);
      owner_.finish(*this, absl::CancelledError("the other half is gone"));
    });
  }
  void OnCancel() override {
    asio::post(owner_.loop_,
               [this] { owner_.finish(*this, absl::CancelledError("the other half is gone")); });
  }
  void OnDone() override {
    asio::post(owner_.loop_, [this] { owner_.streams_.erase(this); });
  }

  const Presented presented;
  const v1::Beat first;          // the caller's own
  std::optional<v1::Beat> next;  // the latest that was not sent
  v1::Beat current;              // gRPC reads it
  Lawful lawful;
  bool admitted = false;
  bool writing = false;
  bool finished = false;

 private:
  BeatStreams& owner_;
  asio::executor_work_guard<asio::any_io_executor> guard_;
};

BeatStreams::BeatStreams(const asio::any_io_executor& loop, Gate& gate, Options options)
    : loop_(loop), gate_(gate), options_(std::move(options)) {}

BeatStreams::~BeatStreams() {
  HF_CHECK(streams_.empty(), "streams end before their owner");
}

BeatStreams::Reactor* BeatStreams::open(Presented presented, const v1::BeatsRequest* request) {
  auto stream = std::make_unique<Stream>(*this, std::move(presented), request->first());
  Stream* raw = stream.get();
  asio::post(loop_, [this, stream = std::move(stream)]() mutable { start(std::move(stream)); });
  return raw;
}

void BeatStreams::start(std::unique_ptr<Stream> owned) {
  Stream& stream = *owned;
  const bool full = streams_.size() >= options_.max_streams;
  streams_.emplace(&stream, std::move(owned));
  if (shut_down_) return finish(stream, absl::UnavailableError("the controller is stopping"));
  if (full) return finish(stream, absl::ResourceExhaustedError("too many streams of beats"));
  const Result<Caller> caller = gate_.admit(stream.presented, "pair");
  if (!caller.ok()) return finish(stream, caller.status());
  const Status allowed = allow_as_peer(gate_, *caller, options_.own_name);
  if (!allowed.ok()) return finish(stream, allowed);
  if (pair_ == nullptr) {
    return finish(stream, coded(absl::StatusCode::kFailedPrecondition, "HF4122",
                                "this controller is not one of a pair"));
  }
  stream.admitted = true;
  stream.lawful = {.expires = expiry_of(*caller), .still_allowed = [this, &stream]() -> Status {
                     TRY(const Caller now, gate_.identify(stream.presented));
                     return allow_as_peer(gate_, now, options_.own_name);
                   }};
  pair_->on_beat(stream.first);
  stream.next = pair_->beat();
  pump(stream);
}

void BeatStreams::send(const v1::Beat& beat) {
  for (const auto& [stream, owned] : streams_) {
    if (!stream->admitted || stream->finished) continue;
    stream->next = beat;
    pump(*stream);
  }
}

void BeatStreams::pump(Stream& stream) {
  if (stream.writing || stream.finished || !stream.next) return;
  stream.current = *std::exchange(stream.next, std::nullopt);
  stream.writing = true;
  stream.StartWrite(&stream.current);
}

void BeatStreams::end_unlawful(WallTime now) {
  const bool changed = gate_changes_.take();
  for (const auto& [stream, owned] : streams_) {
    if (stream->finished) continue;
    const Status verdict = stream->lawful.verdict(changed, now);
    if (!verdict.ok()) finish(*stream, verdict);
  }
}

void BeatStreams::shut_down() {
  shut_down_ = true;
  for (const auto& [stream, owned] : streams_) {
    finish(*stream, absl::UnavailableError("the controller is stopping"));
  }
}

void BeatStreams::finish(Stream& stream, const Status& status) {
  if (stream.finished) return;
  stream.finished = true;
  stream.Finish(rpc::to_grpc(status));
}

}  // namespace holdfast::api
