// Watch calls on the wire: one message in flight per stream, each a shared encoded batch of the
// fan-out. gRPC's threads only post to the loop; everything else happens on the loop.
//
//   append ─► wake ─► due ─► round: take, StartWrite ··· OnWriteDone ─► due ─► ... until nothing is
//
// Rounds are paced (events/pace.h): what happens between two of them travels in one message.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <unordered_map>
#include <vector>

#include "api/gate.h"
#include "api/lawful.h"
#include "base/clock.h"
#include "events/fan_out.h"
#include "events/pace.h"
#include "events/watch_request.h"
#include "net/task_group.h"
#include "store/store.h"

namespace holdfast::ha {
class PairService;
}

namespace holdfast::api {

namespace asio = boost::asio;

struct WatchStreamsOptions {
  events::WatchLimits limits;
  events::PaceOptions pace;
};

class WatchStreams {
 public:
  // All outlive the streams.
  struct Parts {
    store::Store& store;
    events::FanOut& fan_out;
    Gate& gate;
    const Clock& clock;
    ha::PairService* pair = nullptr;  // null: this controller is not one of a pair
  };
  WatchStreams(const asio::any_io_executor& loop, Parts parts, WatchStreamsOptions options);
  // Requires: the server was shut down and the loop ran dry since.
  ~WatchStreams();

  // Called by gRPC, on any thread.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* open(Presented presented,
                                                   grpc::CallbackServerContext& context,
                                                   const grpc::ByteBuffer* request);

  // Lets these watchers take what is due to them.
  void wake(const std::vector<events::WatcherId>& ids);
  // Ends the streams of callers who may no longer see what they see: the certificate has expired,
  // or a permission was taken from them.
  void end_unlawful();
  // Ends every stream that runs.
  void end_all(const Status& why);
  // Ends every stream and refuses new ones.
  asio::awaitable<void> shut_down();
  size_t size() const { return streams_.size(); }

 private:
  class Stream;
  void start(std::unique_ptr<Stream> stream, const Result<events::WatchRequest>& asked);
  void begin(Stream& stream, const events::WatchRequest& request);
  asio::awaitable<void> begin_in_pair(Stream& stream, events::WatchRequest request);
  asio::awaitable<void> add_at_latest(Stream& stream, events::WatchRequest request);
  void add(Stream& stream, const events::WatchRequest& request);
  void make_due(Stream& stream);
  void run_round();
  void pump(Stream& stream);
  void on_write_done(Stream& stream, bool ok);
  void on_cancel(Stream& stream);
  void forget(Stream& stream);
  void finish(Stream& stream, const Status& status);

  asio::any_io_executor loop_;
  store::Store& store_;
  events::FanOut& fan_out_;
  Gate& gate_;
  const Clock& clock_;
  ha::PairService* pair_;
  WatchStreamsOptions options_;
  events::Pace pace_;
  asio::steady_timer next_round_;
  std::vector<Stream*> due_;
  bool round_is_set_ = false;
  std::unordered_map<Stream*, std::unique_ptr<Stream>> streams_;
  std::unordered_map<events::WatcherId, Stream*> by_watcher_;
  GateChanges gate_changes_{gate_};
  bool shut_down_ = false;
  net::TaskGroup starting_;
};

}  // namespace holdfast::api
