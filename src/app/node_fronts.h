// A node as whoever is on its machine sees it: what its cache has, over HTTP on a unix socket for
// its owner, and health and metrics there and, if wanted, on a TCP address.
//
//   DATA/node.sock ─┐                    ┌─ get, list: NodeReads (the cache, or upstream)
//                   ├─► web::WebServer ──┼─ watch: the cache's fan-out
//   --listen ADDR ──┘  health only       └─ write: refused
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>
#include <vector>

#include "app/node_part.h"
#include "base/clock.h"
#include "base/result.h"
#include "events/fan_out.h"
#include "health/health.h"
#include "metrics/metrics.h"
#include "web/web_server.h"

namespace holdfast::app {

namespace asio = boost::asio;

// What the front reads; app/node binds it to the cache.
struct NodeReads {
  std::function<asio::awaitable<Result<web::Sourced<v1::Resource>>>(v1::GetRequest)> get;
  std::function<asio::awaitable<Result<web::Sourced<v1::ListResponse>>>(v1::ListRequest)> list;
  std::function<std::vector<v1::CachedKind>()> caches;
  // /v1/tunnels and /v1/drain; empty: there are none.
  std::function<Result<net::HttpResponse>(const net::HttpRequest&)> node_call{};
};

struct NodeFrontsOptions {
  std::string node{};         // "agent/edge-1"
  std::string socket_file{};  // for its owner only
  std::string listen{};       // HOST:PORT for health and metrics; empty: none
  net::HttpServerOptions http{};
};

class NodeFronts {
 public:
  // All of these outlive it.
  struct Parts {
    const Clock& clock;
    metrics::Registry& registry;
    events::FanOut& fan_out;
  };
  NodeFronts(const asio::any_io_executor& loop, Parts parts, NodeReads reads,
             NodeFrontsOptions options);

  // Opens both listeners; the addresses they have. kInvalidArgument or kUnavailable naming the one
  // that could not be opened.
  Result<std::vector<std::string>> listen();
  // Watchers of the fan-out that have something due.
  void wake(const std::vector<events::WatcherId>& ids) { web_.wake(ids); }
  // What became of the caches: each kind is a component of the node's readiness. A kind is answered
  // from a generation, however stale, or by a controller while there is one.
  void report(const std::vector<v1::CachedKind>& caches, bool has_controller);
  // The same for another component.
  void report(const ComponentReport& one);
  asio::awaitable<void> stop() { return web_.stop(); }

  const health::Health& health() const { return health_; }

 private:
  web::Backend backend() const;

  const Clock& clock_;
  NodeReads reads_;
  NodeFrontsOptions options_;
  health::Health health_{{}};
  web::WebServer web_;
};

}  // namespace holdfast::app
