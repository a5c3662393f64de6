#include "integration/cluster_callers.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/check.h"
#include "identity/certificate.h"
#include "rpc/channel.h"
#include "support/eventually.h"
#include "support/free_ports.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using identity::Role;

// So many that no test is refused for its pace.
constexpr identity::RateLimitOptions kNoLimit{.per_second = 1e6, .burst = 1e6};

app::ControllerOptions options_for(const std::string& data_dir, const std::string& listen) {
  app::ControllerOptions options;
  options.store = app::StoreType::Memory;
  options.data_dir = data_dir;
  options.listen = {listen};
  options.gate = {.per_caller = kNoLimit, .per_source = kNoLimit};
  options.identity.logins = kNoLimit;
  return options;
}

void require(const grpc::Status& status, std::string_view what) {
  HF_CHECK(status.ok(), fmt::format("{} works: {}", what, status.error_message()));
}

}  // namespace

std::unique_ptr<grpc::ClientContext> patient() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + 30s);
  context->set_wait_for_ready(true);
  return context;
}

KeyAndRequest make_key_and_request() {
  const Result<std::string> key = identity::make_private_key();
  HF_CHECK(key.ok(), "a key can be made");
  const Result<std::string> request = identity::make_request(*key);
  HF_CHECK(request.ok(), "a request can be made");
  return {.private_key_pem = *key, .request_pem = *request};
}

ClusterCallers::ClusterCallers()
    : tls_address_(fmt::format("127.0.0.1:{}", free_ports(1).front())) {
  auto started =
      app::Controller::start(loop_, clock_, options_for(folder_.file("data"), tls_address_));
  HF_CHECK(started.ok(), started.status().ToString());
  controller_ = *std::move(started);
  callers_["local"] = {.column = "local",
                       .role = Role::Local,
                       .channel = rpc::make_channel(controller_->addresses().front(), {})};
  thread_ = std::thread([this] { loop_.run(); });

  v1::InitRequest init;
  init.set_cluster("prod");
  v1::Authority authority;
  require(v1::Identity::NewStub(as("local").channel)->Init(patient().get(), init, &authority),
          "init");
  ca_pem_ = authority.ca_pem();
  agent_token_ = make_token(v1::NODE_ROLE_AGENT);
  callers_["nobody"] = {
      .column = "nobody",
      .channel = rpc::make_channel(tls_address_, {.tls = rpc::TlsOptions{.ca_pem = ca_pem_}})};
  for (const auto role : {v1::NODE_ROLE_CONTROLLER, v1::NODE_ROLE_PROXY, v1::NODE_ROLE_AGENT,
                          v1::NODE_ROLE_WITNESS}) {
    add_node(role);
  }
  add_user("user", {});
  for (const char* role : {"viewer", "operator", "admin"}) add_user(role, {role});
}

ClusterCallers::~ClusterCallers() {
  boost::asio::co_spawn(loop_, controller_->stop(), boost::asio::detached);
  thread_.join();
}

template <typename Issue>
void ClusterCallers::add_certified(ClusterCaller caller, const Issue& issue) {
  const KeyAndRequest made = make_key_and_request();
  v1::Credentials credentials;
  require(issue(made.request_pem, credentials), "a certificate for " + caller.column);
  caller.channel = rpc::make_channel(
      tls_address_, {.tls = rpc::TlsOptions{.ca_pem = credentials.ca_pem(),
                                            .certificate_pem = credentials.certificate_pem(),
                                            .private_key_pem = made.private_key_pem}});
  callers_[caller.column] = std::move(caller);
}

std::string ClusterCallers::make_token(v1::NodeRole role) {
  v1::CreateTokenRequest request;
  request.set_role(role);
  request.set_uses(1'000);
  v1::CreateTokenResponse response;
  require(
      v1::Identity::NewStub(as("local").channel)->CreateToken(patient().get(), request, &response),
      "a token");
  return response.secret();
}

void ClusterCallers::add_node(v1::NodeRole role) {
  const Role who = identity::from_node_role(role);
  const std::string column(identity::to_string(who));
  v1::JoinRequest join;
  join.set_token(make_token(role));
  join.set_name("a-" + column);
  add_certified({.column = column, .role = who, .name = join.name(), .channel = nullptr},
                [&](const std::string& request_pem, v1::Credentials& credentials) {
                  join.set_request_pem(request_pem);
                  return v1::Identity::NewStub(as("nobody").channel)
                      ->Join(patient().get(), join, &credentials);
                });
}

void ClusterCallers::add_user(const std::string& column, const std::vector<std::string>& roles) {
  v1::Resource user;
  user.mutable_metadata()->set_name("a-" + column);
  user.mutable_user()->mutable_roles()->Assign(roles.begin(), roles.end());
  upsert(user);
  const auto local = v1::Identity::NewStub(as("local").channel);
  v1::SetPasswordRequest password;
  password.set_user(user.metadata().name());
  password.set_new_password(kPassword);
  v1::SetPasswordResponse set;
  require(local->SetPassword(patient().get(), password, &set), "a password");
  v1::IssueUserRequest issue;
  issue.set_user(user.metadata().name());
  add_certified({.column = column, .role = Role::User, .name = issue.user(), .channel = nullptr},
                [&](const std::string& request_pem, v1::Credentials& credentials) {
                  issue.set_request_pem(request_pem);
                  return local->IssueUser(patient().get(), issue, &credentials);
                });
  // The controller follows its own store: until it has seen the user, there is none.
  const auto known = [&] {
    v1::WhoAmIResponse me;
    return v1::Identity::NewStub(as(column).channel)->WhoAmI(patient().get(), {}, &me).ok() &&
           static_cast<size_t>(me.user_roles_size()) == roles.size();
  };
  HF_CHECK(eventually(known, 10s), "the controller knows its new user");
}

v1::Resource ClusterCallers::upsert(const v1::Resource& resource) {
  v1::WriteRequest request;
  *request.mutable_resource() = resource;
  v1::Resource written;
  require(
      v1::Resources::NewStub(as("controller").channel)->Upsert(patient().get(), request, &written),
      "upsert of " + resource.ShortDebugString());
  return written;
}

void ClusterCallers::remove_if_there(const std::string& kind, const std::string& name) {
  v1::DeleteRequest request;
  request.set_kind(kind);
  request.set_name(name);
  v1::DeleteResponse removed;
  const grpc::Status status =
      v1::Resources::NewStub(as("controller").channel)->Delete(patient().get(), request, &removed);
  if (status.error_code() != grpc::StatusCode::NOT_FOUND) require(status, "delete");
}

}  // namespace holdfast::test
