// A server with a controller's certificate that takes connections and calls and answers none: a
// client that connects to it is stuck in discovery.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <atomic>
#include <memory>
#include <string>

namespace holdfast::test {

class StuckServer final : private grpc::CallbackGenericService {
 public:
  // On a port that is free until open().
  StuckServer();
  ~StuckServer() override;

  std::string address() const;
  // `identity` is the private key and the certificates, in PEM.
  void open(const std::string& identity);
  // GetServiceConfig calls it was asked so far.
  size_t discoveries() const { return discoveries_; }

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* call) override;

  const uint16_t port_;
  std::atomic<size_t> discoveries_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::test
