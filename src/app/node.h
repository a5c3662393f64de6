// An agent or a proxy: its place in the cluster, its copy of what the controllers have, and its own
// front. Wiring only; members stand in the order they are built and go in the reverse.
//
//   NodeService ── PickHealthyService ──► a controller
//        │ announces        ▲
//        ▼ describe()       │ list, get, watch
//   CacheService ── UpstreamService            NodeFronts ◄── whoever is on this machine
//        ▲─────────────── get, list, watch ────────┘
//        └── follow_cache() ── NodePart: an agent's tunnels, or a proxy's
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/node_fronts.h"
#include "app/node_part.h"
#include "app/witness_part.h"
#include "base/clock.h"
#include "base/result.h"
#include "cache/cache_service.h"
#include "config/load.h"
#include "metrics/metrics.h"
#include "net/task_group.h"
#include "node/load_report_service.h"
#include "node/node_service.h"
#include "node/upstream_service.h"

namespace holdfast::app {

struct NodeAppOptions {
  node::NodeOptions node{};
  std::string data_dir{};        // of the cache's copy and the socket
  std::string listen{};          // HOST:PORT for health and metrics; empty: none
  std::string witness_listen{};  // IP:PORT of a pair's record; empty: this node keeps none
  Duration max_staleness = std::chrono::minutes(1);
  // What a reconnect_interval below it counts as: older controllers take any.
  Duration least_reconnect_interval = std::chrono::seconds(10);
  // What the node is there for; empty: it is only present.
  std::function<Result<std::unique_ptr<NodePart>>(const PartWorld&)> make_part{};
};

// What a node of this role keeps a copy of: what it may read (docs/permissions.md) and will need to
// go on when no controller is left. Never with secrets.
std::vector<cache::KindPolicy> cached_kinds(identity::Role role, Duration max_staleness);

class Node {
 public:
  Node(const asio::any_io_executor& loop, const Clock& clock, NodeAppOptions options,
       node::HeldIdentity held);

  // The addresses of its front and its part. Fails as NodeFronts::listen(), or as the part's maker.
  Result<std::vector<std::string>> listen();
  // Returns when reads are answered as well as they can be for now: from a controller, from the
  // copy on disk, or from neither.
  asio::awaitable<void> start();
  // For a node that is not started after all.
  asio::awaitable<void> stop_listening();
  // In bounded time: its part leaves in good order first. Requires: start() has returned.
  asio::awaitable<void> stop();
  // A stop() under way waits for nobody any more.
  void hurry();
  // What a reload brought: the keys that may change, or why it is of no use.
  void on_configuration(const Result<config::Loaded>& loaded);

 private:
  NodeReads reads();
  node::NodeOptions with_description(node::NodeOptions options);
  void describe(v1::Resource& entry) const;
  PartWorld world(const asio::any_io_executor& loop, const Clock& clock);
  void report();
  void follow_identity();
  void log_link();
  void log_cache();
  void follow_settings();
  asio::awaitable<void> tick();
  asio::awaitable<void> feed_part();

  const Duration least_reconnect_interval_;
  metrics::Registry registry_;
  node::NodeService node_;
  node::UpstreamService upstream_;
  cache::CacheService cache_;
  cache::View view_;
  Result<std::unique_ptr<NodePart>> part_;        // null: none
  Result<std::unique_ptr<WitnessPart>> witness_;  // null: none
  std::optional<node::LoadReportService> load_;   // of a part that opens connections
  std::string part_certificate_;                  // that the part was told of
  std::string part_trust_;
  NodeFronts fronts_;
  uint64_t logged_connection_ = 0;
  std::string logged_cache_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::app
