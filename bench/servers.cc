#include "servers.h"

#include <grpcpp/grpcpp.h>

#include <fstream>

#include "base/check.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "identity/certificate.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

template <typename T>
T must(Result<T> result) {
  HF_CHECK(result.ok(), result.status().ToString());
  return *std::move(result);
}

void must(const grpc::Status& status) {
  HF_CHECK(status.ok(), status.error_message());
}

}  // namespace

std::unique_ptr<Server> Server::etcd() {
  std::unique_ptr<Server> server(new Server());
  const std::vector<uint16_t> ports = test::free_ports(2);
  server->address_ = "127.0.0.1:" + std::to_string(ports[0]);
  server->make_own_authority();
  const std::string client = "https://" + server->address_;
  const std::string peer = "http://127.0.0.1:" + std::to_string(ports[1]);
  server->process_ = std::make_unique<test::ChildProcess>(test::ChildOptions{
      .arguments = {"etcd", "--data-dir", server->dir_.file("etcd"), "--listen-client-urls", client,
                    "--advertise-client-urls", client, "--listen-peer-urls", peer,
                    "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
                    "--cert-file", server->dir_.file("cert.pem"), "--key-file",
                    server->dir_.file("key.pem")},
      .output_file = server->dir_.file("log")});
  server->wait_until_it_answers();
  return server;
}

// No limit on how fast one identity asks: the clients of a benchmark are all the same one.
std::unique_ptr<Server> Server::holdfast() {
  std::unique_ptr<Server> server(new Server());
  server->address_ = "127.0.0.1:" + std::to_string(test::free_ports(1)[0]);
  server->process_ = std::make_unique<test::ChildProcess>(test::ChildOptions{
      .arguments = {test::built("holdfastd"), "controller", "--data-dir", server->dir_.file("data"),
                    "--listen", server->address_, "--http-listen", "", "--health-listen", "",
                    "--set", "limits.requests_per_second=1000000", "--set",
                    "limits.request_burst=1000000"},
      .output_file = server->dir_.file("log")});
  server->ask_for_certificate();
  server->wait_until_it_answers();
  return server;
}

void Server::make_own_authority() {
  const WallTime now = SystemClock().wall_now();
  const identity::Validity validity{now - 1h, now + 24h};
  const identity::SigningKey authority = must(identity::make_authority("bench", validity));
  const std::string key = must(identity::make_private_key());
  const identity::CertificateSpec spec{
      .identity = {.role = identity::Role::Controller, .cluster = "bench", .name = "etcd"},
      .validity = validity};
  std::ofstream(dir_.file("key.pem")) << key;
  std::ofstream(dir_.file("cert.pem"))
      << must(identity::issue(authority, spec, must(identity::make_request(key))));
  tls_.ca_pem = authority.certificate_pem;
}

void Server::ask_for_certificate() {
  const auto local = rpc::make_channel("unix:" + dir_.file("data") + "/holdfast.sock", {});
  HF_CHECK(local->WaitForConnected(std::chrono::system_clock::now() + 30s),
           "the controller starts within 30 s");
  const auto identities = v1::Identity::NewStub(local);
  v1::InitRequest init;
  init.set_cluster("bench");
  v1::Authority authority;
  grpc::ClientContext first;
  must(identities->Init(&first, init, &authority));
  v1::WriteRequest user;
  user.mutable_resource()->mutable_metadata()->set_name("bench");
  user.mutable_resource()->mutable_user()->add_roles("admin");
  v1::Resource written;
  grpc::ClientContext second;
  must(v1::Resources::NewStub(local)->Upsert(&second, user, &written));
  tls_.private_key_pem = must(identity::make_private_key());
  v1::IssueUserRequest request;
  request.set_user("bench");
  request.set_request_pem(must(identity::make_request(tls_.private_key_pem)));
  v1::Credentials credentials;
  grpc::ClientContext third;
  must(identities->IssueUser(&third, request, &credentials));
  tls_.ca_pem = authority.ca_pem();
  tls_.certificate_pem = credentials.certificate_pem();
  tls_.server_name = identity::kControllerServerName;
}

std::shared_ptr<grpc::Channel> Server::connect() const {
  return rpc::make_channel(address_, {.tls = tls_});
}

void Server::wait_until_it_answers() const {
  const auto deadline = std::chrono::system_clock::now() + 30s;
  HF_CHECK(connect()->WaitForConnected(deadline), "the server listens within 30 s");
}

}  // namespace holdfast::bench
