// The controller's gRPC front: turns calls into coroutines on the loop and their results into
// answers. Decides nothing itself.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <vector>

#include "api/resource_service.h"
#include "api/watch_streams.h"
#include "base/result.h"
#include "net/task_group.h"

namespace holdfast::api {

struct GrpcServerOptions {
  // "unix:/path" or "127.0.0.1:7443"; port 0 picks one.
  std::vector<std::string> listen;
  int max_message_bytes = 4 << 20;
  int max_streams_per_connection = 1'024;
  size_t max_calls_in_flight = 4'096;  // further ones are answered kResourceExhausted
};

struct GrpcServerStats {
  uint64_t calls = 0;
  uint64_t refused_when_full = 0;
};

class GrpcServer {
 public:
  // Listens when it returns. The references outlive the server.
  static Result<std::unique_ptr<GrpcServer>> start(const asio::any_io_executor& loop,
                                                   GrpcServerOptions options,
                                                   ResourceService& resources,
                                                   WatchStreams& watches);
  ~GrpcServer();

  // The TCP ports bound, in the order of `listen`; 0 for a unix socket.
  const std::vector<int>& ports() const { return ports_; }
  const GrpcServerStats& stats() const { return stats_; }
  // Refuses new calls, ends the running ones within a second, returns when gRPC is done.
  asio::awaitable<void> stop();

 private:
  class Resources;
  class Events;
  GrpcServer(const asio::any_io_executor& loop, GrpcServerOptions options,
             ResourceService& resources, WatchStreams& watches);
  Status listen();
  void note_failure(const Status& status);

  asio::any_io_executor loop_;
  GrpcServerOptions options_;
  GrpcServerStats stats_;
  Status last_failure_;
  WatchStreams& watches_;
  net::TaskGroup calls_;
  std::unique_ptr<Resources> resources_;
  std::unique_ptr<Events> events_;
  std::vector<int> ports_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::api
