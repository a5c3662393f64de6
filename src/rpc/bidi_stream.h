// A bidirectional gRPC stream, seen from the client, as coroutines on one executor.
//
//   BidiStream<WatchRequest, WatchResponse> stream(executor);
//   stream.start(*stub->async(), &Watch::Watch, options);
//   co_await stream.write(request);
//   while (auto message = co_await stream.read()) ...      // nothing: the stream has ended
//   Status why = co_await stream.finish();
//
// It buffers nothing: one read and one write at most are in flight, and the peer is pushed back by
// HTTP/2 flow control while nobody reads.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "rpc/call.h"
#include "rpc/handoff.h"
#include "rpc/status.h"

namespace holdfast::rpc {

// Used on one executor, single-threaded or a strand. Destroying it cancels the stream; destroy it
// only when none of its coroutines is running.
template <typename Request, typename Response>
class BidiStream {
 public:
  explicit BidiStream(const asio::any_io_executor& executor)
      : read_done_(executor),
        write_done_(executor),
        done_(executor),
        reactor_(
            std::make_shared<Reactor>(read_done_.sender(), write_done_.sender(), done_.sender())) {}
  ~BidiStream() {
    cancel();
    release();
  }
  BidiStream(const BidiStream&) = delete;
  BidiStream& operator=(const BidiStream&) = delete;

  // Opens the stream; a failure shows in the first read or write. Called once. The timeout
  // bounds the whole stream.
  template <typename Service>
  void start(std::type_identity_t<Service>& service,
             void (Service::*method)(grpc::ClientContext*,
                                     grpc::ClientBidiReactor<Request, Response>*),
             const CallOptions& options) {
    HF_CHECK(!held_, "a stream is started once");
    apply(options, reactor_->context);
    (service.*method)(&reactor_->context, reactor_.get());
    held_ = true;
    reactor_->begin(reactor_);
  }

  // The next message; nothing if the stream has ended or this coroutine was cancelled, which
  // ends the stream.
  asio::awaitable<std::optional<Response>> read() {
    if (!held_ || broken_) co_return std::nullopt;
    HF_CHECK(!std::exchange(reading_, true), "one read at a time");
    reactor_->response.Clear();
    reactor_->StartRead(&reactor_->response);
    const std::optional<bool> ok = co_await read_done_.take();
    reading_ = false;
    if (!ok) abandon();
    if (!ok || !*ok) co_return std::nullopt;
    co_return std::move(reactor_->response);
  }

  // Whether the message was handed to the transport; false when the stream has ended.
  asio::awaitable<bool> write(Request message) {
    if (!held_ || broken_) co_return false;
    HF_CHECK(!std::exchange(writing_, true), "one write at a time");
    reactor_->request = std::move(message);
    reactor_->StartWrite(&reactor_->request);
    const std::optional<bool> ok = co_await write_done_.take();
    writing_ = false;
    if (!ok) abandon();
    co_return ok.value_or(false);
  }

  // Ends a running read and write, and the stream; finish() then says kCancelled.
  void cancel() { reactor_->context.TryCancel(); }

  // Waits for the end of the stream and says why it ended; asked again, says the same. Nothing can
  // be read or written after it. Cancel first if the peer is not the one to end it.
  asio::awaitable<Status> finish() {
    if (finished_) co_return *finished_;
    if (!held_ && !released_) co_return absl::FailedPreconditionError("stream was never started");
    release();
    const std::optional<grpc::Status> status = co_await done_.take();
    if (!status) co_return absl::CancelledError("the waiting coroutine was cancelled");
    finished_ = from_grpc(*status);
    co_return *finished_;
  }

 private:
  // What gRPC's threads touch; it keeps itself alive until OnDone, the last thing gRPC calls.
  struct Reactor final : grpc::ClientBidiReactor<Request, Response> {
    Reactor(typename Handoff<bool>::Sender read, typename Handoff<bool>::Sender write,
            Handoff<grpc::Status>::Sender end)
        : read_sender(std::move(read)),
          write_sender(std::move(write)),
          end_sender(std::move(end)) {}

    // The hold keeps gRPC from ending the stream between our operations.
    void begin(std::shared_ptr<Reactor> reactor) {  // tidy: shared with gRPC
      self = std::move(reactor);
      begun.store(true, std::memory_order_release);
      this->AddHold();
      this->StartCall();
    }
    void OnReadDone(bool ok) override { read_sender.deliver(ok); }
    void OnWriteDone(bool ok) override { write_sender.deliver(ok); }
    void OnDone(const grpc::Status& status) override {
      HF_CHECK(begun.load(std::memory_order_acquire), "a stream is begun before it ends");
      end_sender.deliver(status);
      const std::shared_ptr<Reactor> last = std::move(self);  // tidy: shared with gRPC
    }

    grpc::ClientContext context;
    Request request;
    Response response;
    typename Handoff<bool>::Sender read_sender;
    typename Handoff<bool>::Sender write_sender;
    Handoff<grpc::Status>::Sender end_sender;
    std::shared_ptr<Reactor> self;  // tidy: shared with gRPC
    // Orders our writes before gRPC's last callback, as its locks do where no sanitizer sees them.
    std::atomic<bool> begun = false;
  };

  // gRPC may still be using the message of the operation nobody waits for any more.
  void abandon() {
    broken_ = true;
    cancel();
  }

  void release() {
    if (!held_) return;
    held_ = false;
    released_ = true;
    reactor_->RemoveHold();
  }

  Handoff<bool> read_done_;
  Handoff<bool> write_done_;
  Handoff<grpc::Status> done_;
  std::shared_ptr<Reactor> reactor_;  // tidy: shared with gRPC
  std::optional<Status> finished_;
  bool held_ = false;
  bool released_ = false;
  bool broken_ = false;
  bool reading_ = false;
  bool writing_ = false;
};

}  // namespace holdfast::rpc
