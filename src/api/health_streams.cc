#include "api/health_streams.h"

#include <boost/asio/post.hpp>

#include <optional>
#include <vector>

#include "base/check.h"
#include "net/task_group.h"
#include "rpc/status.h"

namespace holdfast::api {

using Response = HealthStreams::Response;

// As in watch_streams.cc: gRPC's threads only post.
class HealthStreams::Stream final : public HealthStreams::Reactor {
 public:
  Stream(HealthStreams& owner, grpc::CallbackServerContext& of, Presented from, Request asked,
         bool wants_beats)
      : context(of),
        presented(std::move(from)),
        request(std::move(asked)),
        beats(wants_beats),
        owner_(owner),
        guard_(owner.loop_) {}

  void OnWriteDone(bool ok) override {
    asio::post(owner_.loop_, [this, ok] {
      writing = false;
      if (ok) return owner_.pump(*this);
      owner_.finish(*this, absl::CancelledError("the watcher is gone"));
    });
  }
  void OnCancel() override {
    asio::post(owner_.loop_,
               [this] { owner_.finish(*this, absl::CancelledError("the watcher is gone")); });
  }
  void OnDone() override {
    asio::post(owner_.loop_, [this] {
      owner_.beating_[slot].erase(this);
      owner_.streams_.erase(this);
    });
  }

  grpc::CallbackServerContext& context;
  const Presented presented;
  const Request request;
  const bool beats;
  size_t slot = 0;  // if it beats
  bool due = false;
  Response response;
  std::optional<Response::ServingStatus> sent;
  Lawful lawful;
  bool writing = false;
  bool finished = false;

 private:
  HealthStreams& owner_;
  asio::executor_work_guard<asio::any_io_executor> guard_;
};

HealthStreams::HealthStreams(const asio::any_io_executor& loop, Gate& gate, Options options)
    : loop_(loop), gate_(gate), options_(std::move(options)) {}

HealthStreams::~HealthStreams() {
  HF_CHECK(streams_.empty(), "streams end before their owner");
}

asio::awaitable<Result<Response>> HealthStreams::check(Caller /*caller*/, Request request) {
  if (!request.service().empty()) co_return absl::NotFoundError("unknown service");
  Response response;
  response.set_status(serving_ ? Response::SERVING : Response::NOT_SERVING);
  co_return response;
}

HealthStreams::Reactor* HealthStreams::watch(grpc::CallbackServerContext& context,
                                             Presented presented, const Request* request,
                                             bool beats) {
  auto stream = std::make_unique<Stream>(*this, context, std::move(presented), *request, beats);
  Stream* raw = stream.get();
  asio::post(loop_, [this, stream = std::move(stream)]() mutable { start(std::move(stream)); });
  return raw;
}

void HealthStreams::start(std::unique_ptr<Stream> owned) {
  Stream& stream = *owned;
  const bool full = streams_.size() >= options_.max_streams;
  streams_.emplace(&stream, std::move(owned));
  if (shut_down_) return finish(stream, absl::UnavailableError("the controller is stopping"));
  if (full) return finish(stream, absl::ResourceExhaustedError("too many health watches"));
  const Result<Caller> caller = gate_.admit(stream.presented, "health");
  if (!caller.ok()) return finish(stream, caller.status());
  const Status allowed = gate_.allow(*caller, identity::Call::Health);
  if (!allowed.ok()) return finish(stream, allowed);
  stream.lawful = {.expires = expiry_of(*caller), .still_allowed = [this, &stream]() -> Status {
                     TRY(const Caller now, gate_.identify(stream.presented));
                     return gate_.allow(now, identity::Call::Health);
                   }};
  if (options_.on_watch) options_.on_watch(stream.context);
  if (stream.beats) {
    stream.slot = next_slot_++ % kSlots;
    beating_[stream.slot].insert(&stream);
  }
  pump(stream);
}

// Who is slow to take one gets no second.
asio::awaitable<void> HealthStreams::beat() {
  for (size_t slot = 0; co_await net::pause(kBeat / kSlots); slot = (slot + 1) % kSlots) {
    for (Stream* stream : beating_[slot]) {
      stream->due = !stream->writing;
      pump(*stream);
    }
  }
}

void HealthStreams::pump(Stream& stream) {
  if (stream.writing || stream.finished) return;
  const Response::ServingStatus now = !stream.request.service().empty() ? Response::SERVICE_UNKNOWN
                                      : serving_                        ? Response::SERVING
                                                                        : Response::NOT_SERVING;
  if (stream.sent != now || stream.due) {
    stream.due = false;
    stream.sent = now;
    stream.response.set_status(now);
    stream.writing = true;
    stream.StartWrite(&stream.response);
  } else if (shut_down_) {
    finish(stream, absl::UnavailableError("the controller is stopping"));
  }
}

void HealthStreams::set_serving(bool serving) {
  if (serving_ == serving) return;
  serving_ = serving;
  for (const auto& [stream, owned] : streams_) pump(*stream);
}

void HealthStreams::end_unlawful(WallTime now) {
  const bool changed = gate_changes_.take();
  for (const auto& [stream, owned] : streams_) {
    if (stream->finished) continue;
    const Status verdict = stream->lawful.verdict(changed, now);
    if (!verdict.ok()) finish(*stream, verdict);
  }
}

void HealthStreams::shut_down() {
  serving_ = false;
  shut_down_ = true;
  for (const auto& [stream, owned] : streams_) pump(*stream);
}

void HealthStreams::finish(Stream& stream, const Status& status) {
  if (stream.finished) return;
  stream.finished = true;
  stream.Finish(rpc::to_grpc(status));
}

}  // namespace holdfast::api
