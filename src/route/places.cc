#include "route/places.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace holdfast::route {

Places::Places(PlacesOptions options)
    : options_(std::move(options)), report_every_(options_.report_every) {}

void Places::set_services(const std::map<std::string, Capacity, std::less<>>& services,
                          size_t holders) {
  holders_ = std::max<size_t>(holders, 1);
  for (auto& [name, service] : services_) {
    const auto found = services.find(name);
    service.capacity = found == services.end() ? std::nullopt : std::optional(found->second);
    for (auto& [zone, pool] : service.zones) pool.capacity = service.capacity_in(zone);
  }
  // What still runs of a service that is gone is counted until it ends; then both are forgotten.
  for (auto& [name, service] : services_) {
    if (service.capacity) continue;
    pool_count_ -= std::erase_if(service.zones,
                                 [](const auto& zone) { return zone.second.counts.active == 0; });
  }
  std::erase_if(services_, [](const auto& entry) {
    return !entry.second.capacity && entry.second.zones.empty();
  });
  for (const auto& [name, capacity] : services) {
    if (services_.size() < options_.max_pools) services_[name].capacity = capacity;
  }
}

uint64_t Places::Service::capacity_in(std::string_view zone) const {
  if (!capacity) return kNoLimit;
  const auto limit = capacity->zones.find(zone);
  return limit == capacity->zones.end() ? kNoLimit : limit->second;
}

Places::Service* Places::service_of(std::string_view name) {
  const auto found = services_.find(name);
  if (found != services_.end()) return &found->second;
  if (services_.size() >= options_.max_pools) return nullptr;
  return &services_[std::string(name)];
}

Places::Pool* Places::pool_of(Service& service, std::string_view name, std::string_view zone) {
  const auto found = service.zones.find(zone);
  if (found != service.zones.end()) return &found->second;
  // A pool that appears while connections to it run uncounted would count their ends only.
  if (pool_count_ >= options_.max_pools || uncounted_now_ > 0) return nullptr;
  ++pool_count_;
  Pool& pool = service.zones[std::string(zone)];
  pool.counts.pool = {.service = std::string(name), .zone = std::string(zone)};
  pool.capacity = service.capacity_in(zone);
  return &pool;
}

// From its first connection on a service is reported with all zones that have limits: who spills
// should have a lease there already.
void Places::know_zones(Service& service, std::string_view name) {
  if (!service.zones.empty() || !service.capacity) return;
  for (const auto& [zone, limit] : service.capacity->zones) pool_of(service, name, zone);
}

Places::Pool* Places::find(std::string_view service, std::string_view zone) {
  const auto found = services_.find(service);
  if (found == services_.end()) return nullptr;
  const auto place = found->second.zones.find(zone);
  return place == found->second.zones.end() ? nullptr : &place->second;
}

Taken Places::take(std::string_view name, const std::vector<std::string>& zones, Time now,
                   IfTaken if_taken) {
  HF_CHECK(!zones.empty(), "a zone that carries the service");
  Service* const service = service_of(name);
  if (service != nullptr) know_zones(*service, name);
  for (const std::string& zone : zones) {
    Pool* const pool = service == nullptr ? nullptr : pool_of(*service, name, zone);
    if (pool == nullptr) {
      ++not_counted_;
      ++uncounted_now_;
      return {.kind = Taken::Kind::Within, .zone = zone};
    }
    if (pool->counts.active < limit_of(*pool, now)) {
      use(*pool, now);
      return {.kind = Taken::Kind::Within, .zone = zone};
    }
    ++pool->counts.turned_away;
    is_short_ = true;
  }
  const bool waits = if_taken == IfTaken::AwaitGrant && may_be_granted(*service, zones, now);
  const Taken taken = waits ? Taken{.kind = Taken::Kind::Wait} : when_full(*service, zones, now);
  if (taken.kind == Taken::Kind::Wait) service->tried = zones;
  return taken;
}

void Places::set_waiting(std::string_view name, uint64_t connections) {
  const auto found = services_.find(name);
  if (found == services_.end()) return;
  if (connections > std::exchange(found->second.waiting, connections)) is_short_ = true;
}

bool Places::queues(std::string_view name) const {
  const auto found = services_.find(name);
  return found != services_.end() && found->second.capacity &&
         found->second.capacity->when_full == WhenFull::Queue;
}

// Leases are small while nobody comes; the dealer hears of who does, and has more in reserve where
// it does not say that places are scarce.
bool Places::may_be_granted(const Service& service, const std::vector<std::string>& zones,
                            Time now) const {
  return std::ranges::any_of(zones, [&](const std::string& zone) {
    const Pool& pool = service.zones.find(zone)->second;
    return is_leased(pool, now) && !pool.is_scarce && *pool.lease < pool.capacity;
  });
}

// Leases tell that every zone is full: then the first is as good as any. Fixed shares only tell
// that this holder's are taken: then the zone that it fills least has most room for what it cannot
// know.
const std::string& Places::zone_beyond(const Service& service,
                                       const std::vector<std::string>& zones, Time now) const {
  const auto filled = [&](const std::string& zone) {
    const Pool& pool = service.zones.find(zone)->second;
    if (is_leased(pool, now)) return 0.0;
    if (pool.capacity == 0) return std::numeric_limits<double>::infinity();
    return static_cast<double>(pool.counts.active) / static_cast<double>(pool.capacity);
  };
  return *std::ranges::min_element(zones, {}, filled);
}

Taken Places::when_full(Service& service, const std::vector<std::string>& zones, Time now) {
  // A zone was full, so there are limits, or there were when they were taken.
  switch (service.capacity ? service.capacity->when_full : WhenFull::Overflow) {
    case WhenFull::Queue:
      return {.kind = Taken::Kind::Wait};
    case WhenFull::Reject:
      return {.kind = Taken::Kind::Reject};
    case WhenFull::Overflow:
      break;
  }
  const std::string& zone = zone_beyond(service, zones, now);
  use(service.zones.find(zone)->second, now);
  return {.kind = Taken::Kind::Beyond, .zone = zone};
}

void Places::use(Pool& pool, Time now) {
  ++pool.counts.active;
  if (runs_short(pool, now)) is_short_ = true;
}

void Places::opened(std::string_view service, std::string_view zone) {
  if (Pool* const pool = find(service, zone)) ++pool->counts.opened;
}

void Places::give_back(std::string_view service, std::string_view zone, Ended how, bool was_opened,
                       Time) {
  Pool* const pool = find(service, zone);
  if (pool == nullptr) {
    if (uncounted_now_ > 0) --uncounted_now_;
    return;
  }
  PoolReport& counts = pool->counts;
  HF_CHECK(counts.active > 0, "a place that was taken");
  --counts.active;
  if (!was_opened) return;
  ++counts.closed;
  switch (how) {
    case Ended::Closed:
      break;
    case Ended::Refused:
      ++counts.failed.refused;
      break;
    case Ended::TimedOut:
      ++counts.failed.timed_out;
      break;
    case Ended::Reset:
      ++counts.failed.reset;
      break;
    case Ended::GaveUp:
      ++counts.failed.gave_up;
      break;
    case Ended::Cut:
      ++counts.failed.cut;
      break;
  }
}

}  // namespace holdfast::route
