// One unary gRPC call as a coroutine, over the callback API. The call runs on gRPC's threads; the
// coroutine resumes on its own executor, which must be single-threaded or a strand.
//
//   using Kv = etcdserverpb::KV::StubInterface::async_interface;
//   CO_TRY(RangeResponse found, co_await rpc::call(*stub->async(), &Kv::Range, request, {}));
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "rpc/handoff.h"
#include "rpc/status.h"

namespace holdfast::rpc {

// Looks at what a server sent beside its answer, and says what the call comes to; before anybody
// else sees the answer. Of a stream it is asked with the first message, or else with the end.
using Admit = std::function<Status(const grpc::ClientContext& context, const Status& answer)>;

struct CallOptions {
  Duration timeout = std::chrono::seconds(5);  // zero: until it is cancelled
  std::vector<std::pair<std::string, std::string>> metadata{};
  Admit admit{};
};

inline void apply(const CallOptions& options, grpc::ClientContext& context) {
  for (const auto& [name, value] : options.metadata) context.AddMetadata(name, value);
  if (options.timeout <= Duration::zero()) return;
  using Wall = std::chrono::system_clock;
  context.set_deadline(Wall::now() + std::chrono::duration_cast<Wall::duration>(options.timeout));
}

// Ends with the peer's answer, its error, or kDeadlineExceeded. When the waiting coroutine is
// cancelled the call is too, and kCancelled is returned at once; when it is destroyed, the call is
// cancelled and finishes by itself.
template <typename Service, typename Request, typename Response>
asio::awaitable<Result<Response>> call(std::type_identity_t<Service>& service,
                                       void (Service::*method)(grpc::ClientContext*, const Request*,
                                                               Response*,
                                                               std::function<void(grpc::Status)>),
                                       std::type_identity_t<Request> request, CallOptions options) {
  // Shared with gRPC, which reads and writes it until its callback ran, whatever became of us.
  struct InFlight {
    grpc::ClientContext context;
    Request request;
    Response response;
  };
  auto in_flight = std::make_shared<InFlight>();
  in_flight->request = std::move(request);
  apply(options, in_flight->context);

  Handoff<grpc::Status> finished(co_await asio::this_coro::executor);
  struct CancelUnlessFinished {
    ~CancelUnlessFinished() {
      if (context != nullptr) context->TryCancel();
    }
    grpc::ClientContext* context;
  } cancel{&in_flight->context};

  (service.*method)(&in_flight->context, &in_flight->request, &in_flight->response,
                    [in_flight, sender = finished.sender()](grpc::Status status) {
                      sender.deliver(std::move(status));
                    });
  const std::optional<grpc::Status> status = co_await finished.take();
  if (!status) co_return absl::CancelledError("the waiting coroutine was cancelled");
  cancel.context = nullptr;
  Status answer = from_grpc(*status);
  if (options.admit) answer = options.admit(in_flight->context, answer);
  if (!answer.ok()) co_return answer;
  co_return std::move(in_flight->response);
}

}  // namespace holdfast::rpc
