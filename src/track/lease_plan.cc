#include "track/lease_plan.h"

#include <algorithm>

#include "track/lease_split.h"

namespace holdfast::track {
namespace {

// However long a grant says: who told it may be gone.
constexpr Duration kLongestTtl = std::chrono::minutes(10);

static_assert(kNotLimited == HF_UNLIMITED);

uint32_t places(uint64_t count) {
  if (count == route::kNoLimit) return HF_UNLIMITED;
  return static_cast<uint32_t>(std::min<uint64_t>(count, HF_UNLIMITED - 1));
}

uint64_t count_of(uint32_t limit) {
  return limit == HF_UNLIMITED ? route::kNoLimit : limit;
}

PortUse use_of(const Usage& usage, const PortZone& port) {
  const auto found = usage.find(port);
  return found == usage.end() ? PortUse{} : found->second;
}

uint64_t capacity_of(const Plan& plan, const route::PoolKey& pool) {
  const auto service = plan.capacities.find(pool.service);
  if (service == plan.capacities.end()) return route::kNoLimit;
  const auto zone = service->second.zones.find(pool.zone);
  return zone == service->second.zones.end() ? route::kNoLimit : zone->second;
}

void add_holder(route::PoolReport& report, const PortUse& use) {
  report.opened += use.totals.opened;
  report.closed += use.totals.closed;
  report.failed.refused += use.totals.failures.refused;
  report.failed.timed_out += use.totals.failures.timed_out;
  report.failed.reset += use.totals.failures.reset;
  report.failed.gave_up += use.totals.failures.gave_up;
  report.failed.cut += use.totals.failures.cut;
}

}  // namespace

void Leases::adopt(const Snapshot& present) {
  for (const auto& [vip, service] : present.services) {
    const auto plan = present.plans.find(service.service);
    // Without an end the shares were our own reckoning, and are reckoned again.
    if (plan == present.plans.end() || plan->second.lease_end_ns == 0) continue;
    for (const hf_zone& zone : std::span(plan->second.zones).first(plan->second.zone_count)) {
      if (zone.static_limit != HF_UNLIMITED) adopted_[{vip, zone.zone}] = zone.static_limit;
    }
  }
}

bool Leases::on_grant(const route::LoadGrant& grant, Time asked) {
  if (grant.number <= grant_) return false;
  grant_ = grant.number;
  ttl_ = std::clamp<Duration>(grant.ttl, Duration::zero(), kLongestTtl);
  ends_ = asked + ttl_;
  const std::map<route::PoolKey, uint32_t> before = std::exchange(leased_, {});
  scarce_.clear();
  bool is_less = false;
  for (const route::PoolGrant& pool : grant.pools) {
    const uint32_t lease = places(pool.limit);
    const auto had = before.find(pool.pool);
    is_less |= had != before.end() && lease < had->second;
    leased_[pool.pool] = lease;
    if (pool.scarce) scarce_.insert(pool.pool);
    if (pool.fixed > 0) fixed_[pool.pool] = places(pool.fixed);
  }
  return is_less;
}

void Leases::give_back_spare(const Plan& plan, const Usage& usage) {
  for (const auto& [key, pool] : pools_of(plan)) {
    if (!pool.lease || !scarce_.contains(key)) continue;
    uint32_t& lease = leased_.at(key);
    lease = std::min(lease, places(taken(pool, usage) + 1));
  }
}

bool Leases::runs_short(const Plan& plan, const Usage& usage, Time now) const {
  if (!holds(now)) return false;
  return std::ranges::any_of(pools_of(plan), [&](const auto& one) {
    const auto& [key, pool] = one;
    if (!pool.lease || *pool.lease >= places(capacity_of(plan, key))) return false;
    return taken(pool, usage) + std::max<uint64_t>(*pool.lease / 5, 2) > *pool.lease;
  });
}

uint64_t Leases::taken(const Pool& pool, const Usage& usage) {
  uint64_t sum = 0;
  for (const PortZone& port : pool.ports) sum += use_of(usage, port).places;
  return sum;
}

std::optional<uint32_t> Leases::adopted(const Pool& pool) const {
  std::optional<uint32_t> sum;
  for (const PortZone& port : pool.ports) {
    const auto kept = adopted_.find(port);
    if (kept != adopted_.end()) sum = places(uint64_t{sum.value_or(0)} + kept->second);
  }
  return sum;
}

uint32_t Leases::fixed_of(const route::PoolKey& key, uint64_t capacity, const Pool& pool) const {
  if (const auto told = fixed_.find(key); told != fixed_.end()) {
    return std::min(told->second, places(capacity));
  }
  const uint64_t share = std::max<uint64_t>(1, capacity / std::max<size_t>(1, holders_));
  return std::min(adopted(pool).value_or(places(share)), places(capacity));
}

std::map<route::PoolKey, Leases::Pool> Leases::pools_of(const Plan& plan) const {
  std::map<route::PoolKey, Pool> pools;
  for (const PlannedPort& port : plan.ports) {
    for (const auto& [zone, name] : port.zones) {
      pools[{.service = port.service, .zone = name}].ports.emplace_back(port.spec.vip, zone);
    }
  }
  for (auto& [key, pool] : pools) {
    const uint64_t capacity = capacity_of(plan, key);
    if (capacity == route::kNoLimit) continue;
    pool.fixed = fixed_of(key, capacity, pool);
    if (const auto leased = leased_.find(key); leased != leased_.end()) {
      pool.lease = std::min(leased->second, places(capacity));
    }
  }
  return pools;
}

void Leases::split(const Pool& pool, const Usage& usage, std::map<PortZone, Limit>& limits) const {
  std::vector<PortDemand> leased;
  std::vector<PortDemand> fixed;
  for (const PortZone& port : pool.ports) {
    const auto before = limits_.find(port);
    const Limit was = before == limits_.end() ? Limit{} : before->second;
    const uint32_t taken = use_of(usage, port).places;
    leased.push_back({.taken = taken, .before = was.leased});
    fixed.push_back({.taken = taken, .before = was.fixed});
  }
  const auto each = [](uint32_t lease, const std::vector<PortDemand>& ports) {
    if (lease == HF_UNLIMITED) return std::vector<uint32_t>(ports.size(), HF_UNLIMITED);
    return split_lease(lease, ports);
  };
  const std::vector<uint32_t> leases = each(pool.lease.value_or(pool.fixed), leased);
  const std::vector<uint32_t> shares = each(pool.fixed, fixed);
  for (size_t i = 0; i < pool.ports.size(); ++i) {
    limits[pool.ports[i]] = {.leased = leases[i], .fixed = shares[i]};
  }
}

// See the head of lease_plan.h: what holds now, when that ends, and what holds then.
void Leases::put_in(PlannedPort& port, const std::map<PortZone, Limit>& limits, Time now) const {
  ServiceSpec& spec = port.spec;
  spec.limits.clear();
  spec.lease_end_ns = 0;
  bool is_limited = false;
  bool some_above = false;  // leases above their fixed shares
  bool some_below = false;
  for (const auto& [zone, name] : port.zones) {
    const Limit& limit = limits.at({spec.vip, zone});
    is_limited |= limit.fixed != HF_UNLIMITED;
    some_above |= limit.leased > limit.fixed;
    some_below |= limit.leased < limit.fixed;
    spec.limits[zone] = limit;
  }
  // What is not limited does not run out, and is not written anew with each grant.
  if (!ends_ || !is_limited) return;
  const bool held = holds(now);
  const bool is_mixed = held && some_above && some_below;
  for (auto& [zone, limit] : spec.limits) {
    if (!held) limit.leased = std::min(limit.leased, limit.fixed);
    if (is_mixed) limit.fixed = std::min(limit.fixed, std::max<uint32_t>(limit.leased, 1));
  }
  const Time end = held && some_above ? *ends_ : *ends_ + ttl_;
  spec.lease_end_ns = static_cast<uint64_t>(end.time_since_epoch().count());
}

void Leases::note_ports(const Plan& plan, const Usage& usage) {
  std::erase_if(counted_as_, [&](const auto& one) { return !usage.contains(one.first); });
  for (const PlannedPort& port : plan.ports) {
    for (const auto& [zone, name] : port.zones) {
      counted_as_[{port.spec.vip, zone}] = {.service = port.service, .zone = name};
    }
  }
}

bool Leases::limit(Plan& plan, const Usage& usage, Time now) {
  note_ports(plan, usage);
  const std::map<route::PoolKey, Pool> pools = pools_of(plan);
  std::map<PortZone, Limit> limits;
  for (const auto& [key, pool] : pools) split(pool, usage, limits);
  const auto is_gone = [&](const auto& one) { return !pools.contains(one.first); };
  std::erase_if(turned_away_from_, is_gone);
  std::erase_if(fixed_, is_gone);
  std::map<Vip, Told> told;
  for (PlannedPort& port : plan.ports) {
    put_in(port, limits, now);
    told[port.spec.vip] = {.limits = port.spec.limits, .lease_end_ns = port.spec.lease_end_ns};
  }
  limits_ = std::move(limits);
  return std::exchange(told_, told) != told;
}

bool Leases::is_full(const PortZone& port, const Usage& usage, Time now) const {
  const auto limit = limits_.find(port);
  if (limit == limits_.end()) return false;
  const uint32_t most = !ends_ || holds(now) ? limit->second.leased : limit->second.fixed;
  return most != HF_UNLIMITED && use_of(usage, port).places >= most;
}

void Leases::on_turned_away(const Plan& plan, const Usage& usage, uint64_t total, Time now) {
  const uint64_t before = std::exchange(turned_away_, total).value_or(total);
  uint64_t more = total > before ? total - before : 0;
  if (more == 0) return;
  std::vector<route::PoolKey> full;
  for (const PlannedPort& port : plan.ports) {
    for (const auto& [zone, name] : port.zones) {
      if (!is_full({port.spec.vip, zone}, usage, now)) continue;
      full.push_back({.service = port.service, .zone = name});
    }
  }
  // The kernel counts them for all services together: the pools that are full share them.
  for (size_t left = full.size(); left > 0; --left) {
    const uint64_t part = more / left;
    turned_away_from_[full[left - 1]] += part;
    more -= part;
  }
}

uint32_t Leases::limit_of(const Pool& pool, Time now) const {
  if (!pool.lease || !ends_ || now >= *ends_ + ttl_) return pool.fixed;
  return holds(now) ? *pool.lease : std::min(*pool.lease, pool.fixed);
}

std::vector<route::PoolReport> Leases::reports(const Plan& plan, const Usage& usage,
                                               Time now) const {
  std::map<route::PoolKey, std::vector<PortZone>> counted;
  for (const auto& [port, key] : counted_as_) counted[key].push_back(port);
  std::vector<route::PoolReport> reports;
  for (const auto& [key, pool] : pools_of(plan)) {
    const bool leased = holds(now) && pool.lease.has_value();
    route::PoolReport& report =
        reports.emplace_back(route::PoolReport{.pool = key,
                                               .active = taken(pool, usage),
                                               .limit = count_of(limit_of(pool, now)),
                                               .leased = leased});
    for (const PortZone& port : counted[key]) add_holder(report, use_of(usage, port));
    if (const auto away = turned_away_from_.find(key); away != turned_away_from_.end()) {
      report.turned_away = away->second;
    }
  }
  return reports;
}

}  // namespace holdfast::track
