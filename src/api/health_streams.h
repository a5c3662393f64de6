// grpc.health.v1: what clients that can move ask before they do. The service "" stands for the
// whole controller; there are no others.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include <array>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "api/gate.h"
#include "api/lawful.h"
#include "grpc/health/v1/health.pb.h"

namespace holdfast::api {

namespace asio = boost::asio;

class HealthStreams {
 public:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;
  using Reactor = grpc::ServerWriteReactor<Response>;

  static constexpr Duration kBeat = std::chrono::milliseconds(900);

  struct Options {
    size_t max_streams = 100'000;  // more are refused with kResourceExhausted
    // Somebody opened a watch; what is added to its metadata is sent with the first message. May be
    // empty.
    std::function<void(grpc::CallbackServerContext& context)> on_watch = {};
  };

  HealthStreams(const asio::any_io_executor& loop, Gate& gate, Options options);
  // Requires: the server was shut down and the loop ran dry since.
  ~HealthStreams();

  // Every watcher hears of a change; of the latest only, if it is slow.
  void set_serving(bool serving);
  asio::awaitable<Result<Response>> check(Caller caller, Request request);
  // Called by gRPC, on any thread. `beats`: it is told how we are every kBeat, changed or not, so
  // that a client that asks nothing else misses us soon.
  Reactor* watch(grpc::CallbackServerContext& context, Presented presented, const Request* request,
                 bool beats);
  // Sends the beats, a part of the watchers at a time; until the coroutine is cancelled.
  asio::awaitable<void> beat();
  // Ends the streams of callers whose certificate has expired or no longer counts.
  void end_unlawful(WallTime now);
  // Tells every watcher NOT_SERVING, then ends the streams and refuses new ones.
  void shut_down();
  size_t size() const { return streams_.size(); }

 private:
  class Stream;
  static constexpr size_t kSlots = 9;  // of a beat
  void start(std::unique_ptr<Stream> stream);
  void pump(Stream& stream);
  void finish(Stream& stream, const Status& status);

  asio::any_io_executor loop_;
  Gate& gate_;
  Options options_;
  bool serving_ = false;
  GateChanges gate_changes_{gate_};
  bool shut_down_ = false;
  std::unordered_map<Stream*, std::unique_ptr<Stream>> streams_;
  std::array<std::unordered_set<Stream*>, kSlots> beating_;
  size_t next_slot_ = 0;
};

}  // namespace holdfast::api
