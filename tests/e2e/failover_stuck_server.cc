#include "e2e/failover_stuck_server.h"

#include <fmt/format.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "base/check.h"
#include "support/free_ports.h"

namespace holdfast::test {
namespace {

// Silent until the caller gives up.
class SilentCall final : public grpc::ServerGenericBidiReactor {
 private:
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

}  // namespace

StuckServer::StuckServer() : port_(free_ports(1).front()) {}

StuckServer::~StuckServer() {
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
}

std::string StuckServer::address() const {
  return fmt::format("127.0.0.1:{}", port_);
}

void StuckServer::open(const std::string& identity) {
  const size_t certificates = identity.find("-----BEGIN CERTIFICATE");
  HF_CHECK(certificates != std::string::npos, "the identity holds a certificate");
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  tls.pem_key_cert_pairs.push_back(
      {identity.substr(0, certificates), identity.substr(certificates)});
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address(), grpc::SslServerCredentials(tls));
  builder.RegisterCallbackGenericService(this);
  server_ = builder.BuildAndStart();
  HF_CHECK(server_ != nullptr, "the stuck server listens");
}

grpc::ServerGenericBidiReactor* StuckServer::CreateReactor(
    grpc::GenericCallbackServerContext* call) {
  if (call->method().ends_with("/GetServiceConfig")) ++discoveries_;
  return new SilentCall();
}

}  // namespace holdfast::test
