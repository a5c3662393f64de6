// What a proxy is told of the cache, and what its places count, as metrics.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/snapshot.h"
#include "metrics/metrics.h"
#include "node/load_report_service.h"
#include "route/load.h"
#include "track/connection_metrics.h"
#include "tunnel/places_service.h"

namespace holdfast::app {

// Zones in the order of the zone map; none if there is no map.
std::vector<std::string> listed_zones(cache::View& view);
// Proxies that are not offline. `own` is the one that asks: it is among them in any case.
size_t holders_in(cache::View& view, const std::string& own);
// How long the controllers take for granted that it is there; absent if nobody knows.
std::optional<Duration> announce_ttl_in(cache::View& view, const std::string& own);
tunnel::ProxyLoad proxy_load(cache::View& view, const std::string& own);
// What it holds, for reports; outlived by it.
node::LoadSource load_source_of(tunnel::PlacesService& places);

class ProxyLoadMetrics {
 public:
  ProxyLoadMetrics(metrics::Registry& registry, std::string zone);

  // From time to time. Connections to zones that are not listed are not shown; with none listed,
  // all are.
  void show(const tunnel::PlacesService& places, const std::vector<std::string>& listed);

 private:
  using Pools = std::map<metrics::Labels, route::PoolReport>;

  void show_connections(const tunnel::ConnectionCounts& counts,
                        const std::vector<std::string>& listed);
  void show_pools(const std::vector<route::PoolReport>& pools);
  void remove_pool(const metrics::Labels& labels);
  void show_line(const tunnel::PlacesService& places);

  metrics::Registry& registry_;
  std::string zone_;
  track::ConnectionMetrics connections_;
  track::SeriesChoice pools_;
  std::map<metrics::Labels, uint64_t> turned_away_;  // of pools that are shown, as told
};

}  // namespace holdfast::app
