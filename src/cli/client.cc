#include "cli/client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "rpc/status.h"

namespace holdfast::cli {
namespace {

std::chrono::system_clock::time_point after(Duration timeout) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
}

}  // namespace

Client::Client(ClientOptions options) : options_(std::move(options)) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(16 << 20);
  // Else one would be asked even for loopback.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  channel_ =
      grpc::CreateCustomChannel(options_.server, grpc::InsecureChannelCredentials(), arguments);
  resources_ = v1::Resources::NewStub(channel_);
  events_ = v1::Events::NewStub(channel_);
}

Status Client::connect() {
  if (options_.wait <= Duration::zero()) return absl::OkStatus();
  if (channel_->WaitForConnected(after(options_.wait))) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("waited {} for it", to_short_string(options_.wait)));
}

Asked Client::asked() const {
  return {.server = options_.server, .answered = channel_->GetState(false) == GRPC_CHANNEL_READY};
}

template <typename Request, typename Response>
Result<Response> Client::call(grpc::Status (v1::Resources::Stub::*method)(grpc::ClientContext*,
                                                                          const Request&,
                                                                          Response*),
                              const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(after(options_.timeout));
  Response response;
  const grpc::Status status = ((*resources_).*method)(&context, request, &response);
  if (!status.ok()) return rpc::from_grpc(status);
  return response;
}

Result<v1::Resource> Client::get(const v1::GetRequest& request) {
  return call(&v1::Resources::Stub::Get, request);
}

Result<v1::ListResponse> Client::list(const v1::ListRequest& request) {
  return call(&v1::Resources::Stub::List, request);
}

Result<v1::Resource> Client::create(const v1::WriteRequest& request) {
  return call(&v1::Resources::Stub::Create, request);
}

Result<v1::Resource> Client::update(const v1::WriteRequest& request) {
  return call(&v1::Resources::Stub::Update, request);
}

Result<v1::DeleteResponse> Client::remove(const v1::DeleteRequest& request) {
  return call(&v1::Resources::Stub::Delete, request);
}

Status Client::watch(const v1::WatchRequest& request,
                     const std::function<bool(const v1::Event&)>& on_event) {
  grpc::ClientContext context;
  const std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> stream =
      events_->Watch(&context, request);
  v1::WatchResponse response;
  while (stream->Read(&response)) {
    for (const v1::Event& event : response.events()) {
      if (on_event(event)) continue;
      context.TryCancel();
      stream->Finish();
      return absl::OkStatus();
    }
  }
  return rpc::from_grpc(stream->Finish());
}

}  // namespace holdfast::cli
