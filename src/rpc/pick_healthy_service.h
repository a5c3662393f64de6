// Keeps a client on a healthy server: runs the PickHealthy core over gRPC channels and makes calls
// on the connection that is picked. One connection at a time; a second only while the first is
// being replaced.
//
//   rpc::PickHealthyService link(loop, clock, {"lb.example:7443"}, channel_options, options);
//   link.start();
//   CO_TRY(v1::Resource found, co_await link.call<v1::Resources>(&Resources::Get, request,
//                                                 {.timeout = 5s, .repeat = Repeat::Safe}));
//
// A call that may be repeated moves to the next connection when its own is lost, answers
// "unavailable" or stays silent; the first answer counts. One that may not is sent once.
#pragma once

#include <grpcpp/channel.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "rpc/channel.h"
#include "rpc/pick_healthy.h"

namespace holdfast::rpc {

struct Connection {
  uint64_t id = 0;
  std::string address;
  uint64_t credentials = 0;                // counts use_channel_options() calls
  std::shared_ptr<grpc::Channel> channel;  // tidy: shared, gRPC's own handle
};
// Whoever holds one keeps it open: streams pin theirs, and run to their end on it.
using Pinned = std::shared_ptr<const Connection>;

enum class Repeat : uint8_t {
  Never,  // sent once; kUnavailable may mean that it was carried out
  Safe,   // reads, and writes with a request id
};

struct PickedCall {
  Duration timeout = std::chrono::seconds(5);  // of the whole, repetitions included
  Repeat repeat = Repeat::Never;
};

struct PickHealthyServiceOptions {
  PickHealthyOptions core{};
  Duration unanswered_after = std::chrono::seconds(1);  // then the connection is doubted
  uint64_t seed = 1;
};

struct PickHealthyStats {
  uint64_t dialled = 0;
  uint64_t failed_dials = 0;
  uint64_t swaps = 0;           // the backup took over
  uint64_t dropped_backups = 0; // the old connection recovered first
  uint64_t repeated_calls = 0;  // attempts beyond the first
  uint64_t doubts = 0;
  Duration last_recovery{0};    // from the active turning unusable to a usable pick
};

// Belongs to one executor, single-threaded or a strand.
class PickHealthyService {
 public:
  // Requires: at least one address, "HOST:PORT" or "unix:PATH".
  PickHealthyService(const asio::any_io_executor& loop, const Clock& clock,
                     std::vector<std::string> addresses, ChannelOptions channel,
                     PickHealthyServiceOptions options);

  void start();
  asio::awaitable<void> stop();

  // The connection picked now; null while none is connected.
  Pinned picked() const;
  // Waits for one. kUnavailable, with the last failure, when the time is over.
  asio::awaitable<Result<Pinned>> wait_picked(Duration timeout);
  // Returns once another connection is picked instead of this one, or none was and one is.
  asio::awaitable<void> left(uint64_t connection_id);

  // New credentials: a connection with them is made beside the old one and takes over once the
  // server has accepted it (GetServiceConfig answered); until then the old one stays.
  void use_channel_options(ChannelOptions channel);
  // At once: the old credentials are worth nothing any more.
  void replace_channel_options(ChannelOptions channel);
  void set_addresses(std::vector<std::string> addresses);

  // `method` is a member of `Service::StubInterface::async_interface`.
  template <typename Service, typename Request, typename Response>
  asio::awaitable<Result<Response>> call(/* method, request, PickedCall */);

  const PickHealthyStats& stats() const;
};

}  // namespace holdfast::rpc
