#include "integration/pick_member.h"

#include <grpcpp/server_builder.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "rpc/epoch.h"
#include "support/eventually.h"

namespace holdfast::test {

using namespace std::chrono_literals;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr Duration kPatience = 60s;

Member::Member(std::string name, MemberOptions options)
    : name_(std::move(name)), options_(std::move(options)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(options_.port),
                           grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(&resources_);
  builder.RegisterService(&events_);
  if (options_.knows_discovery) builder.RegisterService(&discovery_);
  if (options_.knows_health) builder.RegisterService(&health_);
  server_ = builder.BuildAndStart();
  HF_CHECK(server_ != nullptr, "the member listens");
  address_ = "127.0.0.1:" + std::to_string(port_);
}

Member::~Member() {
  stopping_ = true;
  server_->Shutdown(std::chrono::system_clock::now());
}

void Member::set_active(const std::string& address) {
  const std::lock_guard lock(mutex_);
  active_ = address;
}

grpc::Status Member::introduce(grpc::ServerContext& context) {
  heard_epoch = std::max<uint64_t>(heard_epoch, rpc::epoch_in(context.client_metadata()));
  if (epoch > 0) context.AddInitialMetadata(rpc::kEpochKey, std::to_string(epoch));
  if (!passive) return grpc::Status::OK;
  refusals += 1;
  const std::lock_guard lock(mutex_);
  if (!active_.empty()) context.AddTrailingMetadata(rpc::kActiveKey, active_);
  return {grpc::StatusCode::UNAVAILABLE, "HF4101: this half is passive"};
}

bool Member::wait_while(const std::atomic<bool>& condition, const grpc::ServerContext& context) {
  eventually([&] { return !condition || context.IsCancelled(); }, kPatience);
  return !context.IsCancelled();
}

grpc::Status Member::Resources::Get(grpc::ServerContext* context, const v1::GetRequest*,
                                    v1::Resource* response) {
  member_.gets += 1;
  if (!wait_while(member_.silent, *context)) return grpc::Status::CANCELLED;
  if (member_.unavailable) return {grpc::StatusCode::UNAVAILABLE, "as asked"};
  if (grpc::Status refused = member_.introduce(*context); !refused.ok()) return refused;
  if (member_.refuses) return {grpc::StatusCode::UNAUTHENTICATED, "as asked"};
  response->mutable_metadata()->set_name(member_.name_);
  return grpc::Status::OK;
}

grpc::Status Member::Events::Watch(grpc::ServerContext* context, const v1::WatchRequest*,
                                   grpc::ServerWriter<v1::WatchResponse>* stream) {
  if (grpc::Status refused = member_.introduce(*context); !refused.ok()) return refused;
  stream->Write({});
  int said = member_.gets;
  while (!context->IsCancelled()) {
    eventually([&] { return context->IsCancelled() || member_.gets != said; }, kPatience);
    said = member_.gets;
    stream->Write({});
  }
  return grpc::Status::OK;
}

grpc::Status Member::Discovery::GetServiceConfig(grpc::ServerContext* context,
                                                 const v1::GetServiceConfigRequest*,
                                                 v1::GetServiceConfigResponse* response) {
  if (!wait_while(member_.silent, *context)) return grpc::Status::CANCELLED;
  if (!wait_while(member_.stuck_in_discovery, *context)) return grpc::Status::CANCELLED;
  if (member_.refuses) return {grpc::StatusCode::UNAUTHENTICATED, "as asked"};
  if (grpc::Status refused = member_.introduce(*context); !refused.ok()) return refused;
  v1::ServiceConfig& config = *response->mutable_config();
  config.add_load_balancing_config()->mutable_pick_healthy()->set_mode(member_.options_.mode);
  config.mutable_health_check_config()->set_service_name("");
  return grpc::Status::OK;
}

grpc::Status Member::Health::Check(grpc::ServerContext* context, const HealthCheckRequest*,
                                   HealthCheckResponse* response) {
  if (!wait_while(member_.silent, *context)) return grpc::Status::CANCELLED;
  response->set_status(member_.serving ? HealthCheckResponse::SERVING
                                       : HealthCheckResponse::NOT_SERVING);
  return grpc::Status::OK;
}

grpc::Status Member::Health::Watch(grpc::ServerContext* context, const HealthCheckRequest*,
                                   grpc::ServerWriter<HealthCheckResponse>* stream) {
  member_.health_watches += 1;
  if (member_.epoch > 0) {
    context->AddInitialMetadata(rpc::kEpochKey, std::to_string(member_.epoch));
  }
  const int interval = member_.beat_ms;
  if (interval > 0) context->AddInitialMetadata(rpc::kBeatKey, std::to_string(interval));
  const Duration beat = interval > 0 ? Duration(interval * 1ms) : kPatience;
  std::optional<bool> said;
  const auto serves = [this] { return member_.serving && !member_.passive; };
  while (!context->IsCancelled()) {
    if (!member_.silent) {
      said = serves();
      HealthCheckResponse response;
      response.set_status(*said ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
      stream->Write(response);
    }
    eventually([&] { return context->IsCancelled() || (!member_.silent && said != serves()); },
               beat);
  }
  member_.health_watches -= 1;
  return grpc::Status::OK;
}

}  // namespace holdfast::test
