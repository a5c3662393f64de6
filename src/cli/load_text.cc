// What `get load` and `get zones` print; no waiting.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/load.h"
#include "cli/times.h"

namespace holdfast::cli {
namespace {

std::string free_text(const v1::PoolStatus& pool) {
  if (!pool.has_capacity()) return "";
  return std::to_string(pool.capacity() - std::min(pool.capacity(), pool.charged()));
}

// "proxy/p-1 3/5": what it has of what it may have; in brackets if that is its fixed share.
std::string holders_text(const v1::PoolStatus& pool) {
  std::string out;
  for (const v1::HolderStatus& holder : pool.holders()) {
    const v1::PoolReport& report = holder.report();
    const std::string limit = report.has_limit() ? std::to_string(report.limit()) : "any";
    out += fmt::format("{}{} {}/{}", out.empty() ? "" : ", ", holder.holder(), report.active(),
                       report.leased() || !report.has_limit() ? limit : "(" + limit + ")");
  }
  return out;
}

Row load_row(const v1::PoolStatus& pool, bool wide) {
  Row row = {pool.service(),
             pool.zone(),
             pool.has_capacity() ? std::to_string(pool.capacity()) : "",
             std::to_string(pool.active()),
             pool.has_capacity() ? std::to_string(pool.leased()) : "",
             free_text(pool),
             std::to_string(pool.opened()),
             std::to_string(pool.failed()),
             pool.has_oldest() ? to_short_string(to_duration(pool.oldest())) : ""};
  if (!wide) return row;
  row.push_back(std::to_string(pool.turned_away()));
  row.push_back(holders_text(pool));
  return row;
}

bool is_offline(const v1::Resource& node) {
  return node.has_proxy() ? node.proxy().announcement().has_offline_since()
                          : node.agent().announcement().has_offline_since();
}

class Zones {
 public:
  explicit Zones(const v1::ZoneMap& map) {
    for (const v1::Zone& zone : map.zones()) {
      v1::ZoneStatus& row = *listed_.add_zones();
      row.set_name(zone.name());
      row.set_id(zone.id());
    }
  }
  v1::ZoneStatus& find(const std::string& name) {
    const auto listed = std::ranges::find(*listed_.mutable_zones(), name, &v1::ZoneStatus::name);
    if (listed != listed_.mutable_zones()->end()) return *listed;
    v1::ZoneStatus& other = others_[name];
    other.set_name(name);
    return other;
  }
  v1::ZoneList all() {
    for (const auto& [name, zone] : others_) *listed_.add_zones() = zone;
    return listed_;
  }

 private:
  v1::ZoneList listed_;
  std::map<std::string, v1::ZoneStatus> others_;
};

}  // namespace

std::string render_load(const v1::GetLoadResponse& load, const LoadText& how) {
  Row headers = {"SERVICE", "ZONE",   "CAPACITY", "ACTIVE", "LEASED",
                 "FREE",    "OPENED", "FAILED",   "AS OF"};
  if (how.wide) {
    headers.emplace_back("TURNED AWAY");
    headers.emplace_back("HOLDERS");
  }
  std::vector<Row> rows;
  for (const v1::PoolStatus& pool : load.pools()) rows.push_back(load_row(pool, how.wide));
  std::string out = render_table(headers, rows, how.wide ? LastColumn::Whole : how.last);
  if (load.left_out() > 0) {
    out += fmt::format("and {} more: name a service\n", load.left_out());
  }
  if (load.warming_up()) {
    out += fmt::format("{} has just begun to deal: nobody gets more than it has yet\n",
                       load.controller());
  }
  return out;
}

v1::ZoneList zones_of(const ZoneFacts& facts) {
  Zones zones(facts.map);
  for (const v1::Resource& proxy : facts.proxies) {
    v1::ZoneStatus& zone = zones.find(proxy.proxy().zone());
    is_offline(proxy) ? zone.set_offline(zone.offline() + 1) : zone.set_proxies(zone.proxies() + 1);
  }
  for (const v1::Resource& agent : facts.agents) {
    v1::ZoneStatus& zone = zones.find(agent.agent().zone());
    is_offline(agent) ? zone.set_offline(zone.offline() + 1) : zone.set_agents(zone.agents() + 1);
  }
  for (const v1::PoolStatus& pool : facts.load.pools()) {
    v1::ZoneStatus& zone = zones.find(pool.zone());
    zone.set_active(zone.active() + pool.active());
    if (!pool.has_capacity()) continue;
    zone.set_capacity(zone.capacity() + pool.capacity());
    zone.set_active_of_capacity(zone.active_of_capacity() + pool.active());
  }
  return zones.all();
}

bool has_zone(const v1::ZoneList& zones, std::string_view name) {
  return std::ranges::find(zones.zones(), name, &v1::ZoneStatus::name) != zones.zones().end();
}

std::string render_zones(const v1::ZoneList& zones, LastColumn last) {
  std::vector<Row> rows;
  for (const v1::ZoneStatus& zone : zones.zones()) {
    const std::string capacity =
        zone.capacity() == 0 ? ""
                             : fmt::format("{} of {}", zone.active_of_capacity(), zone.capacity());
    rows.push_back({zone.name(), zone.has_id() ? std::to_string(zone.id()) : "not listed",
                    std::to_string(zone.proxies()), std::to_string(zone.agents()),
                    std::to_string(zone.offline()), std::to_string(zone.active()), capacity});
  }
  return render_table({"ZONE", "ID", "PROXIES", "AGENTS", "OFFLINE", "ACTIVE", "CAPACITY USED"},
                      rows, last);
}

}  // namespace holdfast::cli
