// What a node is there for besides being present: an agent's tunnels, or a proxy's. Node tells it
// who it is and what the cluster has, and asks it what to announce.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cache/snapshot.h"
#include "config/config.h"
#include "holdfast/v1/node.pb.h"
#include "metrics/metrics.h"
#include "node/held_identity.h"
#include "node/load_report_service.h"

namespace holdfast::app {

namespace asio = boost::asio;

// What a part lives among; all of it outlives the part.
struct PartWorld {
  asio::any_io_executor loop;
  const Clock& clock;
  metrics::Registry& registry;
  cache::Published<cache::Snapshot>& published;
  const node::HeldIdentity& held;  // to begin with
  // What describe() says is no longer what it said.
  std::function<void()> changed;
  // The same, and waits until a controller has taken it, or this long.
  std::function<asio::awaitable<bool>(Duration)> announce_within;
  // What load_source() said is due sooner than it was.
  std::function<void()> load_due;
};

// How a component is: OK, or why not. A warning is for operators, an error also for readiness.
struct ComponentReport {
  std::string component;
  Status status;
  bool is_warning = false;
};

class NodePart {
 public:
  virtual ~NodePart() = default;

  // Opens its listeners, if it has any: their addresses. As NodeFronts::listen().
  virtual Result<std::vector<std::string>> listen() = 0;
  // Requires: listen() succeeded.
  virtual void start() = 0;
  // Leaves in good order, in bounded time. May be called when start() was not.
  virtual asio::awaitable<void> stop() = 0;
  // A stop() under way returns soon, whatever it cuts off.
  virtual void hurry() = 0;

  // What it works with, from here on.
  virtual void set_identity(const node::HeldIdentity& held) = 0;
  // The keys that may change while it runs. kInvalidArgument, and no change, if one is of no use.
  virtual Status set_config(const config::Config& config) = 0;
  // The cache may have changed: called several times a second.
  virtual void follow_cache() = 0;

  // Adds to its node's announcement.
  virtual void describe(v1::Resource& entry) const = 0;
  virtual v1::GetTunnelsResponse tunnels() const = 0;
  // Begins to leave, as a request asks for it. kFailedPrecondition if this node does not drain.
  virtual Status drain(const v1::DrainRequest& request) = 0;
  // How that goes; who asks is given the time to ask again before the node ends.
  virtual v1::DrainStatus drain_status() = 0;
  virtual std::vector<ComponentReport> reports() const = 0;
  // What it opens connections with, for the controllers; none: it opens none. Outlived by it.
  virtual std::optional<node::LoadSource> load_source() { return std::nullopt; }
  virtual void update_metrics() = 0;
};

}  // namespace holdfast::app
