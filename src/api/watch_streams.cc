#include "api/watch_streams.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <string>

#include "api/pair_metadata.h"
#include "api/watch_access.h"
#include "base/check.h"
#include "ha/pair_service.h"
#include "rpc/status.h"

namespace holdfast::api {
namespace {

// Field 2 of WatchResponse as protobuf writes it: appended to a message it is part of it.
grpc::Slice epoch_field(uint64_t epoch) {
  std::string bytes(1, static_cast<char>(v1::WatchResponse::kEpochFieldNumber << 3));
  for (; epoch >= 0x80; epoch >>= 7) bytes += static_cast<char>((epoch & 0x7f) | 0x80);
  bytes += static_cast<char>(epoch);
  return grpc::Slice(bytes);
}

// A slice that keeps the shared message alive for as long as gRPC needs its bytes, and the epoch of
// a pair behind it.
grpc::ByteBuffer to_buffer(const std::shared_ptr<const events::Message>& message,
                           const ha::PairService* pair) {
  auto* keep = new std::shared_ptr<const events::Message>(message);
  const auto release = [](void* kept) {
    delete static_cast<std::shared_ptr<const events::Message>*>(kept);
  };
  // gRPC does not write through this pointer.
  const grpc::Slice slice(const_cast<char*>(message->bytes.data()), message->bytes.size(), release,
                          keep);
  if (pair == nullptr) return grpc::ByteBuffer(&slice, 1);
  const std::array<grpc::Slice, 2> both = {slice, epoch_field(pair->epoch())};
  return grpc::ByteBuffer(both.data(), both.size());
}

Result<events::WatchRequest> parse(const grpc::ByteBuffer& bytes,
                                   const events::WatchLimits& limits) {
  grpc::ByteBuffer copy = bytes;
  v1::WatchRequest request;
  if (!grpc::SerializationTraits<v1::WatchRequest>::Deserialize(&copy, &request).ok()) {
    return absl::InvalidArgumentError("the request is not a WatchRequest");
  }
  return events::from_proto(request, limits);
}

}  // namespace

// Every method that gRPC calls posts itself to the loop. The guard keeps the loop running until
// gRPC is done with the stream.
class WatchStreams::Stream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  Stream(WatchStreams& owner, Presented from, grpc::CallbackServerContext& call)
      : context(call), admitted{.presented = std::move(from)}, owner_(owner), guard_(owner.loop_) {}

  void OnWriteDone(bool ok) override {
    asio::post(owner_.loop_, [this, ok] { owner_.on_write_done(*this, ok); });
  }
  void OnCancel() override {
    asio::post(owner_.loop_, [this] { owner_.on_cancel(*this); });
  }
  void OnDone() override {
    asio::post(owner_.loop_, [this] { owner_.forget(*this); });
  }

  grpc::CallbackServerContext& context;
  events::WatcherId watcher = 0;  // 0: none
  bool due = false;               // stands in due_
  bool starting = false;          // a coroutine will add it; not finished before that
  bool cancelled = false;
  bool writing = false;
  bool finished = false;
  grpc::ByteBuffer buffer;
  AdmittedWatch admitted;
  Lawful lawful;

 private:
  WatchStreams& owner_;
  asio::executor_work_guard<asio::any_io_executor> guard_;
};

WatchStreams::WatchStreams(const asio::any_io_executor& loop, Parts parts,
                           WatchStreamsOptions options)
    : loop_(loop),
      store_(parts.store),
      fan_out_(parts.fan_out),
      gate_(parts.gate),
      clock_(parts.clock),
      pair_(parts.pair),
      options_(options),
      pace_(options.pace),
      next_round_(loop),
      starting_(loop) {}

WatchStreams::~WatchStreams() {
  HF_CHECK(streams_.empty(), "streams end before their owner");
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchStreams::open(Presented presented,
                                                               grpc::CallbackServerContext& context,
                                                               const grpc::ByteBuffer* request) {
  auto stream = std::make_unique<Stream>(*this, std::move(presented), context);
  Stream* raw = stream.get();
  asio::post(loop_, [this, stream = std::move(stream),
                     parsed = parse(*request, options_.limits)]() mutable {
    start(std::move(stream), parsed);
  });
  return raw;
}

void WatchStreams::start(std::unique_ptr<Stream> owned, const Result<events::WatchRequest>& asked) {
  Stream& stream = *owned;
  streams_.emplace(&stream, std::move(owned));
  if (shut_down_) return finish(stream, absl::UnavailableError("the controller is stopping"));
  const Result<Caller> caller = gate_.admit(stream.admitted.presented, "watch");
  if (!caller.ok()) return finish(stream, caller.status());
  if (!asked.ok()) return finish(stream, asked.status());
  const Result<events::WatchRequest> request = authorise_watch(gate_, *caller, *asked);
  if (!request.ok()) return finish(stream, request.status());
  stream.admitted.asked = *asked;
  stream.admitted.allowed = request->kinds;
  stream.lawful = {.expires = expiry_of(*caller), .still_allowed = [this, &stream] {
                     return still_allowed(gate_, stream.admitted);
                   }};
  if (pair_ == nullptr) return begin(stream, *request);
  stream.starting = true;
  starting_.spawn(begin_in_pair(stream, *request));
}

asio::awaitable<void> WatchStreams::begin_in_pair(Stream& stream, events::WatchRequest request) {
  // Nobody may watch without being somebody.
  Status may = pair_->check_epoch(stream.admitted.presented.known_epoch, true);
  if (may.ok()) may = (co_await pair_->enter(true)).status;
  stream.starting = false;
  if (shut_down_) may = absl::UnavailableError("the controller is stopping");
  add_epoch(*pair_, stream.context);
  if (!may.ok()) co_return finish(stream, may);
  begin(stream, request);
}

void WatchStreams::begin(Stream& stream, const events::WatchRequest& request) {
  // A client may know of a revision before its event comes by here.
  if (request.after_revision <= fan_out_.latest()) return add(stream, request);
  stream.starting = true;
  starting_.spawn(add_at_latest(stream, request));
}

asio::awaitable<void> WatchStreams::add_at_latest(Stream& stream, events::WatchRequest request) {
  const Result<store::RangeResult> now = co_await store_.range({store::prefix_range("/"), 1});
  stream.starting = false;
  if (!now.ok()) co_return finish(stream, now.status());
  fan_out_.note_latest(now->revision);
  add(stream, request);
}

void WatchStreams::add(Stream& stream, const events::WatchRequest& request) {
  if (stream.cancelled) return finish(stream, absl::CancelledError("the watcher is gone"));
  const Result<events::WatcherId> added = fan_out_.add(request);
  if (!added.ok()) return finish(stream, added.status());
  stream.watcher = *added;
  by_watcher_.emplace(*added, &stream);
  pump(stream);
}

void WatchStreams::make_due(Stream& stream) {
  if (stream.due || stream.finished) return;
  stream.due = true;
  due_.push_back(&stream);
  if (round_is_set_) return;
  round_is_set_ = true;
  const Time now = clock_.now();
  next_round_.expires_after(pace_.next_round(now) - now);
  next_round_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) run_round();
  });
}

void WatchStreams::run_round() {
  round_is_set_ = false;
  std::vector<Stream*> round;
  round.swap(due_);
  const Time start = clock_.now();
  for (Stream* stream : round) {
    if (stream == nullptr) continue;
    stream->due = false;
    pump(*stream);
  }
  pace_.round_done(start, clock_.now());
}

void WatchStreams::pump(Stream& stream) {
  if (stream.writing || stream.finished) return;
  const events::Taken taken = fan_out_.take(stream.watcher);
  if (const auto* closed = std::get_if<events::Closed>(&taken)) return finish(stream, closed->why);
  const auto* message = std::get_if<std::shared_ptr<const events::Message>>(&taken);
  if (message == nullptr) return;
  stream.buffer = to_buffer(*message, pair_);
  stream.writing = true;
  stream.StartWrite(&stream.buffer);
}

void WatchStreams::wake(const std::vector<events::WatcherId>& ids) {
  for (const events::WatcherId id : ids) {
    const auto found = by_watcher_.find(id);
    if (found != by_watcher_.end()) make_due(*found->second);
  }
}

void WatchStreams::on_write_done(Stream& stream, bool ok) {
  stream.writing = false;
  stream.buffer.Clear();
  if (ok) return make_due(stream);
  finish(stream, absl::CancelledError("the watcher is gone"));
}

void WatchStreams::on_cancel(Stream& stream) {
  stream.cancelled = true;
  finish(stream, absl::CancelledError("the watcher is gone"));
}

void WatchStreams::finish(Stream& stream, const Status& status) {
  if (stream.finished || stream.starting) return;
  stream.finished = true;
  if (stream.watcher != 0) {
    by_watcher_.erase(stream.watcher);
    fan_out_.remove(stream.watcher);
  }
  if (pair_ != nullptr) add_refusal(*pair_, status, stream.context);
  stream.Finish(rpc::to_grpc(status));
}

void WatchStreams::end_all(const Status& why) {
  for (const auto& [stream, owned] : streams_) finish(*stream, why);
}

void WatchStreams::end_unlawful() {
  const bool changed = gate_changes_.take();
  for (const auto& [stream, owned] : streams_) {
    if (stream->finished || stream->starting) continue;
    const Status verdict = stream->lawful.verdict(changed, clock_.wall_now());
    if (!verdict.ok()) finish(*stream, verdict);
  }
}

void WatchStreams::forget(Stream& stream) {
  if (stream.due) std::ranges::replace(due_, &stream, nullptr);
  streams_.erase(&stream);
}

asio::awaitable<void> WatchStreams::shut_down() {
  shut_down_ = true;
  next_round_.cancel();
  co_await starting_.join();
  for (const auto& [stream, owned] : streams_) {
    finish(*stream, absl::UnavailableError("the controller is stopping"));
  }
}

}  // namespace holdfast::api
