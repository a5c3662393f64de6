// What `route explain` says: the order of zones, what each has left for holders of one zone, where
// the next connection goes and why. It says what holders reported; a holder decides by what it has
// now.
#include <fmt/format.h>

#include <algorithm>

#include "cli/carried.h"
#include "cli/load.h"
#include "cli/times.h"
#include "route/zone_order.h"

namespace holdfast::cli {
namespace {

bool carries(const v1::Resource& agent, const std::string& service) {
  return is_reachable(agent) && health_text(agent, service) == "healthy";
}

// Where connections can go: those of proxies' clients to agents, those of kernels to endpoints.
struct Ends {
  bool is_exposed = false;  // by some agent, which need not be in reach
  std::vector<std::string> agents{};
  std::vector<std::string> endpoints{};

  std::vector<std::string> zones() const {
    std::vector<std::string> all = agents;
    all.insert(all.end(), endpoints.begin(), endpoints.end());
    return all;
  }
  bool are_for_kernels_alone() const { return !is_exposed && !endpoints.empty(); }
};

Ends ends_of(const RouteFacts& facts) {
  Ends ends;
  for (const v1::Resource& agent : carriers_of(facts.service, facts.known.agents)) {
    ends.is_exposed = true;
    const bool carried = carries(agent, facts.service.metadata().name());
    if (carried) ends.agents.push_back(agent.agent().zone());
  }
  for (const v1::ServiceEndpoint& endpoint : facts.service.service().endpoints()) {
    ends.endpoints.push_back(endpoint.zone());
  }
  return ends;
}

// An endpoint need not be in one.
std::string_view name_of(std::string_view zone) {
  return zone.empty() ? "no zone" : zone;
}

const v1::PoolStatus* pool_of(const RouteFacts& facts, const std::string& zone) {
  const auto& pools = facts.known.load.pools();
  const auto found = std::ranges::find(pools, zone, &v1::PoolStatus::zone);
  return found == pools.end() ? nullptr : &*found;
}

void add_holder(const v1::HolderStatus& holder, v1::RouteStep& step) {
  step.set_taken(step.taken() + holder.report().active());
  step.set_limit(step.limit() + holder.report().limit());
  *step.add_holders() = holder;
}

v1::RouteStep step_of(const RouteFacts& facts, const std::string& zone) {
  const auto& capacities = facts.service.service().zone_capacity();
  const auto capacity = capacities.find(zone);
  v1::RouteStep step;
  step.set_zone(zone);
  step.set_full(false);
  if (capacity != capacities.end() && capacity->second > 0) step.set_capacity(capacity->second);
  const v1::PoolStatus* pool = pool_of(facts, zone);
  if (pool == nullptr) return step;
  step.set_active(pool->active());
  if (!step.has_capacity()) return step;
  for (const v1::HolderStatus& holder : pool->holders()) {
    if (holder.zone() == facts.from && holder.report().has_limit()) add_holder(holder, step);
  }
  step.set_full(step.has_limit() ? step.taken() >= step.limit() : step.active() >= step.capacity());
  return step;
}

std::string when_full_text(const v1::RouteExplanation& route, const Ends& ends) {
  const bool in_kernels = ends.are_for_kernels_alone();
  switch (route.when_full()) {
    case v1::WHEN_FULL_QUEUE:
      if (in_kernels) return "the connection is refused (ECONNREFUSED): kernels let nobody wait";
      return "the connection waits some seconds for a place, then it is refused (HF2207)";
    case v1::WHEN_FULL_REJECT:
      return fmt::format("the connection is refused ({})", in_kernels ? "ECONNREFUSED" : "HF2206");
    default:
      return fmt::format("the connection goes to {}, beyond its limit",
                         name_of(route.steps().empty() ? route.from() : route.steps(0).zone()));
  }
}

// Of a service that has both: who cannot go to this zone.
std::string_view not_for_all(const Ends& ends, const std::string& zone) {
  if (!ends.is_exposed || ends.endpoints.empty()) return "";
  if (std::ranges::find(ends.agents, zone) == ends.agents.end()) {
    return "; only endpoints are there, which clients of proxies do not use";
  }
  const bool has_endpoint = std::ranges::find(ends.endpoints, zone) != ends.endpoints.end();
  return has_endpoint ? "" : "; no endpoint is there, as kernels would need";
}

std::string why_text(const v1::RouteExplanation& route, const Ends& ends) {
  if (route.steps().empty()) return "no agent that can be reached carries it";
  if (!route.has_next()) return "every zone is full";
  std::string full;
  for (const v1::RouteStep& step : route.steps()) {
    if (step.zone() == route.next()) break;
    full += fmt::format("{}{}", full.empty() ? "" : ", ", name_of(step.zone()));
  }
  const std::string_view not_all = not_for_all(ends, route.next());
  if (full.empty()) return fmt::format("it is first and has a place{}", not_all);
  return fmt::format("it has a place, and {} {} full{}", full, full.contains(',') ? "are" : "is",
                     not_all);
}

std::string places_text(const v1::RouteStep& step, const std::string& from) {
  if (!step.has_capacity()) return fmt::format("no limit; {} connections", step.active());
  std::string out = fmt::format("{} of {} places taken", step.active(), step.capacity());
  if (!step.has_limit()) return out + fmt::format("; no holder in {} has reported any", from);
  std::string before = fmt::format("; of holders in {}: ", from);
  for (const v1::HolderStatus& holder : step.holders()) {
    const v1::PoolReport& report = holder.report();
    out += fmt::format("{}{} {} of {}{}", before, holder.holder(), report.active(), report.limit(),
                       report.leased() ? "" : " (fixed share)");
    before = ", ";
  }
  return out;
}

std::string_view policy_text(const v1::RouteExplanation& route) {
  switch (route.when_full()) {
    case v1::WHEN_FULL_QUEUE:
      return "queue";
    case v1::WHEN_FULL_REJECT:
      return "reject";
    default:
      return "overflow";
  }
}

std::string next_text(const v1::RouteExplanation& route) {
  if (route.has_next()) return fmt::format("{}: {}", name_of(route.next()), route.why());
  return route.steps().empty() ? "nowhere: " + route.why() : route.why() + "; see below";
}

std::string age_text(const v1::RouteExplanation& route) {
  if (!route.has_oldest()) return "nobody has reported connections to it yet";
  return fmt::format("reports at most {} old, dealt by {}{}",
                     to_short_string(to_duration(route.oldest())), route.controller(),
                     route.warming_up() ? ", which has just begun: nobody gets more yet" : "");
}

}  // namespace

v1::RouteExplanation explain(const RouteFacts& facts) {
  const v1::GetLoadResponse& load = facts.known.load;
  v1::RouteExplanation made;
  made.set_service(facts.service.metadata().name());
  made.set_from(facts.from);
  std::vector<std::string> listed;
  for (const v1::Zone& zone : facts.known.map.zones()) listed.push_back(zone.name());
  const Ends ends = ends_of(facts);
  for (const std::string& zone : route::zone_order(facts.from, listed, ends.zones())) {
    const v1::RouteStep& step = *made.add_steps() = step_of(facts, zone);
    if (!step.full() && !made.has_next()) made.set_next(zone);
  }
  made.set_why(why_text(made, ends));
  const v1::WhenFull when_full = facts.service.service().when_full();
  made.set_when_full(when_full == v1::WHEN_FULL_UNSPECIFIED ? v1::WHEN_FULL_OVERFLOW : when_full);
  made.set_then(when_full_text(made, ends));
  made.set_controller(load.controller());
  made.set_warming_up(load.warming_up());
  for (const v1::PoolStatus& pool : load.pools()) {
    const bool older = to_duration(pool.oldest()) >= to_duration(made.oldest());
    if (older) *made.mutable_oldest() = pool.oldest();
  }
  return made;
}

std::string render_route(const v1::RouteExplanation& route) {
  std::string out = fmt::format("{} from zone {}\n\n", route.service(), route.from());
  std::vector<Row> rows;
  for (const v1::RouteStep& step : route.steps()) {
    rows.push_back({std::to_string(rows.size() + 1), std::string(name_of(step.zone())),
                    step.full() ? "full" : "yes", places_text(step, route.from())});
  }
  if (!rows.empty())
    out += render_table({"ORDER", "ZONE", "ROOM", "PLACES"}, rows, LastColumn::Whole) + "\n";
  out += fmt::format("next:      {}\n", next_text(route));
  out += fmt::format("when full: {}: {}\n", policy_text(route), route.then());
  out += fmt::format("known:     {}\n", age_text(route));
  return out;
}

}  // namespace holdfast::cli
