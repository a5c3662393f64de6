// Keeps a client on a healthy server: runs the PickHealthy core over gRPC channels and makes calls
// on the connection that is picked. One connection at a time; a second only while the first is
// being replaced.
//
//   rpc::PickHealthyService link(loop, clock, {"lb.example:7443"}, channel_options, options);
//   link.start();
//   using Resources = v1::Resources::StubInterface::async_interface;
//   CO_TRY(v1::Resource found, co_await link.call<v1::Resources>(&Resources::Get, request,
//                                  {.timeout = 5s, .repeat = rpc::Repeat::Safe}));
//
// A call that may be repeated moves to the next connection when its own is lost, answers
// "unavailable" or stays silent; the first answer counts. One that may not is sent once.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/task_group.h"
#include "rpc/call.h"
#include "rpc/channel.h"
#include "rpc/epoch.h"
#include "rpc/pick_healthy.h"
#include "rpc/repeat.h"

namespace holdfast::rpc {

struct Connection {
  uint64_t id = 0;  // never zero, never used again
  std::string address;
  uint64_t credentials = 0;                // counts the calls of use_ and replace_channel_options
  std::shared_ptr<grpc::Channel> channel;  // tidy: shared, gRPC's own handle
};
// Whoever holds one keeps it open: streams pin theirs, and run to their end on it. Start nothing
// new on one that is no longer picked: a channel that lost its server would dial again by itself.
using Pinned = std::shared_ptr<const Connection>;

struct PickedCall {
  Duration timeout = std::chrono::seconds(5);  // of the whole, repetitions included
  Repeat repeat = Repeat::Never;
  std::vector<std::pair<std::string, std::string>> metadata{};
};

struct PickHealthyServiceOptions {
  PickHealthyOptions core{};
  Duration unanswered_after = std::chrono::seconds(1);  // then the connection is doubted
  Duration paired_unanswered_after = std::chrono::milliseconds(300);  // of half of a pair
  // How often the server is to say how it is, so that its silence shows while nobody asks it
  // anything; those that cannot are not waited for. Zero: not asked for.
  Duration beat = std::chrono::milliseconds(900);
  Fence fence{};
  // Whether another server may take credentials that one refuses ("unauthenticated"): for those
  // that the cluster issued and that have not run out.
  bool leave_who_refuses = false;
  uint64_t seed = 1;  // give every process its own: it decides who is dialled first
};

struct PickHealthyStats : pick::Counts {
  uint64_t repeated_calls = 0;  // attempts beyond the first
  Duration reconnect_interval{0};
};

// Belongs to one executor, single-threaded or a strand.
class PickHealthyService {
 public:
  // Requires: at least one address, "HOST:PORT" or "unix:PATH".
  PickHealthyService(const asio::any_io_executor& loop, const Clock& clock,
                     std::vector<std::string> addresses, ChannelOptions channel,
                     PickHealthyServiceOptions options);
  // Requires: never started, or stop() has returned.
  ~PickHealthyService();
  PickHealthyService(const PickHealthyService&) = delete;
  PickHealthyService& operator=(const PickHealthyService&) = delete;

  // Once; begins to dial.
  void start();
  // Ends the dialling, and what waits here with kCancelled. Who pins a connection keeps it.
  asio::awaitable<void> stop();

  // The connection picked now; null while none is connected.
  Pinned picked() const { return picked_; }
  // Waits for one. kUnavailable (HF1301), with the last failure to dial, when the time is over.
  asio::awaitable<Result<Pinned>> wait_picked(Duration timeout);
  // Returns once another connection is picked instead of this one, or none was and one is, or its
  // server was found to be silent; also when this is stopped, or the caller cancelled.
  asio::awaitable<void> left(uint64_t connection_id);
  // The same, however silent its server is.
  asio::awaitable<void> moved(uint64_t connection_id);
  // For streams on it: what to send along, and the look at what comes.
  CallOptions stream_options(const Pinned& connection);
  // A message of a stream on it carries this epoch; zero: none. HF4302 if it is over: the stream is
  // to be ended, and another connection is looked for.
  Status admit_epoch(uint64_t connection_id, uint64_t epoch);
  // A stream on it has ended like this. Calls say so by themselves.
  void stream_ended(uint64_t connection_id, const Status& why);

  // New credentials: a connection with them is made beside the old one and takes over once the
  // server has accepted it (GetServiceConfig answered); until then the old one stays. These three
  // are kFailedPrecondition after stop().
  Status use_channel_options(ChannelOptions channel);
  // At once: the old credentials are worth nothing any more.
  Status replace_channel_options(ChannelOptions channel);
  // Drops every connection and dials nobody until one of the two above. `why` is what calls that
  // wait for a connection end with.
  void pause(std::string why);
  Status set_addresses(std::vector<std::string> addresses);
  // How often a good connection is replaced, make before break; zero: never. Cheap to say again.
  void set_reconnect_interval(Duration interval);

  // `method` is a member of `Service::StubInterface::async_interface`. Ends with the server's
  // answer or error; kUnavailable (HF1301), with the reason, if none could be asked;
  // kDeadlineExceeded if none of those asked answered in time; kCancelled if the coroutine was
  // cancelled, or this stopped.
  template <typename Service, typename Request, typename Response>
  asio::awaitable<Result<Response>> call(void (Service::StubInterface::async_interface::*method)(
                                             grpc::ClientContext*, const Request*, Response*,
                                             std::function<void(grpc::Status)>),
                                         std::type_identity_t<Request> request, PickedCall options);

  const PickHealthyStats& stats() const { return stats_; }
  // Why the last dial failed; empty if none did.
  const std::string& last_failure() const { return last_failure_; }

 private:
  struct Held {
    Pinned connection;
    std::unique_ptr<net::TaskGroup> tasks;
  };
  using Ended = std::function<void(grpc::Status)>;
  // One attempt. gRPC and we share it: either may be done with it first.
  struct Attempt {
    std::shared_ptr<void> in_flight{};  // tidy: shared with gRPC
    grpc::ClientContext* context = nullptr;
  };
  using StartAttempt =
      std::function<Attempt(const Connection& connection, const CallOptions& options, Ended ended)>;
  struct Running;  // one call and its attempts
  using Waiters = std::set<asio::steady_timer*>;

  // What is in flight no more: the attempt that succeeded.
  asio::awaitable<Result<std::shared_ptr<void>>> attempt_until_answered(  // tidy: shared with gRPC
      const StartAttempt& start, const PickedCall& options);
  void start_attempt(Running& running, const StartAttempt& start, const PickedCall& options);
  void note_end(Running& running, size_t attempt, const grpc::Status& status);
  Status outcome(const Running& running, const PickedCall& options) const;
  Status no_connection(Duration timeout) const;
  // Until the pick changed or the time is over; false if the coroutine was cancelled.
  asio::awaitable<bool> next_pick(Duration at_most);

  CallOptions own_options(const Connection& connection, Duration timeout);
  Status admit(uint64_t connection_id, const grpc::ClientContext& context, const Status& answer);
  void note_pair(uint64_t connection_id, uint64_t epoch);
  void expect_beats(const Connection& connection, const Metadata& metadata);
  std::vector<std::pair<std::string, std::string>> greeting() const;

  void carry_out(const pick::Actions& actions);
  void carry_out(const pick::Dial& dial);
  void carry_out(const pick::Discover& discover);
  void carry_out(const pick::WatchHealth& watch);
  void carry_out(const pick::Probe& probe);
  void carry_out(const pick::Drop& drop);
  void carry_out(const pick::Pick& pick);
  void wake_waiters();
  void release(uint64_t connection);
  Status change_settings(Result<pick::Actions> actions);

  asio::awaitable<void> run_timer();
  asio::awaitable<void> follow(Pinned connection, Duration timeout);
  asio::awaitable<bool> connect(const Connection& connection, Duration timeout);
  asio::awaitable<void> discover(Pinned connection);
  asio::awaitable<void> watch_health(Pinned connection, std::string service);
  asio::awaitable<void> probe(Pinned connection, std::string service);

  asio::any_io_executor loop_;
  const Clock& clock_;
  PickHealthyServiceOptions options_;
  PickHealthy core_;
  std::map<uint64_t, ChannelOptions> channel_options_;  // by credentials; those still in use
  uint64_t credentials_ = 0;
  std::map<uint64_t, Held> held_;  // by connection: the core's children
  std::deque<pick::Action> todo_;  // decided, and still to be carried out
  bool carrying_out_ = false;
  Pinned picked_;
  bool pick_is_silent_ = false;
  std::set<uint64_t> paired_;  // of held_, those that are half of a pair
  std::string last_failure_;
  PickHealthyStats stats_;
  uint64_t calls_ = 0;
  bool stopped_ = false;
  asio::steady_timer timer_;
  // Woken when the pick changes. Shared because a waiting coroutine may outlive this.
  std::shared_ptr<Waiters> waiters_ = std::make_shared<Waiters>();  // tidy: shared, see above
  net::TaskGroup tasks_;
};

template <typename Service, typename Request, typename Response>
asio::awaitable<Result<Response>> PickHealthyService::call(
    void (Service::StubInterface::async_interface::*method)(grpc::ClientContext*, const Request*,
                                                            Response*,
                                                            std::function<void(grpc::Status)>),
    std::type_identity_t<Request> request, PickedCall options) {
  // Shared with gRPC, which reads and writes it until its callback ran, whatever became of us.
  struct InFlight {
    std::unique_ptr<typename Service::Stub> stub;
    grpc::ClientContext context;
    std::shared_ptr<const Request> request;
    Response response;
  };
  const auto same_request = std::make_shared<const Request>(std::move(request));
  const StartAttempt start = [&](const Connection& connection, const CallOptions& call_options,
                                 Ended ended) {
    const auto in_flight = std::make_shared<InFlight>();
    in_flight->stub = Service::NewStub(connection.channel);
    in_flight->request = same_request;
    apply(call_options, in_flight->context);
    typename Service::StubInterface::async_interface& methods = *in_flight->stub->async();
    (methods.*method)(
        &in_flight->context, in_flight->request.get(), &in_flight->response,
        [in_flight, ended = std::move(ended)](grpc::Status status) { ended(std::move(status)); });
    return Attempt{.in_flight = in_flight, .context = &in_flight->context};
  };
  CO_TRY(const auto answered, co_await attempt_until_answered(start, options));
  co_return std::move(std::static_pointer_cast<InFlight>(answered)->response);
}

}  // namespace holdfast::rpc
