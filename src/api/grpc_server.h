// The controller's gRPC listeners. A controller has two: one on its unix socket, where the file's
// permissions are the door, and one with TLS for everyone else.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/grpc_call.h"
#include "api/grpc_fronts.h"
#include "api/grpc_listener.h"
#include "base/clock.h"
#include "base/result.h"

namespace holdfast::api {

struct GrpcServerOptions {
  // Without TLS one "unix:/path", with TLS any of "127.0.0.1:7443"; port 0 picks one.
  std::vector<std::string> listen{};
  // A PEM file with the server's key and certificates, read again when it changes. Empty: no TLS,
  // and every caller is local.
  std::string identity_file{};
  int max_message_bytes = 4 << 20;
  int max_streams_per_connection = 1'024;
  size_t max_calls_in_flight = 4'096;  // further ones are answered kResourceExhausted
  // What messages on their way in may take together. gRPC reads a message to its end before it
  // looks at its size; beyond this it slows peers down, then ends calls.
  size_t max_buffered_bytes = 128 << 20;
  // With TLS; further ones are closed as they come. One address has three quarters of them: many
  // nodes may be behind one, and whoever is behind another still gets in.
  size_t max_connections = 8'192;
  Duration handshake_timeout = std::chrono::seconds(10);
  Duration idle_timeout = std::chrono::minutes(5);  // of a connection without a call
  ha::PairService* pair = nullptr;                  // whose half this server is; null: none
};

class GrpcServer {
 public:
  // Listens when it returns.
  static Result<std::unique_ptr<GrpcServer>> start(const asio::any_io_executor& loop,
                                                   GrpcServerOptions options,
                                                   const GrpcServices& services);
  // The same with services of one's own.
  using MakeFronts = std::function<std::vector<std::unique_ptr<grpc::Service>>(CallRoom&)>;
  static Result<std::unique_ptr<GrpcServer>> start(const asio::any_io_executor& loop,
                                                   GrpcServerOptions options, Gate& gate,
                                                   const MakeFronts& make);
  ~GrpcServer();

  // The TCP ports bound, in the order of `listen`; none of a unix socket.
  const std::vector<int>& ports() const { return ports_; }
  const CallStats& stats() const { return room_.stats(); }
  // Of its TCP connections; those that shook hands are the ones that showed they speak TLS.
  const ListenerStats& listener_stats() const { return listener_.stats(); }
  size_t open_connections() const { return listener_.open(); }
  uint64_t handshakes() const { return *handshakes_; }
  // Refuses new calls, ends the running ones within a second, returns when gRPC is done. Requires:
  // the streams were told to end.
  asio::awaitable<void> stop();

 private:
  GrpcServer(const asio::any_io_executor& loop, GrpcServerOptions options, Gate& gate,
             const MakeFronts& make);
  Status listen();

  asio::any_io_executor loop_;
  GrpcServerOptions options_;
  CallRoom room_;
  std::vector<std::unique_ptr<grpc::Service>> fronts_;
  std::vector<int> ports_;
  std::shared_ptr<std::atomic<uint64_t>> handshakes_;  // tidy: shared, gRPC's threads count
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  GrpcListener listener_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::api
