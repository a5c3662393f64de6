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

namespace holdfast::api {

namespace asio = boost::asio;

// How a call is named in the audit, and, if it is not about a resource, which permission it needs.
struct CallKind {
  std::string_view verb;
  std::optional<identity::Call> call{};
};

struct CallStats {
  uint64_t calls = 0;
  uint64_t refused_when_full = 0;
};

// Where the calls of one server run. Belongs to the loop; only handle() is called by gRPC.
class CallRoom {
 public:
  CallRoom(const asio::any_io_executor& loop, Gate& gate, size_t max_running, bool local)
      : loop_(loop), gate_(gate), running_(loop), max_running_(max_running), local_(local) {}

  template <typename Service, typename Request, typename Response>
  using Method = asio::awaitable<Result<Response>> (Service::*)(Caller, Request);

  // gRPC keeps request and response alive until Finish.
  template <typename Service, typename Request, typename Response>
  auto handler(Service& service, Method<Service, Request, Response> method, CallKind kind) {
    return [this, &service, method, kind](grpc::CallbackServerContext* context,
                                          const Request* request, Response* response) {
      grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
      asio::post(loop_, [this, &service, method, kind, presented = describe(*context), reactor,
                         request, response] {
        const Result<Caller> caller = admit(presented, kind);
        if (!caller.ok()) return reactor->Finish(rpc::to_grpc(caller.status()));
        running_.spawn(answer(reactor, response, (service.*method)(*caller, *request)));
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

 private:
  template <typename Response>
  asio::awaitable<void> answer(grpc::ServerUnaryReactor* reactor, Response* response,
                               asio::awaitable<Result<Response>> work) {
    Result<Response> result = co_await std::move(work);
    // Only a server that stops cancels its calls.
    if (absl::IsCancelled(result.status())) {
      result = absl::UnavailableError("the controller is stopping");
    }
    if (result.ok()) *response = *std::move(result);
    note_failure(result.status());
    reactor->Finish(rpc::to_grpc(result.status()));
  }
  void note_failure(const Status& status);

  asio::any_io_executor loop_;
  Gate& gate_;
  net::TaskGroup running_;
  const size_t max_running_;
  const bool local_;
  CallStats stats_;
  Status last_failure_;
};

}  // namespace holdfast::api
