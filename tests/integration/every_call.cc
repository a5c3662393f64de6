#include "integration/every_call.h"

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "holdfast/v1/load.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "holdfast/v1/pair.grpc.pb.h"
#include "resource/registry.h"

namespace holdfast::test {
namespace {

using grpc::health::v1::Health;
using identity::Role;
using resource::Kind;
using v1::Identity;

}  // namespace

std::vector<EveryCall::Rpc> EveryCall::all() {
  const std::string v1 = "holdfast.v1.";
  return {
      {"Health", "grpc.health.v1.Health.Check", &EveryCall::health},
      {"Health", "grpc.health.v1.Health.Watch", &EveryCall::watch_health},
      {"Reflection", "grpc.reflection.v1alpha.ServerReflection.ServerReflectionInfo",
       &EveryCall::reflection},
      {"ServiceConfig", v1 + "ServiceConfigDiscovery.GetServiceConfig", &EveryCall::service_config},
      {"Status", v1 + "Status.GetStatus", &EveryCall::status},
      {"WhoAmI", v1 + "Identity.WhoAmI", &EveryCall::who_am_i},
      {"GetAuthority", v1 + "Identity.GetAuthority", &EveryCall::get_authority},
      {"Init", v1 + "Identity.Init", &EveryCall::init},
      {"CreateToken", v1 + "Identity.CreateToken", &EveryCall::create_token},
      {"Join", v1 + "Identity.Join", &EveryCall::join},
      {"Renew", v1 + "Identity.Renew", &EveryCall::renew},
      {"Login", v1 + "Identity.Login", &EveryCall::login},
      {"IssueUser", v1 + "Identity.IssueUser", &EveryCall::issue_user},
      {"SetPassword", v1 + "Identity.SetPassword", &EveryCall::set_password},
      {"Rotate", v1 + "Identity.Rotate", &EveryCall::rotate},
      {"Announce", v1 + "Presence.Announce", &EveryCall::announce},
      {"Goodbye", v1 + "Presence.Goodbye", &EveryCall::goodbye},
      {"Report", v1 + "Load.Report", &EveryCall::report},
      {"GetPair", v1 + "PairControl.GetPair", &EveryCall::get_pair},
      {"PairControl", v1 + "PairControl.SwitchOver", &EveryCall::switch_over},
      {"PairControl", v1 + "PairControl.Promote", &EveryCall::promote},
      {"PairControl", v1 + "PairControl.ListDivergences", &EveryCall::list_divergences},
      {"PairControl", v1 + "PairControl.GetDivergence", &EveryCall::get_divergence},
      {"PairControl", v1 + "PairControl.ResolveDivergence", &EveryCall::resolve_divergence}};
}

std::vector<std::string> EveryCall::served(const ClusterCaller& who, grpc::Status& status) {
  const auto stub = grpc::reflection::v1alpha::ServerReflection::NewStub(who.channel);
  const auto context = patient();
  const auto stream = stub->ServerReflectionInfo(context.get());
  grpc::reflection::v1alpha::ServerReflectionRequest request;
  request.set_list_services("*");
  stream->Write(request);
  stream->WritesDone();
  std::vector<std::string> names;
  grpc::reflection::v1alpha::ServerReflectionResponse response;
  while (stream->Read(&response)) {
    for (const auto& each : response.list_services_response().service()) {
      names.push_back(each.name());
    }
  }
  status = stream->Finish();
  return names;
}

grpc::Status EveryCall::health(const ClusterCaller& who) {
  return ask(Health::NewStub(who.channel), &Health::Stub::Check, {});
}

grpc::Status EveryCall::watch_health(const ClusterCaller& who) {
  const auto context = patient();
  const auto stream = Health::NewStub(who.channel)->Watch(context.get(), {});
  return outcome<grpc::health::v1::HealthCheckResponse>(*context, *stream);
}

grpc::Status EveryCall::reflection(const ClusterCaller& who) {
  grpc::Status status;
  served(who, status);
  return status;
}

grpc::Status EveryCall::service_config(const ClusterCaller& who) {
  using Discovery = v1::ServiceConfigDiscovery;
  return ask(Discovery::NewStub(who.channel), &Discovery::Stub::GetServiceConfig, {});
}

grpc::Status EveryCall::status(const ClusterCaller& who) {
  return ask(v1::Status::NewStub(who.channel), &v1::Status::Stub::GetStatus, {});
}

grpc::Status EveryCall::who_am_i(const ClusterCaller& who) {
  return ask(Identity::NewStub(who.channel), &Identity::Stub::WhoAmI, {});
}

grpc::Status EveryCall::get_authority(const ClusterCaller& who) {
  return ask(Identity::NewStub(who.channel), &Identity::Stub::GetAuthority, {});
}

grpc::Status EveryCall::init(const ClusterCaller& who) {
  v1::InitRequest request;
  request.set_cluster("prod");
  return ask(Identity::NewStub(who.channel), &Identity::Stub::Init, request);
}

grpc::Status EveryCall::create_token(const ClusterCaller& who) {
  v1::CreateTokenRequest request;
  request.set_role(v1::NODE_ROLE_WITNESS);
  return ask(Identity::NewStub(who.channel), &Identity::Stub::CreateToken, request);
}

grpc::Status EveryCall::join(const ClusterCaller& who) {
  v1::JoinRequest request;
  request.set_token(cluster_.agent_token());
  request.set_name("joined-by-" + who.column);
  request.set_request_pem(make_key_and_request().request_pem);
  return ask(Identity::NewStub(who.channel), &Identity::Stub::Join, request);
}

grpc::Status EveryCall::renew(const ClusterCaller& who) {
  v1::RenewRequest request;
  request.set_request_pem(make_key_and_request().request_pem);
  return ask(Identity::NewStub(who.channel), &Identity::Stub::Renew, request);
}

grpc::Status EveryCall::login(const ClusterCaller& who) {
  v1::LoginRequest request;
  request.set_user("a-viewer");
  request.set_password(kPassword);
  request.set_request_pem(make_key_and_request().request_pem);
  return ask(Identity::NewStub(who.channel), &Identity::Stub::Login, request);
}

grpc::Status EveryCall::issue_user(const ClusterCaller& who) {
  v1::IssueUserRequest request;
  request.set_user("a-viewer");
  request.set_request_pem(make_key_and_request().request_pem);
  return ask(Identity::NewStub(who.channel), &Identity::Stub::IssueUser, request);
}

grpc::Status EveryCall::set_password(const ClusterCaller& who) {
  v1::SetPasswordRequest request;
  request.set_user(who.role == Role::User ? who.name : "a-viewer");
  request.set_old_password(kPassword);
  request.set_new_password(kPassword);
  return ask(Identity::NewStub(who.channel), &Identity::Stub::SetPassword, request);
}

grpc::Status EveryCall::rotate(const ClusterCaller& who) {
  return ask(Identity::NewStub(who.channel), &Identity::Stub::Rotate, {});
}

grpc::Status EveryCall::announce(const ClusterCaller& who) {
  v1::AnnounceRequest request;
  const auto kind = resource::kind_named(who.column).value_or(Kind::Agent);
  const std::string name = who.name.empty() ? "x" : who.name;
  // There is no kind for a witness, so it has nothing to announce.
  if (who.role != Role::Witness) {
    *request.mutable_resource() = resource::make_resource(kind, name);
  }
  return ask(v1::Presence::NewStub(who.channel), &v1::Presence::Stub::Announce, request);
}

grpc::Status EveryCall::goodbye(const ClusterCaller& who) {
  v1::GoodbyeRequest request;
  request.set_kind(who.role == Role::Local ? "agent" : who.column);
  request.set_name(who.name.empty() ? "x" : who.name);
  return ask(v1::Presence::NewStub(who.channel), &v1::Presence::Stub::Goodbye, request);
}

grpc::Status EveryCall::report(const ClusterCaller& who) {
  v1::LoadReport request;
  request.set_boot(1);
  request.set_number(++reports_);
  // Of nodes it does not count: they report for themselves.
  request.set_holder("proxy/passed-on");
  request.set_zone("z");
  return ask(v1::Load::NewStub(who.channel), &v1::Load::Stub::Report, request);
}

grpc::Status EveryCall::get_pair(const ClusterCaller& who) {
  return ask(v1::PairControl::NewStub(who.channel), &v1::PairControl::Stub::GetPair,
             v1::GetPairRequest());
}

grpc::Status EveryCall::switch_over(const ClusterCaller& who) {
  return ask(v1::PairControl::NewStub(who.channel), &v1::PairControl::Stub::SwitchOver,
             v1::SwitchOverRequest());
}

grpc::Status EveryCall::promote(const ClusterCaller& who) {
  return ask(v1::PairControl::NewStub(who.channel), &v1::PairControl::Stub::Promote,
             v1::PromoteRequest());
}

grpc::Status EveryCall::list_divergences(const ClusterCaller& who) {
  return ask(v1::PairControl::NewStub(who.channel), &v1::PairControl::Stub::ListDivergences,
             v1::ListDivergencesRequest());
}

grpc::Status EveryCall::get_divergence(const ClusterCaller& who) {
  return ask(v1::PairControl::NewStub(who.channel), &v1::PairControl::Stub::GetDivergence,
             v1::GetDivergenceRequest());
}

grpc::Status EveryCall::resolve_divergence(const ClusterCaller& who) {
  return ask(v1::PairControl::NewStub(who.channel), &v1::PairControl::Stub::ResolveDivergence,
             v1::ResolveDivergenceRequest());
}

}  // namespace holdfast::test
