// A port on this machine whose connections go on to a service.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/proxy_route.h"
#include "net/task_group.h"

namespace holdfast::cli {

// Where "127.0.0.1:5432" is. kInvalidArgument.
Result<asio::ip::tcp::endpoint> local_endpoint(const std::string& address);

struct LocalPortOptions {
  std::string address{};
  // What every connection is for; absent: each says so by SOCKS5.
  std::optional<WantedService> wanted{};
  size_t max_connections = 1'024;  // further ones are closed as they come
  Duration socks_timeout = std::chrono::seconds(10);
  // A connection that did not get where it should; the port goes on.
  std::function<void(const Status&)> on_failure = [](const Status&) {};
};

class LocalPort {
 public:
  // `route` outlives it.
  LocalPort(const asio::any_io_executor& loop, ProxyRoute& route, LocalPortOptions options);

  // The address it listens on. kInvalidArgument, or kUnavailable HF1106.
  Result<std::string> listen();
  // Until it is cancelled.
  asio::awaitable<void> run();

 private:
  asio::awaitable<void> serve(std::unique_ptr<net::HttpStream> client);
  asio::awaitable<Status> carry(net::HttpStream& client);
  asio::awaitable<Status> carry_socks(net::HttpStream& client);

  ProxyRoute& route_;
  LocalPortOptions options_;
  asio::ip::tcp::acceptor acceptor_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::cli
