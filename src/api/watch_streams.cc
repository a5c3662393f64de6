#include "api/watch_streams.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

#include "base/check.h"
#include "rpc/status.h"

namespace holdfast::api {
namespace {

// A slice that keeps the shared message alive for as long as gRPC needs its bytes.
grpc::ByteBuffer to_buffer(const std::shared_ptr<const events::Message>& message) {
  auto* keep = new std::shared_ptr<const events::Message>(message);
  const auto release = [](void* kept) {
    delete static_cast<std::shared_ptr<const events::Message>*>(kept);
  };
  // gRPC does not write through this pointer.
  const grpc::Slice slice(const_cast<char*>(message->bytes.data()), message->bytes.size(), release,
                          keep);
  return grpc::ByteBuffer(&slice, 1);
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
  explicit Stream(WatchStreams& owner) : owner_(owner), guard_(owner.loop_) {}

  void OnWriteDone(bool ok) override {
    asio::post(owner_.loop_, [this, ok] { owner_.on_write_done(*this, ok); });
  }
  void OnCancel() override {
    asio::post(owner_.loop_, [this] { owner_.on_cancel(*this); });
  }
  void OnDone() override {
    asio::post(owner_.loop_, [this] { owner_.forget(*this); });
  }

  events::WatcherId watcher = 0;  // 0: none
  bool due = false;               // stands in due_
  bool starting = false;          // start_ahead() has it
  std::optional<Status> ended;    // while it was starting
  bool writing = false;
  bool finished = false;
  grpc::ByteBuffer buffer;

 private:
  WatchStreams& owner_;
  asio::executor_work_guard<asio::any_io_executor> guard_;
};

WatchStreams::WatchStreams(const asio::any_io_executor& loop, store::Store& store,
                           events::FanOut& fan_out, const Clock& clock, WatchStreamsOptions options)
    : loop_(loop),
      store_(store),
      fan_out_(fan_out),
      clock_(clock),
      options_(options),
      pace_(options.pace),
      next_round_(loop),
      starting_(loop) {}

WatchStreams::~WatchStreams() {
  HF_CHECK(streams_.empty(), "streams end before their owner");
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchStreams::open(const grpc::ByteBuffer* request) {
  auto stream = std::make_unique<Stream>(*this);
  Stream* raw = stream.get();
  asio::post(loop_, [this, stream = std::move(stream),
                     parsed = parse(*request, options_.limits)]() mutable {
    start(std::move(stream), parsed);
  });
  return raw;
}

void WatchStreams::start(std::unique_ptr<Stream> owned,
                         const Result<events::WatchRequest>& request) {
  Stream& stream = *owned;
  streams_.emplace(&stream, std::move(owned));
  if (shut_down_) return finish(stream, absl::UnavailableError("the controller is stopping"));
  if (!request.ok()) return finish(stream, request.status());
  if (request->after_revision <= fan_out_.last_revision()) return add(stream, *request, 0);
  stream.starting = true;
  starting_.spawn(start_ahead(&stream, *request));
}

// Someone read the store at a revision that the feed has not reached yet, or it is of the future.
// The stream lives until it is finished, which waits for this.
asio::awaitable<void> WatchStreams::start_ahead(Stream* stream, events::WatchRequest request) {
  const auto [cancelled, now] = co_await asio::co_spawn(
      loop_, store_.range({store::prefix_range("/"), 1}), asio::as_tuple(asio::use_awaitable));
  stream->starting = false;
  if (stream->ended) co_return finish(*stream, *stream->ended);
  if (cancelled) co_return finish(*stream, absl::UnavailableError("the controller is stopping"));
  if (!now.ok()) co_return finish(*stream, now.status());
  add(*stream, request, now->revision);
}

void WatchStreams::add(Stream& stream, const events::WatchRequest& request, int64_t newest) {
  const Result<events::WatcherId> added = fan_out_.add(request, newest);
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
  stream.buffer = to_buffer(*message);
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
  finish(stream, absl::CancelledError("the watcher is gone"));
}

void WatchStreams::finish(Stream& stream, const Status& status) {
  if (stream.finished) return;
  if (stream.starting) {
    stream.ended = status;
    return;
  }
  stream.finished = true;
  if (stream.watcher != 0) {
    by_watcher_.erase(stream.watcher);
    fan_out_.remove(stream.watcher);
  }
  stream.Finish(rpc::to_grpc(status));
}

void WatchStreams::forget(Stream& stream) {
  if (stream.due) std::ranges::replace(due_, &stream, nullptr);
  streams_.erase(&stream);
}

asio::awaitable<void> WatchStreams::shut_down() {
  shut_down_ = true;
  next_round_.cancel();
  for (const auto& [stream, owned] : streams_) {
    finish(*stream, absl::UnavailableError("the controller is stopping"));
  }
  co_await starting_.join();
}

}  // namespace holdfast::api
