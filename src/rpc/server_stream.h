// A gRPC stream on which only the server speaks, seen from the client, as coroutines on one
// executor.
//
//   ServerStream<HealthCheckResponse> stream(executor);
//   stream.start(*stub->async(), &Health::Watch, request, options);
//   while (auto message = co_await stream.read()) ...      // nothing: the stream has ended
//   Status why = co_await stream.finish();
//
// It buffers nothing: one read at most is in flight, and the server is pushed back by HTTP/2 flow
// control while nobody reads.
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
#include "rpc/epoch.h"
#include "rpc/handoff.h"
#include "rpc/status.h"

namespace holdfast::rpc {

// Used on one executor, single-threaded or a strand. Destroying it cancels the stream; destroy it
// only when none of its coroutines is running.
template <typename Response>
class ServerStream {
 public:
  explicit ServerStream(const asio::any_io_executor& executor)
      : read_done_(executor),
        done_(executor),
        reactor_(std::make_shared<Reactor>(read_done_.sender(), done_.sender())) {}
  ~ServerStream() {
    cancel();
    release();
  }
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;

  // Opens the stream; a failure shows in the first read. Called once. The timeout bounds the whole
  // stream.
  template <typename Service, typename Request>
  void start(std::type_identity_t<Service>& service,
             void (Service::*method)(grpc::ClientContext*, const Request*,
                                     grpc::ClientReadReactor<Response>*),
             std::type_identity_t<Request> request, const CallOptions& options) {
    HF_CHECK(!held_, "a stream is started once");
    apply(options, reactor_->context);
    admit_ = options.admit;
    // gRPC reads the request until the stream has ended.
    auto kept = std::make_shared<const Request>(std::move(request));
    (service.*method)(&reactor_->context, kept.get(), reactor_.get());
    reactor_->request = std::move(kept);
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
    if (!ok) {
      // gRPC may still be using the message of the read nobody waits for any more.
      broken_ = true;
      cancel();
    }
    if (!ok || !*ok) co_return std::nullopt;
    if (admit_) {
      const Status admitted = std::exchange(admit_, {})(reactor_->context, absl::OkStatus());
      if (!admitted.ok()) refuse(admitted);
      if (!admitted.ok()) co_return std::nullopt;
    }
    co_return std::move(reactor_->response);
  }
  // What the server sends besides; whole once a message was read.
  const Metadata& initial_metadata() const { return reactor_->context.GetServerInitialMetadata(); }

  // Ends a running read, and the stream; finish() then says kCancelled.
  void cancel() { reactor_->context.TryCancel(); }

  // Waits for the end of the stream and says why it ended; asked again, says the same. Nothing can
  // be read after it. Cancel first if the server is not the one to end it.
  asio::awaitable<Status> finish() {
    if (finished_) co_return *finished_;
    if (!held_ && !released_) co_return absl::FailedPreconditionError("stream was never started");
    release();
    const std::optional<grpc::Status> status = co_await done_.take();
    if (!status) co_return absl::CancelledError("the waiting coroutine was cancelled");
    finished_ = from_grpc(*status);
    if (admit_) finished_ = std::exchange(admit_, {})(reactor_->context, *finished_);
    co_return *finished_;
  }

 private:
  // What gRPC's threads touch; it keeps itself alive until OnDone, the last thing gRPC calls.
  struct Reactor final : grpc::ClientReadReactor<Response> {
    Reactor(Handoff<bool>::Sender read, Handoff<grpc::Status>::Sender end)
        : read_sender(std::move(read)), end_sender(std::move(end)) {}

    // The hold keeps gRPC from ending the stream between our operations.
    void begin(std::shared_ptr<Reactor> reactor) {  // tidy: shared with gRPC
      self = std::move(reactor);
      begun.store(true, std::memory_order_release);
      this->AddHold();
      this->StartCall();
    }
    void OnReadDone(bool ok) override { read_sender.deliver(ok); }
    void OnDone(const grpc::Status& status) override {
      HF_CHECK(begun.load(std::memory_order_acquire), "a stream is begun before it ends");
      end_sender.deliver(status);
      const std::shared_ptr<Reactor> last = std::move(self);  // tidy: shared with gRPC
    }

    grpc::ClientContext context;
    std::shared_ptr<const void> request;
    Response response;
    Handoff<bool>::Sender read_sender;
    Handoff<grpc::Status>::Sender end_sender;
    std::shared_ptr<Reactor> self;  // tidy: shared with gRPC
    // Orders our writes before gRPC's last callback, as its locks do where no sanitizer sees them.
    std::atomic<bool> begun = false;
  };

  // What it sends is not for us: that is why the stream has ended.
  void refuse(const Status& why) {
    finished_ = why;
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
  Handoff<grpc::Status> done_;
  std::shared_ptr<Reactor> reactor_;  // tidy: shared with gRPC
  Admit admit_;
  std::optional<Status> finished_;
  bool held_ = false;
  bool released_ = false;
  bool broken_ = false;
  bool reading_ = false;
};

}  // namespace holdfast::rpc
