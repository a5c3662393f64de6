#include "e2e/probe_apps.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "base/check.h"
#include "support/test_certificate.h"

namespace holdfast::test {
namespace {

namespace asio = boost::asio;

asio::awaitable<net::HttpResponse> answer(const net::HttpRequest& /*request*/) {
  co_return net::HttpResponse{.content_type = "text/plain", .body = "ok"};
}

}  // namespace

TlsApp::TlsApp() : server_(loop_.get_executor(), clock_, metrics_, {}) {
  const TestCertificate own = make_test_certificate("app");
  HF_CHECK(server_.set_tls(own.certificate_pem, own.private_key_pem).ok(), "a certificate");
  const Result<std::string> address =
      server_.listen({.address = "127.0.0.1:0", .tls = true}, answer);
  HF_CHECK(address.ok(), address.status().ToString());
  port_ = static_cast<uint16_t>(std::stoi(address->substr(address->rfind(':') + 1)));
  thread_ = std::thread([this] { loop_.run(); });
}

TlsApp::~TlsApp() {
  asio::post(loop_, [this] { asio::co_spawn(loop_, server_.stop(), asio::detached); });
  thread_.join();
}

GrpcApp::GrpcApp() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterCallbackGenericService(&others_);
  server_ = builder.BuildAndStart();
  HF_CHECK(server_ != nullptr && port_ != 0, "a gRPC server");
}

void GrpcApp::set_serving(const std::string& service, bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(service, serving);
}

GrpcApp::~GrpcApp() {
  server_->Shutdown();
}

}  // namespace holdfast::test
