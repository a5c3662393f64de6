// Connections of this machine, counted in the kernel: track::TrackService, told of the cache and
// the configuration. Whatever is wrong with it is a warning: the agent is there without it.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cache_reads.h"
#include "app/node_part.h"
#include "config/config.h"
#include "node/load_report_service.h"
#include "track/track_service.h"

namespace holdfast::app {

class AgentTracking {
 public:
  // `boot` is random, of this life of the agent.
  AgentTracking(const PartWorld& world, const config::TrackingConfig& config, uint64_t boot);

  // The keys that may change while it runs.
  void use(const config::TrackingConfig& config);
  void follow_cache(cache::View& view);
  void start();
  asio::awaitable<void> stop();

  // Adds to the agent's announcement; to its own reason only if it has no other.
  void describe(v1::Agent& agent) const;
  void add_report(std::vector<ComponentReport>& reports) const;
  // What the kernel holds, for the controllers; outlived by it. None while it is off.
  std::optional<node::LoadSource> load_source();

 private:
  void follow_zones(cache::View& view);
  void follow_services(cache::View& view);

  const std::string zone_;
  size_t holders_ = 0;
  CacheMark services_mark_;
  CacheMark zones_mark_;
  std::unique_ptr<track::TrackService> tracking_;  // null: it is off
};

}  // namespace holdfast::app
