// Applications that are probed under TLS and by gRPC, each on threads of its own. The one for HTTP
// and TCP is probe_app.h.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "metrics/metrics.h"
#include "net/http_server.h"

namespace holdfast::test {

// HTTPS with a certificate that nobody signed; answers everything with 200.
class TlsApp {
 public:
  TlsApp();
  ~TlsApp();
  uint16_t port() const { return port_; }

 private:
  SystemClock clock_;
  metrics::Registry metrics_{{}};
  boost::asio::io_context loop_{1};
  net::HttpServer server_;
  uint16_t port_ = 0;
  std::thread thread_;
};

// gRPC's own health service, which says SERVING.
class GrpcApp {
 public:
  GrpcApp();
  ~GrpcApp();
  uint16_t port() const { return static_cast<uint16_t>(port_); }
  // Of a service; what was never set is unknown, and the server itself is SERVING.
  void set_serving(const std::string& service, bool serving);

 private:
  grpc::CallbackGenericService others_;  // a server has one of its own, or it does not start
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::test
