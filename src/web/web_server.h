// The controller's HTTP side: health and metrics for whoever can connect, the API as JSON for
// callers that say who they are. One server, several listeners.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "events/fan_out.h"
#include "health/health.h"
#include "metrics/metrics.h"
#include "net/http_server.h"
#include "web/api_handler.h"
#include "web/backend_service.h"
#include "web/route.h"
#include "web/watch_handler.h"

namespace holdfast::web {

struct WebServerOptions {
  net::HttpServerOptions http{};  // its `healthy` is set here: the health given is ok
  WatchHandlerOptions watches{};
};

class WebServer {
 public:
  // All of these outlive it.
  struct Parts {
    events::FanOut& fan_out;
    const health::Health& health;
    metrics::Registry& registry;
    const Clock& clock;
  };
  WebServer(const asio::any_io_executor& loop, Parts parts, Backend backend,
            WebServerOptions options);

  // As HttpServer::listen(). The API is served with TLS and on unix sockets; on plain TCP health
  // and metrics only.
  Result<std::string> listen(const net::HttpListen& where);
  Status set_tls(const std::string& certificate_chain_pem, const std::string& private_key_pem) {
    return http_.set_tls(certificate_chain_pem, private_key_pem);
  }
  // Watchers of the fan-out that have something due; ids of others are ignored.
  void wake(const std::vector<events::WatcherId>& ids) { watches_.wake(ids); }
  // As WatchHandler::end_unlawful().
  void end_unlawful(bool changed) { watches_.end_unlawful(changed); }
  // As WatchHandler::end_all().
  void end_watches(const Status& why) { watches_.end_all(why); }
  asio::awaitable<void> stop();
  size_t watcher_count() const { return watches_.size(); }

 private:
  asio::awaitable<net::HttpResponse> handle(const net::HttpRequest& request, Served served);
  net::HttpResponse answer_health(const Route& route, const net::HttpRequest& request);

  Parts parts_;
  WatchHandler watches_;
  ApiHandler api_;
  net::HttpServer http_;
};

}  // namespace holdfast::web
