// An HTTP server on its own loop and thread, with a handler made for tests:
//
//   /          "hello" and the method         /peer    who the peer is
//   /size      how large the body was         /big     16 MiB
//   /wait      nothing until released         /stream  "tick\n" for as long as it may
//   /reset     the connection is reset        all else, with raw_targets: the target
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "metrics/metrics.h"
#include "net/http_server.h"

namespace holdfast::test {

namespace asio = boost::asio;

class RunningHttpServer {
 public:
  explicit RunningHttpServer(net::HttpServerOptions options = {});
  ~RunningHttpServer();

  // Where clients find it.
  std::string listen(const std::string& address, bool tls = false);
  // Runs `work` on the loop and waits for its end.
  void on_loop(const std::function<void()>& work);
  Status set_tls(const std::string& certificate_pem, const std::string& private_key_pem);
  void release_waiting();
  void stop();

  double counted(const std::string& family, const metrics::Labels& labels);
  double connections();

  std::atomic<bool> healthy = true;
  std::atomic<int> streams = 0;
  std::atomic<int> waiting = 0;

 private:
  asio::awaitable<net::HttpResponse> handle(const net::HttpRequest& request);
  asio::awaitable<void> tick(net::HttpSink& sink);

  SystemClock clock_;
  metrics::Registry registry_{{}};
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  asio::steady_timer released_;
  net::HttpServer server_;
  std::thread thread_;
};

}  // namespace holdfast::test
