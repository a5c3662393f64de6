// The controller's HTTP side on its own loop and thread, over a backend that behaves: resources in
// a map, whose changes the fan-out carries to watchers. Who presents a certificate is "user/test";
// who comes by the unix socket is local; the rest is nobody, who may do nothing.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <string>
#include <thread>

#include "base/clock.h"
#include "events/fan_out.h"
#include "health/health.h"
#include "metrics/metrics.h"
#include "web/web_server.h"

namespace holdfast::test {

namespace asio = boost::asio;

class RunningWebServer {
 public:
  explicit RunningWebServer(web::WebServerOptions options = {}, events::FanOutOptions fan_out = {});
  ~RunningWebServer();

  std::string listen(const std::string& address, bool tls = false);
  void on_loop(const std::function<void()>& work);
  void set_tls(const std::string& certificate_pem, const std::string& private_key_pem);
  // Changes, as if another front had made them.
  void put(const std::string& name, const std::string& description = {});
  void report(const Status& store);
  // Events that nobody takes for longer than their grace.
  void pass(Duration time);
  // The certificate of callers from now on ends then.
  void set_expiry(WallTime expires);
  // Watches that run are no longer allowed, for this reason.
  void revoke(const Status& why);
  size_t watcher_count();
  void stop();

 private:
  web::Backend make_backend();
  Result<v1::Resource> write(v1::Resource resource, bool may_exist, bool must_exist);
  Result<v1::DeleteResponse> remove(const v1::DeleteRequest& request);
  Result<web::Sourced<v1::ListResponse>> list(const v1::ListRequest& request) const;
  void append(events::Event event);

  SystemClock clock_;
  metrics::Registry registry_{{}};
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::map<std::string, v1::Resource> resources_;  // by kind/name
  int64_t revision_ = 1;
  WallTime expires_{};
  Status verdict_;
  Duration passed_{};
  events::FanOut fan_out_;
  health::Health health_{{}};
  web::WebServer server_;
  std::thread thread_;
};

}  // namespace holdfast::test
