// The probe handler: one HTTP port behind which every registered probe of a pod is made.
//
//   kubelet ── GET /8080/healthz ──► handler ── the probe, as registered ──► application
//           ◄── 200 or 503 ─────────         ◄── a new connection each time
//
// The registry alone says what is asked of whom: of a request only method and target are looked at,
// and the target must be a registered one byte for byte.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "metrics/metrics.h"
#include "net/http_server.h"
#include "probe/handler_metrics.h"
#include "probe/prober_service.h"
#include "probe/registry.h"

namespace holdfast::probe {

namespace asio = boost::asio;

// Callers ask once per connection and are within reach: short waits, and room for the next one.
net::HttpServerOptions handler_http_options();

class HandlerServer {
 public:
  // All of these outlive it.
  struct Parts {
    const Clock& clock;
    metrics::Registry& metrics;
    ProberService& prober;
  };
  HandlerServer(const asio::any_io_executor& loop, const Parts& parts,
                net::HttpServerOptions options = handler_http_options());

  // From now on; probes that run end as they began.
  void use(Registry registry);
  // For probes, and for the handler's own /healthz. The address it has; errors as of HttpServer.
  Result<std::string> listen(const std::string& address);
  // For /healthz, /readyz and /metrics, on a port of their own.
  Result<std::string> listen_for_health(const std::string& address);
  // No new connections; probes that run get the grace and are then cancelled.
  asio::awaitable<void> stop() { return server_.stop(); }

 private:
  asio::awaitable<net::HttpResponse> answer(const net::HttpRequest& request);
  net::HttpResponse answer_health(const net::HttpRequest& request) const;

  Parts parts_;
  std::shared_ptr<const Registry> registry_;
  HandlerMetrics metrics_;
  net::HttpServer server_;
};

}  // namespace holdfast::probe
