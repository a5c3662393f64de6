#include "app/proxy_load.h"

#include <algorithm>
#include <utility>

#include "app/metric_totals.h"
#include "resource/proto_time.h"
#include "route/capacity.h"

namespace holdfast::app {
namespace {

using resource::Kind;

// Series of each family; a registry's limit is a little higher.
constexpr size_t kMostRows = 400;
constexpr size_t kMostPools = 400;

const metrics::Description kLimit = {
    .name = "holdfast_route_limit_connections",
    .help = "Connections that this proxy may have, by service and zone."};
const metrics::Description kTaken = {
    .name = "holdfast_route_taken_places",
    .help =
        "Places that are taken, by service and zone: connections that run or are being opened."};
const metrics::Description kLeased = {
    .name = "holdfast_route_leased",
    .help = "1 while the limit is a lease of a controller, 0 while it is the fixed share."};
const metrics::Description kTurnedAway = {
    .name = "holdfast_route_turned_away_total",
    .help = "Connections that found no place in the zone and went on, by service and zone."};

track::TotalsRow totals_of(const tunnel::ConnectionRow& row) {
  return {.opened = row.opened,
          .closed = row.closed,
          .active = static_cast<uint32_t>(row.active()),
          .failures = {.refused = row.failed.refused,
                       .timed_out = row.failed.timed_out,
                       .reset = row.failed.reset,
                       .gave_up = row.failed.gave_up,
                       .cut = row.failed.cut}};
}

}  // namespace

std::vector<std::string> listed_zones(cache::View& view) {
  std::vector<std::string> zones;
  const auto maps = view.read<Kind::ZoneMap>();
  const auto found = maps ? maps.find("default") : std::nullopt;
  if (!found) return zones;
  for (const v1::Zone& zone : found->body.zones()) zones.push_back(zone.name());
  return zones;
}

size_t holders_in(cache::View& view, const std::string& own) {
  size_t others = 0;
  const auto proxies = view.read<Kind::Proxy>();
  if (!proxies) return 1;
  proxies.for_each([&](const auto& entry) {
    const bool is_gone = entry.body.announcement().has_offline_since();
    others += !is_gone && entry.metadata.name() != own ? 1 : 0;
    return true;
  });
  return others + 1;
}

std::optional<Duration> announce_ttl_in(cache::View& view, const std::string& own) {
  const auto proxies = view.read<Kind::Proxy>();
  const auto found = proxies ? proxies.find(own) : std::nullopt;
  if (!found || !found->body.announcement().has_ttl()) return std::nullopt;
  return resource::to_duration(found->body.announcement().ttl());
}

// If there are more than are remembered, those with limits are among those that are.
tunnel::ProxyLoad proxy_load(cache::View& view, const std::string& own) {
  tunnel::ProxyLoad load{.zones = listed_zones(view), .holders = holders_in(view, own)};
  const auto services = view.read<Kind::Service>();
  if (!services) return load;
  const size_t most = route::PlacesOptions().max_pools;
  const auto add = [&](bool limited) {
    services.for_each([&](const auto& entry) {
      if (route::has_limits(entry.body) != limited) return true;
      load.services.emplace(entry.metadata.name(), route::capacity_of(entry.body));
      return load.services.size() < most;
    });
  };
  add(true);
  if (load.services.size() < most) add(false);
  load.has_all = load.services.size() < most;
  return load;
}

node::LoadSource load_source_of(tunnel::PlacesService& places) {
  return {.due = [&places] { return places.report_due(); },
          .report = [&places] { return places.report(); },
          .on_grant = [&places](const route::LoadGrant& grant) { places.on_grant(grant); },
          .on_failed = [&places] { places.on_report_failed(); }};
}

ProxyLoadMetrics::ProxyLoadMetrics(metrics::Registry& registry, std::string zone)
    : registry_(registry),
      zone_(std::move(zone)),
      connections_(registry, kMostRows),
      pools_(kMostPools) {}

void ProxyLoadMetrics::show(const tunnel::PlacesService& places,
                            const std::vector<std::string>& listed) {
  show_connections(places.connections(), listed);
  show_pools(places.pools());
  show_line(places);
}

void ProxyLoadMetrics::show_connections(const tunnel::ConnectionCounts& counts,
                                        const std::vector<std::string>& listed) {
  track::ConnectionMetrics::Rows rows;
  for (const auto& [key, row] : counts.rows()) {
    const bool shown = listed.empty() || std::ranges::find(listed, key.zone) != listed.end();
    if (!shown) continue;
    rows[track::connection_labels({.src_zone = zone_,
                                   .dst_zone = key.zone,
                                   .svc_ip = row.address,
                                   .svc_port = key.port,
                                   .svc_proto = row.protocol})] = totals_of(row);
  }
  connections_.show(rows);
  MetricTotals(registry_).count({"holdfast_uncounted_connections_total",
                                 "Connections that are in no row: there are too many."},
                                {}, counts.left_out());
}

// Those with a limit only: the others are in the counts of connections.
void ProxyLoadMetrics::show_pools(const std::vector<route::PoolReport>& pools) {
  Pools rows;
  track::SeriesChoice::Rows loads;
  for (const route::PoolReport& pool : pools) {
    if (pool.limit == route::kNoLimit) continue;
    const metrics::Labels labels = {{"service", pool.pool.service}, {"zone", pool.pool.zone}};
    loads[labels] = {.active = pool.active, .opened = pool.opened};
    rows[labels] = pool;
  }
  pools_.update(loads);
  std::erase_if(turned_away_, [&](const auto& told) {
    const bool gone = !pools_.shown().contains(told.first);
    if (gone) remove_pool(told.first);
    return gone;
  });
  for (const metrics::Labels& labels : pools_.shown()) {
    const route::PoolReport& pool = rows.at(labels);
    registry_.gauge(kLimit).with(labels).set(static_cast<double>(pool.limit));
    registry_.gauge(kTaken).with(labels).set(static_cast<double>(pool.active));
    registry_.gauge(kLeased).with(labels).set(pool.leased ? 1 : 0);
    uint64_t& told = turned_away_[labels];
    const uint64_t more = pool.turned_away > told ? pool.turned_away - told : 0;
    registry_.counter(kTurnedAway).with(labels).add(static_cast<double>(more));
    told = pool.turned_away;
  }
  MetricTotals(registry_).set(
      {"holdfast_route_hidden_pools", "Pools that are not shown because there are too many."}, {},
      static_cast<double>(pools_.hidden()));
}

void ProxyLoadMetrics::remove_pool(const metrics::Labels& labels) {
  registry_.gauge(kLimit).remove(labels);
  registry_.gauge(kTaken).remove(labels);
  registry_.gauge(kLeased).remove(labels);
  registry_.counter(kTurnedAway).remove(labels);
}

void ProxyLoadMetrics::show_line(const tunnel::PlacesService& places) {
  MetricTotals totals(registry_);
  const tunnel::PlacesStats& stats = places.stats();
  const metrics::Description full{
      "holdfast_route_full_total",
      "Connections that found every zone full, by what became of them."};
  totals.count(full, {{"outcome", "beyond"}}, stats.beyond);
  totals.count(full, {{"outcome", "rejected"}}, stats.rejected);
  totals.count(full, {{"outcome", "waited"}}, stats.waited);
  totals.count(full, {{"outcome", "waited_in_vain"}}, stats.waited_in_vain);
  totals.count(full, {{"outcome", "not_let_wait"}}, places.line_stats().refused);
  totals.set({"holdfast_route_waiting", "Connections that wait for a place."}, {},
             static_cast<double>(places.waiting()));
  totals.count({"holdfast_route_unlimited_total",
                "Connections that no limit was applied to: there are too many pools."},
               {}, places.pools_left_out());
}

}  // namespace holdfast::app
