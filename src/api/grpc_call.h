// One unary call on its way through: from gRPC's thread to the loop, past the gate, and back.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <optional>
#include <string_view>

#include "api/gate.h"
#include "base/result.h"
#include "net/task_group.h"
#include "rpc/status.h"

namespace holdfast::ha {
class PairService;
}

namespace holdfast::api {

namespace asio = boost::asio;

// Which half of a pair serves a call.
enum class ServedBy : uint8_t {
  Active,   // the other one says who is
  Founder,  // the active one; if there is no cluster yet, the primary begins it
  Either,
  EitherAsAVote,  // both, but whoever asks wants one to be active
};

// How a call is named in the audit, and, if it is not about a resource, which permission it needs.
struct CallKind {
  std::string_view verb;
  std::optional<identity::Call> call{};
  ServedBy served_by = ServedBy::Active;
};

struct CallStats {
  uint64_t calls = 0;
  uint64_t refused_when_full = 0;
};

struct CallRoomOptions {
  size_t max_running = 4'096;
  bool local = false;               // all callers come in by the unix socket
  ha::PairService* pair = nullptr;  // null: this controller is not one of a pair
};

// Where the calls of one server run. Belongs to the loop; only handle() is called by gRPC.
class CallRoom {
 public:
  CallRoom(const asio::any_io_executor& loop, Gate& gate, CallRoomOptions options)
      : loop_(loop), gate_(gate), running_(loop), options_(options) {}

  template <typename Service, typename Request, typename Response>
  using Method = asio::awaitable<Result<Response>> (Service::*)(Caller, Request);

  // gRPC keeps request and response alive until Finish.
  template <typename Service, typename Request, typename Response>
  auto handler(Service& service, Method<Service, Request, Response> method, CallKind kind) {
    return [this, &service, method, kind](grpc::CallbackServerContext* context,
                                          const Request* request, Response* response) {
      grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
      asio::post(loop_, [this, &service, method, kind, presented = describe(*context), context,
                         reactor, request, response] {
        const Result<Caller> caller = admit(presented, kind);
        if (!caller.ok()) return reactor->Finish(rpc::to_grpc(caller.status()));
        const auto work = [&service, method, caller = *caller, request] {
          return (service.*method)(caller, *request);
        };
        if (options_.pair == nullptr) {
          running_.spawn(answer(reactor, response, work()));
        } else {
          running_.spawn(answer_in_pair({context, reactor}, response,
                                        arrival_of(presented, *caller, kind), work));
        }
      });
      return reactor;
    };
  }

  // What gRPC knows of who calls.
  Presented describe(const grpc::CallbackServerContext& context) const;
  // The gate, and room for one more.
  Result<Caller> admit(const Presented& presented, const CallKind& kind);
  asio::awaitable<void> join() { return running_.join(); }
  const CallStats& stats() const { return stats_; }
  const asio::any_io_executor& loop() const { return loop_; }
  Gate& gate() { return gate_; }

  // Unary calls that are neither admitted nor gated here run here all the same.
  void spawn(asio::awaitable<void> task) { running_.spawn(std::move(task)); }

 private:
  struct Open {
    grpc::CallbackServerContext* context;
    grpc::ServerUnaryReactor* reactor;
  };
  // What decides whether this half serves a call.
  struct Arrival {
    uint64_t known_epoch = 0;
    bool somebody = false;
    ServedBy served_by = ServedBy::Active;
  };
  static Arrival arrival_of(const Presented& presented, const Caller& caller, const CallKind& kind);
  asio::awaitable<Status> pass(Arrival arrival);
  void finish_in_pair(const Open& open, const Status& status);

  template <typename Response, typename Work>
  asio::awaitable<void> answer_in_pair(Open open, Response* response, Arrival arrival, Work work) {
    Status status = co_await pass(arrival);
    if (status.ok()) {
      Result<Response> result = co_await work();
      status = result.status();
      if (status.ok()) *response = *std::move(result);
    }
    if (absl::IsCancelled(status)) status = absl::UnavailableError("the controller is stopping");
    note_failure(status);
    finish_in_pair(open, status);
  }
  template <typename Response>
  asio::awaitable<void> answer(grpc::ServerUnaryReactor* reactor, Response* response,
                               asio::awaitable<Result<Response>> work) {
    Result<Response> result = co_await std::move(work);
    // Only a server that stops cancels its calls.
    if (absl::IsCancelled(result.status())) {
      result = absl::UnavailableError("the controller is stopping");
    }
    const Status status = result.status();
    if (result.ok()) *response = *std::move(result);
    note_failure(status);
    reactor->Finish(rpc::to_grpc(status));
  }
  void note_failure(const Status& status);

  asio::any_io_executor loop_;
  Gate& gate_;
  net::TaskGroup running_;
  const CallRoomOptions options_;
  CallStats stats_;
  Status last_failure_;
};

}  // namespace holdfast::api
