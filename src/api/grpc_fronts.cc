#include "api/grpc_fronts.h"

#include <google/protobuf/descriptor.h>

#include "api/reflection.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "holdfast/v1/load.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "holdfast/v1/pair.grpc.pb.h"
#include "rpc/epoch.h"

namespace holdfast::api {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using identity::Call;

class ResourcesFront final : public v1::Resources::CallbackService {
 public:
  ResourcesFront(CallRoom& room, ResourceService& service) : room_(room), service_(service) {}

  ServerUnaryReactor* Get(CallbackServerContext* context, const v1::GetRequest* request,
                          v1::Resource* response) override {
    return room_.handler(service_, &ResourceService::get, {.verb = "get"})(context, request,
                                                                           response);
  }
  ServerUnaryReactor* List(CallbackServerContext* context, const v1::ListRequest* request,
                           v1::ListResponse* response) override {
    return room_.handler(service_, &ResourceService::list, {.verb = "list"})(context, request,
                                                                             response);
  }
  ServerUnaryReactor* Create(CallbackServerContext* context, const v1::WriteRequest* request,
                             v1::Resource* response) override {
    return room_.handler(service_, &ResourceService::create, {.verb = "create"})(context, request,
                                                                                 response);
  }
  ServerUnaryReactor* Update(CallbackServerContext* context, const v1::WriteRequest* request,
                             v1::Resource* response) override {
    return room_.handler(service_, &ResourceService::update, {.verb = "update"})(context, request,
                                                                                 response);
  }
  ServerUnaryReactor* Upsert(CallbackServerContext* context, const v1::WriteRequest* request,
                             v1::Resource* response) override {
    return room_.handler(service_, &ResourceService::upsert, {.verb = "upsert"})(context, request,
                                                                                 response);
  }
  ServerUnaryReactor* Delete(CallbackServerContext* context, const v1::DeleteRequest* request,
                             v1::DeleteResponse* response) override {
    return room_.handler(service_, &ResourceService::remove, {.verb = "delete"})(context, request,
                                                                                 response);
  }

 private:
  CallRoom& room_;
  ResourceService& service_;
};

class IdentityFront final : public v1::Identity::CallbackService {
 public:
  IdentityFront(CallRoom& room, IdentityService& service) : room_(room), service_(service) {}

  ServerUnaryReactor* Init(CallbackServerContext* context, const v1::InitRequest* request,
                           v1::Authority* response) override {
    return room_.handler(service_, &IdentityService::init,
                         {.verb = "init", .call = Call::Init, .served_by = ServedBy::Founder})(
        context, request, response);
  }
  ServerUnaryReactor* GetAuthority(CallbackServerContext* context,
                                   const v1::GetAuthorityRequest* request,
                                   v1::Authority* response) override {
    return room_.handler(service_, &IdentityService::get_authority,
                         {.verb = "get-authority", .call = Call::GetAuthority})(context, request,
                                                                                response);
  }
  ServerUnaryReactor* CreateToken(CallbackServerContext* context,
                                  const v1::CreateTokenRequest* request,
                                  v1::CreateTokenResponse* response) override {
    return room_.handler(service_, &IdentityService::create_token,
                         {.verb = "create-token", .call = Call::CreateToken})(context, request,
                                                                              response);
  }
  ServerUnaryReactor* Join(CallbackServerContext* context, const v1::JoinRequest* request,
                           v1::Credentials* response) override {
    return room_.handler(service_, &IdentityService::join, {.verb = "join", .call = Call::Join})(
        context, request, response);
  }
  ServerUnaryReactor* Renew(CallbackServerContext* context, const v1::RenewRequest* request,
                            v1::Credentials* response) override {
    return room_.handler(service_, &IdentityService::renew, {.verb = "renew", .call = Call::Renew})(
        context, request, response);
  }
  ServerUnaryReactor* Login(CallbackServerContext* context, const v1::LoginRequest* request,
                            v1::Credentials* response) override {
    return room_.handler(service_, &IdentityService::login, {.verb = "login", .call = Call::Login})(
        context, request, response);
  }
  ServerUnaryReactor* IssueUser(CallbackServerContext* context, const v1::IssueUserRequest* request,
                                v1::Credentials* response) override {
    return room_.handler(service_, &IdentityService::issue_user,
                         {.verb = "issue-user", .call = Call::IssueUser})(context, request,
                                                                          response);
  }
  ServerUnaryReactor* SetPassword(CallbackServerContext* context,
                                  const v1::SetPasswordRequest* request,
                                  v1::SetPasswordResponse* response) override {
    return room_.handler(service_, &IdentityService::set_password,
                         {.verb = "set-password", .call = Call::SetPassword})(context, request,
                                                                              response);
  }
  ServerUnaryReactor* Rotate(CallbackServerContext* context, const v1::RotateRequest* request,
                             v1::RotateResponse* response) override {
    return room_.handler(service_, &IdentityService::rotate,
                         {.verb = "rotate", .call = Call::Rotate})(context, request, response);
  }
  ServerUnaryReactor* WhoAmI(CallbackServerContext* context, const v1::WhoAmIRequest* request,
                             v1::WhoAmIResponse* response) override {
    return room_.handler(service_, &IdentityService::who_am_i,
                         {.verb = "whoami", .call = Call::WhoAmI})(context, request, response);
  }

 private:
  CallRoom& room_;
  IdentityService& service_;
};

class PresenceFront final : public v1::Presence::CallbackService {
 public:
  PresenceFront(CallRoom& room, NodeService& service) : room_(room), service_(service) {}

  ServerUnaryReactor* Announce(CallbackServerContext* context, const v1::AnnounceRequest* request,
                               v1::AnnounceResponse* response) override {
    return room_.handler(service_, &NodeService::announce,
                         {.verb = "announce", .call = Call::Announce})(context, request, response);
  }
  ServerUnaryReactor* Goodbye(CallbackServerContext* context, const v1::GoodbyeRequest* request,
                              v1::GoodbyeResponse* response) override {
    return room_.handler(service_, &NodeService::goodbye,
                         {.verb = "goodbye", .call = Call::Goodbye})(context, request, response);
  }

 private:
  CallRoom& room_;
  NodeService& service_;
};

class LoadFront final : public v1::Load::CallbackService {
 public:
  LoadFront(CallRoom& room, LoadService& service) : room_(room), service_(service) {}

  ServerUnaryReactor* Report(CallbackServerContext* context, const v1::LoadReport* request,
                             v1::LoadGrant* response) override {
    return room_.handler(service_, &LoadService::report, {.verb = "report", .call = Call::Report})(
        context, request, response);
  }
  ServerUnaryReactor* GetLoad(CallbackServerContext* context, const v1::GetLoadRequest* request,
                              v1::GetLoadResponse* response) override {
    return room_.handler(service_, &LoadService::get_load, {.verb = "get-load"})(context, request,
                                                                                 response);
  }

 private:
  CallRoom& room_;
  LoadService& service_;
};

class DiscoveryFront final : public v1::ServiceConfigDiscovery::CallbackService {
 public:
  DiscoveryFront(CallRoom& room, NodeService& service) : room_(room), service_(service) {}

  ServerUnaryReactor* GetServiceConfig(CallbackServerContext* context,
                                       const v1::GetServiceConfigRequest* request,
                                       v1::GetServiceConfigResponse* response) override {
    return room_.handler(service_, &NodeService::get_service_config,
                         {.verb = "service-config",
                          .call = Call::ServiceConfig,
                          .served_by = ServedBy::EitherAsAVote})(context, request, response);
  }

 private:
  CallRoom& room_;
  NodeService& service_;
};

class StatusFront final : public v1::Status::CallbackService {
 public:
  StatusFront(CallRoom& room, NodeService& service) : room_(room), service_(service) {}

  ServerUnaryReactor* GetStatus(CallbackServerContext* context, const v1::GetStatusRequest* request,
                                v1::GetStatusResponse* response) override {
    return room_.handler(service_, &NodeService::get_status,
                         {.verb = "status", .call = Call::Status, .served_by = ServedBy::Either})(
        context, request, response);
  }

 private:
  CallRoom& room_;
  NodeService& service_;
};

// Watch is raw: what is written was encoded once, for all watchers.
class EventsFront final : public v1::Events::WithRawCallbackMethod_Watch<v1::Events::Service> {
 public:
  EventsFront(CallRoom& room, WatchStreams& watches) : room_(room), watches_(watches) {}

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request) override {
    return watches_.open(room_.describe(*context), *context, request);
  }

 private:
  CallRoom& room_;
  WatchStreams& watches_;
};

class HealthFront final : public grpc::health::v1::Health::CallbackService {
 public:
  HealthFront(CallRoom& room, HealthStreams& service) : room_(room), service_(service) {}

  ServerUnaryReactor* Check(CallbackServerContext* context, const HealthStreams::Request* request,
                            HealthStreams::Response* response) override {
    return room_.handler(
        service_, &HealthStreams::check,
        {.verb = "health", .call = Call::Health, .served_by = ServedBy::EitherAsAVote})(
        context, request, response);
  }
  HealthStreams::Reactor* Watch(CallbackServerContext* context,
                                const HealthStreams::Request* request) override {
    const bool beats = rpc::beat_in(context->client_metadata()) > Duration::zero();
    if (beats) context->AddInitialMetadata(rpc::kBeatKey, beat_text_);
    return service_.watch(*context, room_.describe(*context), request, beats);
  }

 private:
  // What everybody gets who wants any.
  const std::string beat_text_ = std::to_string(
      std::chrono::duration_cast<std::chrono::milliseconds>(HealthStreams::kBeat).count());
  CallRoom& room_;
  HealthStreams& service_;
};

// Asks the gate once, then answers on gRPC's threads: descriptors never change.
class ReflectionStream final
    : public grpc::ServerBidiReactor<ReflectionRequest, ReflectionResponse> {
 public:
  ReflectionStream(CallRoom& room, const Presented& presented,
                   const std::vector<std::string>& services)
      : services_(services) {
    asio::post(room.loop(), [this, &room, presented] {
      const Result<Caller> caller =
          room.admit(presented, {.verb = "reflection", .call = Call::Reflection});
      if (!caller.ok()) return Finish(rpc::to_grpc(caller.status()));
      StartRead(&request_);
    });
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    response_ = reflect(request_, services_);
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  const std::vector<std::string> services_;
  ReflectionRequest request_;
  ReflectionResponse response_;
};

class ReflectionFront final : public grpc::reflection::v1alpha::ServerReflection::CallbackService {
 public:
  ReflectionFront(CallRoom& room, std::vector<std::string> services)
      : room_(room), services_(std::move(services)) {}

  grpc::ServerBidiReactor<ReflectionRequest, ReflectionResponse>* ServerReflectionInfo(
      CallbackServerContext* context) override {
    return new ReflectionStream(room_, room_.describe(*context), services_);
  }

 private:
  CallRoom& room_;
  const std::vector<std::string> services_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> make_fronts(CallRoom& room,
                                                        const GrpcServices& services) {
  std::vector<std::unique_ptr<grpc::Service>> fronts;
  fronts.push_back(std::make_unique<ResourcesFront>(room, services.resources));
  fronts.push_back(std::make_unique<EventsFront>(room, services.watches));
  fronts.push_back(std::make_unique<IdentityFront>(room, services.identity));
  fronts.push_back(std::make_unique<PresenceFront>(room, services.nodes));
  fronts.push_back(std::make_unique<LoadFront>(room, services.load));
  fronts.push_back(std::make_unique<DiscoveryFront>(room, services.nodes));
  fronts.push_back(std::make_unique<StatusFront>(room, services.nodes));
  fronts.push_back(std::make_unique<HealthFront>(room, services.health));
  fronts.push_back(make_pair_control_front(room, services.pair_control, services.divergences));
  std::vector<std::string> names = {
      v1::Resources::service_full_name(),
      v1::Events::service_full_name(),
      v1::Identity::service_full_name(),
      v1::Presence::service_full_name(),
      v1::Load::service_full_name(),
      v1::ServiceConfigDiscovery::service_full_name(),
      v1::Status::service_full_name(),
      v1::PairControl::service_full_name(),
      grpc::health::v1::Health::service_full_name(),
      grpc::reflection::v1alpha::ServerReflection::service_full_name()};
  if (services.pair) {
    fronts.push_back(make_pair_front(room, *services.pair, services.own_name));
    names.emplace_back(v1::Pair::service_full_name());
  }
  fronts.push_back(std::make_unique<ReflectionFront>(room, std::move(names)));
  return fronts;
}

}  // namespace holdfast::api
