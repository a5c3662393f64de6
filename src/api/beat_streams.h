// The beats of this half of a pair, as the other half has them: a stream each, one write in flight,
// of the latest beat only. gRPC's threads only post to the loop.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <unordered_map>

#include "api/gate.h"
#include "api/lawful.h"
#include "holdfast/v1/pair.pb.h"

namespace holdfast::ha {
class PairService;
}

namespace holdfast::api {

namespace asio = boost::asio;

// A controller, but not this one. Audited if not.
Status allow_as_peer(Gate& gate, const Caller& caller, std::string_view own_name);

class BeatStreams {
 public:
  using Reactor = grpc::ServerWriteReactor<v1::Beat>;

  struct Options {
    std::string own_name{};
    size_t max_streams = 8;  // one is enough; others are of connections that are gone
  };
  BeatStreams(const asio::any_io_executor& loop, Gate& gate, Options options);
  // Requires: the server was shut down and the loop ran dry since.
  ~BeatStreams();

  // Whose beats they are; before the first stream.
  void set_pair(ha::PairService& pair) { pair_ = &pair; }
  // Called by gRPC, on any thread.
  Reactor* open(Presented presented, const v1::BeatsRequest* request);
  void send(const v1::Beat& beat);
  // Ends the streams of certificates that no longer count.
  void end_unlawful(WallTime now);
  void shut_down();
  size_t size() const { return streams_.size(); }

 private:
  class Stream;
  void start(std::unique_ptr<Stream> stream);
  void pump(Stream& stream);
  void finish(Stream& stream, const Status& status);

  asio::any_io_executor loop_;
  Gate& gate_;
  Options options_;
  ha::PairService* pair_ = nullptr;
  std::unordered_map<Stream*, std::unique_ptr<Stream>> streams_;
  GateChanges gate_changes_{gate_};
  bool shut_down_ = false;
};

}  // namespace holdfast::api
