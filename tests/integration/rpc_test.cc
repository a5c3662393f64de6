// Calls and streams of rpc/ against a gRPC server in this process.
#include <gtest/gtest.h>

#include <grpcpp/server_builder.h>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "etcd/etcd.grpc.pb.h"
#include "rpc/bidi_stream.h"
#include "rpc/call.h"
#include "rpc/channel.h"
#include "support/eventually.h"

namespace holdfast::rpc {
namespace {

using namespace std::chrono_literals;
using etcdserverpb::RangeRequest;
using etcdserverpb::RangeResponse;
using etcdserverpb::WatchRequest;
using etcdserverpb::WatchResponse;
using Kv = etcdserverpb::KV::StubInterface::async_interface;
using WatchMethods = etcdserverpb::Watch::StubInterface::async_interface;
using Stream = BidiStream<WatchRequest, WatchResponse>;

// Range: "slow" answers when the caller gave up, "fail" with an error, others with the metadata
// "mark". Watch: echoes each key as a watch id; "end" ends the stream with an error.
class Server final : public etcdserverpb::KV::Service, public etcdserverpb::Watch::Service {
 public:
  Server() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<etcdserverpb::KV::Service*>(this));
    builder.RegisterService(static_cast<etcdserverpb::Watch::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~Server() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int entered() const { return entered_; }  // calls that wait, and streams
  int gave_up() const { return gave_up_; }

  grpc::Status Range(grpc::ServerContext* context, const RangeRequest* request,
                     RangeResponse* response) override {
    if (request->key() == "slow") wait_until_cancelled(*context);
    if (request->key() == "fail") return {grpc::StatusCode::ABORTED, "as asked"};
    const auto mark = context->client_metadata().find("mark");
    if (mark != context->client_metadata().end())
      response->set_count(std::stoi(mark->second.data()));
    return grpc::Status::OK;
  }

  grpc::Status Watch(grpc::ServerContext* context,
                     grpc::ServerReaderWriter<WatchResponse, WatchRequest>* stream) override {
    entered_ += 1;
    WatchRequest request;
    while (stream->Read(&request)) {
      if (request.create_request().key() == "end") return {grpc::StatusCode::ABORTED, "as asked"};
      WatchResponse response;
      response.set_watch_id(request.create_request().watch_id());
      stream->Write(response);
    }
    if (context->IsCancelled()) gave_up_ += 1;
    return grpc::Status::OK;
  }

 private:
  void wait_until_cancelled(grpc::ServerContext& context) {
    entered_ += 1;
    EXPECT_TRUE(test::eventually([&] { return context.IsCancelled(); }, 20s));
    gave_up_ += 1;
  }

  int port_ = 0;
  std::atomic<int> entered_ = 0;
  std::atomic<int> gave_up_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class RpcTest : public testing::Test {
 protected:
  asio::awaitable<Result<RangeResponse>> range(std::string key, CallOptions options) {
    RangeRequest request;
    request.set_key(std::move(key));
    co_return co_await call(*kv_->async(), &Kv::Range, request, std::move(options));
  }

  template <typename T>
  T run(asio::awaitable<T> work) {
    std::optional<T> result;
    asio::co_spawn(*io_, std::move(work),
                   [&result](std::exception_ptr, T value) { result = std::move(value); });
    io_->restart();
    io_->run_for(20s);
    HF_CHECK(result.has_value(), "the work ends");
    return *std::move(result);
  }

  // Runs the loop until it is so.
  bool until(const std::function<bool()>& condition) {
    for (const auto end = std::chrono::steady_clock::now() + 20s; !condition();) {
      if (std::chrono::steady_clock::now() > end) return false;
      io_->restart();
      io_->run_for(5ms);
    }
    return true;
  }
  void wait_for_server_to_notice(int count) {
    EXPECT_TRUE(test::eventually([&] { return server_.gave_up() == count; }, 20s));
  }

  Server server_;
  std::unique_ptr<asio::io_context> io_ = std::make_unique<asio::io_context>();
  std::shared_ptr<grpc::Channel> channel_ = make_channel(server_.address(), {});
  std::unique_ptr<etcdserverpb::KV::StubInterface> kv_ = etcdserverpb::KV::NewStub(channel_);
  std::unique_ptr<etcdserverpb::Watch::StubInterface> watch_ =
      etcdserverpb::Watch::NewStub(channel_);
};

TEST_F(RpcTest, ACallReturnsTheAnswerOnItsOwnExecutor) {
  std::thread::id resumed;

  const auto answer = run([&]() -> asio::awaitable<Result<RangeResponse>> {
    auto response = co_await range("a", {.metadata = {{"mark", "7"}}});
    resumed = std::this_thread::get_id();
    co_return response;
  }());

  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->count(), 7);
  EXPECT_EQ(resumed, std::this_thread::get_id());
}

TEST_F(RpcTest, AnErrorKeepsItsCodeAndMessage) {
  EXPECT_EQ(run(range("fail", {})).status(), absl::AbortedError("as asked"));
}

TEST_F(RpcTest, ACallEndsAtItsDeadline) {
  EXPECT_EQ(run(range("slow", {.timeout = 50ms})).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(RpcTest, CancellingTheCoroutineCancelsTheCall) {
  asio::cancellation_signal signal;
  std::optional<Status> ended;
  asio::co_spawn(*io_, range("slow", {}),
                 asio::bind_cancellation_slot(
                     signal.slot(), [&](std::exception_ptr, Result<RangeResponse> answer) {
                       ended = answer.status();
                     }));
  ASSERT_TRUE(until([&] { return server_.entered() == 1; }));

  signal.emit(asio::cancellation_type::terminal);

  ASSERT_TRUE(until([&] { return ended.has_value(); }));
  EXPECT_EQ(ended->code(), absl::StatusCode::kCancelled);
  wait_for_server_to_notice(1);
}

TEST_F(RpcTest, DestroyingTheExecutorCancelsTheCall) {
  asio::co_spawn(*io_, range("slow", {}), asio::detached);
  ASSERT_TRUE(until([&] { return server_.entered() == 1; }));

  io_.reset();

  wait_for_server_to_notice(1);
}

TEST_F(RpcTest, ManyCallsRunAtOnce) {
  int done = 0;
  for (int i = 0; i < 300; ++i) {
    asio::co_spawn(*io_, range("a", {}), [&](std::exception_ptr, Result<RangeResponse> answer) {
      done += answer.ok() ? 1 : 0;
    });
  }

  io_->run();

  EXPECT_EQ(done, 300);
}

WatchRequest echo(int64_t id, std::string key = "") {
  WatchRequest request;
  request.mutable_create_request()->set_watch_id(id);
  request.mutable_create_request()->set_key(std::move(key));
  return request;
}

TEST_F(RpcTest, AStreamCarriesMessagesBothWaysAndSaysWhyItEnded) {
  Stream stream(io_->get_executor());
  stream.start(*watch_->async(), &WatchMethods::Watch, {.timeout = 10s});

  const Status why = run([&]() -> asio::awaitable<Status> {
    for (int64_t i = 0; i < 100; ++i) {
      EXPECT_TRUE(co_await stream.write(echo(i)));
      const auto message = co_await stream.read();
      EXPECT_TRUE(message && message->watch_id() == i);
    }
    EXPECT_TRUE(co_await stream.write(echo(0, "end")));
    EXPECT_FALSE((co_await stream.read()).has_value());
    EXPECT_FALSE((co_await stream.read()).has_value());
    co_return co_await stream.finish();
  }());

  EXPECT_EQ(why, absl::AbortedError("as asked"));
  EXPECT_EQ(run(stream.finish()), why) << "asked again, it says the same";
}

TEST_F(RpcTest, CancellingAStreamEndsItsRead) {
  Stream stream(io_->get_executor());
  stream.start(*watch_->async(), &WatchMethods::Watch, {.timeout = 0s});
  std::optional<Status> why;
  asio::co_spawn(
      *io_,
      [&]() -> asio::awaitable<Status> {
        EXPECT_FALSE((co_await stream.read()).has_value());
        co_return co_await stream.finish();
      },
      [&](const std::exception_ptr&, Status ended) { why = std::move(ended); });
  ASSERT_TRUE(until([&] { return server_.entered() == 1; }));

  stream.cancel();

  ASSERT_TRUE(until([&] { return why.has_value(); }));
  EXPECT_EQ(why->code(), absl::StatusCode::kCancelled);
  wait_for_server_to_notice(1);
}

TEST_F(RpcTest, AStreamToNowhereFailsToReadAndSaysWhy) {
  const auto nowhere = etcdserverpb::Watch::NewStub(make_channel("127.0.0.1:1", {}));
  Stream stream(io_->get_executor());
  stream.start(*static_cast<etcdserverpb::Watch::StubInterface&>(*nowhere).async(),
               &WatchMethods::Watch, {});

  const Status why = run([&]() -> asio::awaitable<Status> {
    EXPECT_FALSE((co_await stream.read()).has_value());
    co_return co_await stream.finish();
  }());

  EXPECT_EQ(why.code(), absl::StatusCode::kUnavailable);
}

asio::awaitable<void> read_forever(Stream& stream) {
  co_await stream.read();
}

TEST_F(RpcTest, StreamsMayBeDestroyedAtAnyMoment) {
  {
    const Stream never_started(io_->get_executor());
    Stream unread(io_->get_executor());
    unread.start(*watch_->async(), &WatchMethods::Watch, {.timeout = 0s});
  }
  Stream reading(io_->get_executor());
  reading.start(*watch_->async(), &WatchMethods::Watch, {.timeout = 0s});
  asio::cancellation_signal signal;
  asio::co_spawn(*io_, read_forever(reading),
                 asio::bind_cancellation_slot(signal.slot(), asio::detached));
  io_->run_for(50ms);
  signal.emit(asio::cancellation_type::terminal);
  io_->run_for(1s);

  EXPECT_EQ(run(range("fail", {})).status().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace holdfast::rpc
