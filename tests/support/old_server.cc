#include "support/old_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"

namespace holdfast::test {
namespace {

using grpc::ServerContext;
using Controller = std::shared_ptr<grpc::Channel>;

grpc::Status no_kind(const std::string& kind) {
  return {grpc::StatusCode::UNIMPLEMENTED, fmt::format("this controller has no kind \"{}\"", kind)};
}

// Ends when the caller's call does.
template <typename Stub, typename Request, typename Response>
grpc::Status pass_on(ServerContext* from, Stub& stub,
                     grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     const Request& request, Response* response) {
  const auto context = grpc::ClientContext::FromServerContext(*from);
  return (stub.*method)(context.get(), request, response);
}

class OldResources final : public v1::Resources::Service {
 public:
  using Stub = v1::Resources::Stub;
  OldResources(const Controller& to, const OldServerOptions& options, OldServerStats& stats)
      : to_(v1::Resources::NewStub(to)), options_(options), stats_(stats) {}

  grpc::Status Get(ServerContext* context, const v1::GetRequest* request,
                   v1::Resource* response) override {
    stats_.gets += 1;
    if (is_unknown(request->kind())) return no_kind(request->kind());
    return pass_on(context, *to_, &Stub::Get, *request, response);
  }
  grpc::Status List(ServerContext* context, const v1::ListRequest* request,
                    v1::ListResponse* response) override {
    stats_.lists += 1;
    if (is_unknown(request->kind())) return no_kind(request->kind());
    const grpc::Status status = pass_on(context, *to_, &Stub::List, *request, response);
    response->clear_page_revision();
    return status;
  }
  grpc::Status Create(ServerContext* context, const v1::WriteRequest* request,
                      v1::Resource* response) override {
    return write(context, &Stub::Create, *request, response);
  }
  grpc::Status Update(ServerContext* context, const v1::WriteRequest* request,
                      v1::Resource* response) override {
    return write(context, &Stub::Update, *request, response);
  }
  grpc::Status Upsert(ServerContext* context, const v1::WriteRequest* request,
                      v1::Resource* response) override {
    return write(context, &Stub::Upsert, *request, response);
  }
  grpc::Status Delete(ServerContext* context, const v1::DeleteRequest* request,
                      v1::DeleteResponse* response) override {
    stats_.writes += 1;
    if (is_unknown(request->kind())) return no_kind(request->kind());
    v1::DeleteRequest known = *request;
    known.clear_request_id();
    return pass_on(context, *to_, &Stub::Delete, known, response);
  }

 private:
  using Write = grpc::Status (Stub::*)(grpc::ClientContext*, const v1::WriteRequest&,
                                       v1::Resource*);
  grpc::Status write(ServerContext* context, Write method, const v1::WriteRequest& request,
                     v1::Resource* response) {
    stats_.writes += 1;
    if (is_unknown(request.resource().kind())) return no_kind(request.resource().kind());
    v1::WriteRequest known = request;
    known.clear_request_id();
    return pass_on(context, *to_, method, known, response);
  }
  bool is_unknown(const std::string& kind) const {
    return !kind.empty() && kind == options_.without_kind;
  }

  std::unique_ptr<Stub> to_;
  const OldServerOptions& options_;
  OldServerStats& stats_;
};

class OldEvents final : public v1::Events::Service {
 public:
  OldEvents(const Controller& to, const OldServerOptions& options, OldServerStats& stats)
      : to_(v1::Events::NewStub(to)), options_(options), stats_(stats) {}

  grpc::Status Watch(ServerContext* context, const v1::WatchRequest* request,
                     grpc::ServerWriter<v1::WatchResponse>* writer) override {
    stats_.watches += 1;
    v1::WatchRequest known = *request;
    if (!options_.knows_partial_success) known.clear_allow_partial_success();
    auto& kinds = *known.mutable_kinds();
    const auto unknown = std::ranges::find(kinds, options_.without_kind, &v1::WatchKind::kind);
    if (unknown != kinds.end() && !known.allow_partial_success()) return no_kind(unknown->kind());
    const auto [gone, end] =
        std::ranges::remove(kinds, options_.without_kind, &v1::WatchKind::kind);
    kinds.erase(gone, end);

    const auto upstream = grpc::ClientContext::FromServerContext(*context);
    const auto reader = to_->Watch(upstream.get(), known);
    v1::WatchResponse response;
    while (reader->Read(&response)) {
      for (v1::Event& event : *response.mutable_events()) {
        if (!options_.knows_partial_success) event.clear_status();
      }
      if (!writer->Write(response)) upstream->TryCancel();
    }
    return reader->Finish();
  }

 private:
  std::unique_ptr<v1::Events::Stub> to_;
  const OldServerOptions& options_;
  OldServerStats& stats_;
};

class OldDiscovery final : public v1::ServiceConfigDiscovery::Service {
 public:
  explicit OldDiscovery(const Controller& to) : to_(v1::ServiceConfigDiscovery::NewStub(to)) {}

  grpc::Status GetServiceConfig(ServerContext* context, const v1::GetServiceConfigRequest* request,
                                v1::GetServiceConfigResponse* response) override {
    return pass_on(context, *to_, &v1::ServiceConfigDiscovery::Stub::GetServiceConfig, *request,
                   response);
  }

 private:
  std::unique_ptr<v1::ServiceConfigDiscovery::Stub> to_;
};

class OldPresence final : public v1::Presence::Service {
 public:
  explicit OldPresence(const Controller& to) : to_(v1::Presence::NewStub(to)) {}

  grpc::Status Announce(ServerContext* context, const v1::AnnounceRequest* request,
                        v1::AnnounceResponse* response) override {
    return pass_on(context, *to_, &v1::Presence::Stub::Announce, *request, response);
  }
  grpc::Status Goodbye(ServerContext* context, const v1::GoodbyeRequest* request,
                       v1::GoodbyeResponse* response) override {
    return pass_on(context, *to_, &v1::Presence::Stub::Goodbye, *request, response);
  }

 private:
  std::unique_ptr<v1::Presence::Stub> to_;
};

class OldStatus final : public v1::Status::Service {
 public:
  explicit OldStatus(const Controller& to) : to_(v1::Status::NewStub(to)) {}

  grpc::Status GetStatus(ServerContext* context, const v1::GetStatusRequest* request,
                         v1::GetStatusResponse* response) override {
    return pass_on(context, *to_, &v1::Status::Stub::GetStatus, *request, response);
  }

 private:
  std::unique_ptr<v1::Status::Stub> to_;
};

class OldHealth final : public grpc::health::v1::Health::Service {
 public:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;
  explicit OldHealth(const Controller& to) : to_(grpc::health::v1::Health::NewStub(to)) {}

  grpc::Status Check(ServerContext* context, const Request* request, Response* response) override {
    return pass_on(context, *to_, &grpc::health::v1::Health::Stub::Check, *request, response);
  }
  grpc::Status Watch(ServerContext* context, const Request* request,
                     grpc::ServerWriter<Response>* writer) override {
    const auto upstream = grpc::ClientContext::FromServerContext(*context);
    const auto reader = to_->Watch(upstream.get(), *request);
    Response response;
    while (reader->Read(&response)) {
      if (!writer->Write(response)) upstream->TryCancel();
    }
    return reader->Finish();
  }

 private:
  std::unique_ptr<grpc::health::v1::Health::Stub> to_;
};

std::shared_ptr<grpc::ServerCredentials> credentials(const std::optional<OldServerTls>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({tls->private_key_pem, tls->chain_pem});
  return grpc::SslServerCredentials(options);
}

}  // namespace

OldServer::OldServer(std::shared_ptr<grpc::Channel> controller, OldServerOptions options)
    : options_(std::move(options)) {
  fronts_.push_back(std::make_unique<OldResources>(controller, options_, stats_));
  fronts_.push_back(std::make_unique<OldEvents>(controller, options_, stats_));
  fronts_.push_back(std::make_unique<OldPresence>(controller));
  fronts_.push_back(std::make_unique<OldStatus>(controller));
  if (options_.has_service_config) fronts_.push_back(std::make_unique<OldDiscovery>(controller));
  if (options_.has_health) fronts_.push_back(std::make_unique<OldHealth>(controller));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(options_.listen, credentials(options_.tls), &port);
  for (const auto& front : fronts_) builder.RegisterService(front.get());
  server_ = builder.BuildAndStart();
  HF_CHECK(server_ != nullptr, "the old server listens on " + options_.listen);
  const bool by_path = options_.listen.starts_with("unix:");
  address_ =
      by_path ? options_.listen
              : fmt::format("{}:{}", options_.listen.substr(0, options_.listen.rfind(':')), port);
}

OldServer::~OldServer() {
  stop();
}

void OldServer::stop() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace holdfast::test
