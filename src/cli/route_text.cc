// What `route explain` prints: the order of zones, what each has left for proxies of one zone,
// where the next connection goes and why. It says what proxies reported; a proxy decides by what it
// has now.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/carried.h"
#include "cli/load.h"
#include "cli/times.h"
#include "route/zone_order.h"

namespace holdfast::cli {
namespace {

// One zone of the order.
struct Step {
  std::string zone{};
  bool has_limit = false;
  uint64_t capacity = 0;
  uint64_t active = 0;  // of all
  // Of proxies of the zone that is asked for; none of them has reported: absent.
  std::optional<uint64_t> limit{};
  uint64_t taken = 0;
  bool has_room = true;
  std::string holders{};
};

bool carries(const v1::Resource& agent, const std::string& service) {
  return is_reachable(agent) && health_text(agent, service) == "healthy";
}

std::vector<std::string> zones_that_carry(const RouteFacts& facts) {
  std::vector<std::string> zones;
  for (const v1::Resource& agent : carriers_of(facts.service, facts.known.agents)) {
    if (carries(agent, facts.service.metadata().name())) zones.push_back(agent.agent().zone());
  }
  return zones;
}

const v1::PoolStatus* pool_of(const RouteFacts& facts, const std::string& zone) {
  const auto& pools = facts.known.load.pools();
  const auto found = std::ranges::find(pools, zone, &v1::PoolStatus::zone);
  return found == pools.end() ? nullptr : &*found;
}

void add_holder(const v1::HolderStatus& holder, Step& step) {
  const v1::PoolReport& report = holder.report();
  step.taken += report.active();
  step.limit = step.limit.value_or(0) + report.limit();
  step.holders +=
      fmt::format("{}{} {} of {}{}", step.holders.empty() ? "" : ", ", holder.holder(),
                  report.active(), report.limit(), report.leased() ? "" : " (fixed share)");
}

Step step_of(const RouteFacts& facts, const std::string& zone) {
  const auto& capacities = facts.service.service().zone_capacity();
  const auto capacity = capacities.find(zone);
  Step step{.zone = zone, .has_limit = capacity != capacities.end() && capacity->second > 0};
  if (step.has_limit) step.capacity = capacity->second;
  const v1::PoolStatus* pool = pool_of(facts, zone);
  if (pool == nullptr) return step;
  step.active = pool->active();
  if (!step.has_limit) return step;
  for (const v1::HolderStatus& holder : pool->holders()) {
    if (holder.zone() == facts.from && holder.report().has_limit()) add_holder(holder, step);
  }
  step.has_room = step.limit ? step.taken < *step.limit : step.active < step.capacity;
  return step;
}

std::string places_text(const Step& step, const std::string& from) {
  if (!step.has_limit) return fmt::format("no limit; {} connections", step.active);
  std::string out = fmt::format("{} of {} places taken", step.active, step.capacity);
  if (step.limit) return out + fmt::format("; of proxies in {}: {}", from, step.holders);
  return out + fmt::format("; no proxy in {} has reported any", from);
}

std::string when_full_text(const RouteFacts& facts, const std::vector<Step>& steps) {
  const std::string first = steps.empty() ? facts.from : steps.front().zone;
  switch (facts.service.service().when_full()) {
    case v1::WHEN_FULL_QUEUE:
      return "queue: the connection waits some seconds for a place, then it is refused (HF2207)";
    case v1::WHEN_FULL_REJECT:
      return "reject: the connection is refused (HF2206)";
    default:
      return fmt::format("overflow: the connection goes to {}, beyond its limit", first);
  }
}

std::string next_text(const std::vector<Step>& steps) {
  if (steps.empty()) return "nowhere: no agent that can be reached carries it";
  const auto next = std::ranges::find(steps, true, &Step::has_room);
  if (next == steps.end()) return "every zone is full; see below";
  std::string full;
  for (auto step = steps.begin(); step != next; ++step) {
    full += fmt::format("{}{}", full.empty() ? "" : ", ", step->zone);
  }
  if (full.empty()) return fmt::format("{}: it is first and has a place", next->zone);
  return fmt::format("{}: it has a place, and {} {} full", next->zone, full,
                     full.contains(',') ? "are" : "is");
}

std::string age_text(const v1::GetLoadResponse& load) {
  Duration oldest{};
  for (const v1::PoolStatus& pool : load.pools()) {
    oldest = std::max(oldest, to_duration(pool.oldest()));
  }
  if (load.pools().empty()) return "nobody has reported connections to it yet";
  return fmt::format("reports at most {} old, dealt by {}{}", to_short_string(oldest),
                     load.controller(),
                     load.warming_up() ? ", which has just begun: nobody gets more yet" : "");
}

}  // namespace

std::string render_route(const RouteFacts& facts) {
  std::vector<std::string> listed;
  for (const v1::Zone& zone : facts.known.map.zones()) listed.push_back(zone.name());
  std::vector<Step> steps;
  for (const std::string& zone : route::zone_order(facts.from, listed, zones_that_carry(facts))) {
    steps.push_back(step_of(facts, zone));
  }
  std::string out = fmt::format("{} from zone {}\n\n", facts.service.metadata().name(), facts.from);
  std::vector<Row> rows;
  for (const Step& step : steps) {
    rows.push_back({std::to_string(rows.size() + 1), step.zone, step.has_room ? "yes" : "full",
                    places_text(step, facts.from)});
  }
  if (!rows.empty())
    out += render_table({"ORDER", "ZONE", "ROOM", "PLACES"}, rows, LastColumn::Whole) + "\n";
  out += fmt::format("next:      {}\n", next_text(steps));
  out += fmt::format("when full: {}\n", when_full_text(facts, steps));
  out += fmt::format("known:     {}\n", age_text(facts.known.load));
  return out;
}

}  // namespace holdfast::cli
