#include "api/grpc_server.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "base/log.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "rpc/status.h"

namespace holdfast::api {
namespace {

// What running calls have to end by themselves when the server stops.
constexpr std::chrono::seconds kGrace(1);

template <typename Response>
asio::awaitable<void> answer(grpc::ServerUnaryReactor* reactor, Response* response,
                             asio::awaitable<Result<Response>> work,
                             std::function<void(const Status&)> note_failure) {
  Result<Response> result = co_await std::move(work);
  // Only a server that stops cancels its calls.
  if (absl::IsCancelled(result.status())) {
    result = absl::UnavailableError("the controller is stopping");
  }
  if (result.ok()) *response = *std::move(result);
  note_failure(result.status());
  reactor->Finish(rpc::to_grpc(result.status()));
}

}  // namespace

// Each call becomes a coroutine on the loop; gRPC keeps request and response alive until Finish.
class GrpcServer::Resources final : public v1::Resources::CallbackService {
 public:
  Resources(GrpcServer& server, ResourceService& service) : server_(server), service_(service) {}

  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const v1::GetRequest* request,
                                v1::Resource* response) override {
    return handle(context, request, response, &ResourceService::get);
  }
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const v1::ListRequest* request,
                                 v1::ListResponse* response) override {
    return handle(context, request, response, &ResourceService::list);
  }
  grpc::ServerUnaryReactor* Create(grpc::CallbackServerContext* context,
                                   const v1::WriteRequest* request,
                                   v1::Resource* response) override {
    return handle(context, request, response, &ResourceService::create);
  }
  grpc::ServerUnaryReactor* Update(grpc::CallbackServerContext* context,
                                   const v1::WriteRequest* request,
                                   v1::Resource* response) override {
    return handle(context, request, response, &ResourceService::update);
  }
  grpc::ServerUnaryReactor* Upsert(grpc::CallbackServerContext* context,
                                   const v1::WriteRequest* request,
                                   v1::Resource* response) override {
    return handle(context, request, response, &ResourceService::upsert);
  }
  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context,
                                   const v1::DeleteRequest* request,
                                   v1::DeleteResponse* response) override {
    return handle(context, request, response, &ResourceService::remove);
  }

 private:
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* handle(
      grpc::CallbackServerContext* context, const Request* request, Response* response,
      asio::awaitable<Result<Response>> (ResourceService::*method)(Request)) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    asio::post(server_.loop_, [this, reactor, request, response, method] {
      server_.stats_.calls += 1;
      if (server_.calls_.size() >= server_.options_.max_calls_in_flight) {
        server_.stats_.refused_when_full += 1;
        return reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls at once"});
      }
      server_.calls_.spawn(answer(reactor, response, (service_.*method)(*request),
                                  [this](const Status& status) { server_.note_failure(status); }));
    });
    return reactor;
  }

  GrpcServer& server_;
  ResourceService& service_;
};

// Watch is raw: what is written was encoded once, for all watchers.
class GrpcServer::Events final
    : public v1::Events::WithRawCallbackMethod_Watch<v1::Events::Service> {
 public:
  explicit Events(WatchStreams& watches) : watches_(watches) {}

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(grpc::CallbackServerContext* /*context*/,
                                                    const grpc::ByteBuffer* request) override {
    return watches_.open(request);
  }

 private:
  WatchStreams& watches_;
};

GrpcServer::GrpcServer(const asio::any_io_executor& loop, GrpcServerOptions options,
                       ResourceService& resources, WatchStreams& watches)
    : loop_(loop),
      options_(std::move(options)),
      watches_(watches),
      calls_(loop),
      resources_(std::make_unique<Resources>(*this, resources)),
      events_(std::make_unique<Events>(watches)) {}

GrpcServer::~GrpcServer() = default;

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const asio::any_io_executor& loop,
                                                      GrpcServerOptions options,
                                                      ResourceService& resources,
                                                      WatchStreams& watches) {
  std::unique_ptr<GrpcServer> server(new GrpcServer(loop, std::move(options), resources, watches));
  TRY_OK(server->listen());
  return server;
}

Status GrpcServer::listen() {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(options_.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options_.max_streams_per_connection);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  ports_.resize(options_.listen.size());
  for (size_t i = 0; i < options_.listen.size(); ++i) {
    builder.AddListeningPort(options_.listen[i], grpc::InsecureServerCredentials(), &ports_[i]);
  }
  builder.RegisterService(resources_.get());
  builder.RegisterService(events_.get());
  server_ = builder.BuildAndStart();
  if (server_ != nullptr) return absl::OkStatus();
  return absl::UnavailableError(
      fmt::format("cannot listen on {}: in use, or not an address of this machine",
                  fmt::join(options_.listen, ", ")));
}

// What is the controller's own trouble goes to its log, once until it changes.
void GrpcServer::note_failure(const Status& status) {
  const bool ours = absl::IsUnavailable(status) || absl::IsDataLoss(status) ||
                    absl::IsResourceExhausted(status) || absl::IsInternal(status) ||
                    absl::IsUnknown(status) || absl::IsDeadlineExceeded(status);
  if (!ours || last_failure_ == status) return;
  last_failure_ = status;
  log::error("a call failed", {{"why", status.ToString()}});
}

asio::awaitable<void> GrpcServer::stop() {
  co_await watches_.shut_down();
  // Shutdown() blocks until every call is finished, and calls finish on this loop.
  bool done = false;
  asio::steady_timer grace(loop_, kGrace);
  std::thread stopping([this, &done, &grace, guard = asio::make_work_guard(loop_)] {
    server_->Shutdown(std::chrono::system_clock::now() + kGrace);
    asio::post(loop_, [&done, &grace] {
      done = true;
      grace.cancel();
    });
  });
  while (!done) {
    co_await grace.async_wait(asio::as_tuple(asio::use_awaitable));
    if (done) break;
    co_await calls_.join();  // what still waits for the store
    grace.expires_after(kGrace);
  }
  stopping.join();
  co_await calls_.join();
}

}  // namespace holdfast::api
