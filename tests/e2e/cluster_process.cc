#include "e2e/cluster_process.h"

#include "base/check.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "identity/certificate.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// A call that must work.
template <typename Stub, typename Method, typename Request, typename Response>
void call(Stub& stub, Method method, const Request& request, Response& response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  const grpc::Status status = (stub.*method)(&context, request, &response);
  HF_CHECK(status.ok(), status.error_message());
}

}  // namespace

Arguments without_rate_limit() {
  return {"--set", "limits.requests_per_second=1000000", "--set", "limits.request_burst=1000000"};
}

std::string init_cluster(const std::string& unix_server) {
  const auto identity = v1::Identity::NewStub(rpc::make_channel(unix_server, {}));
  v1::InitRequest request;
  request.set_cluster("test");
  v1::Authority authority;
  call(*identity, &v1::Identity::Stub::Init, request, authority);
  return authority.ca_pem();
}

rpc::TlsOptions make_certificate(const std::string& unix_server, const std::string& ca_pem,
                                 const NewUser& user) {
  const auto channel = rpc::make_channel(unix_server, {});
  v1::WriteRequest write;
  write.mutable_resource()->mutable_metadata()->set_name(user.name);
  for (const std::string& role : user.roles) {
    write.mutable_resource()->mutable_user()->add_roles(role);
  }
  v1::Resource written;
  call(*v1::Resources::NewStub(channel), &v1::Resources::Stub::Upsert, write, written);

  const Result<std::string> key = identity::make_private_key();
  HF_CHECK(key.ok(), key.status().ToString());
  const Result<std::string> asked = identity::make_request(*key);
  HF_CHECK(asked.ok(), asked.status().ToString());
  v1::IssueUserRequest request;
  request.set_user(user.name);
  request.set_request_pem(*asked);
  v1::Credentials credentials;
  call(*v1::Identity::NewStub(channel), &v1::Identity::Stub::IssueUser, request, credentials);
  return {.ca_pem = ca_pem,
          .certificate_pem = credentials.certificate_pem(),
          .private_key_pem = *key,
          .server_name = std::string(identity::kControllerServerName)};
}

ClusterProcess::ClusterProcess(Arguments arguments) : ControllerProcess(std::move(arguments)) {
  ca_pem_ = init_cluster(unix_server());
  admin_ = certificate_for("test-admin", {"admin"});
  // The port opens within a second of the authority's coming to be.
  const auto serves = [&] {
    const auto channel = rpc::make_channel(tcp_server(), {.tls = admin_});
    return channel->WaitForConnected(std::chrono::system_clock::now() + 200ms);
  };
  HF_CHECK(eventually(serves, 20s), "the controller serves with TLS: " + log());
}

rpc::TlsOptions ClusterProcess::certificate_for(const std::string& user,
                                                const std::vector<std::string>& roles) {
  return make_certificate(unix_server(), ca_pem_, {.name = user, .roles = roles});
}

rpc::TlsOptions ClusterProcess::nobody() const {
  return {.ca_pem = ca_pem_, .server_name = std::string(identity::kControllerServerName)};
}

}  // namespace holdfast::test
