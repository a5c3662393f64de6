// The half of Places that speaks with the dealer: what is told, when, and what limits follow.
#include <algorithm>

#include "route/places.h"

namespace holdfast::route {

namespace {

// However long a grant says: who told it may be gone.
constexpr Duration kLongestTtl = std::chrono::minutes(10);
// Who runs short reports at once so many times in a row, then as often as it may.
constexpr int kAtOnce = 10;
// Answers that are quick enough to do without spare places meanwhile.
constexpr Duration kQuick = std::chrono::milliseconds(100);
// What all holders together ask of the dealer when all of them run short: 2,000 reports a second.
constexpr Duration kReportApartPerHolder = std::chrono::microseconds(500);

}  // namespace

bool Places::is_leased(const Pool& pool, Time now) const {
  return pool.capacity != kNoLimit && pool.lease && now < leased_until_;
}

uint64_t Places::fixed_of(const Pool& pool) const {
  if (pool.fixed) return std::min(*pool.fixed, pool.capacity);
  return std::min(pool.capacity, std::max<uint64_t>(pool.capacity / holders_, 1));
}

uint64_t Places::limit_of(const Pool& pool, Time now) const {
  if (pool.capacity == kNoLimit) return kNoLimit;
  if (is_leased(pool, now)) return std::min(*pool.lease, pool.capacity);
  const uint64_t fixed = fixed_of(pool);
  if (pool.lease && now < leased_until_ + ttl_) return std::min(*pool.lease, fixed);
  return fixed;
}

// Less than a fifth is left, or less than two.
bool Places::runs_short(const Pool& pool, Time now) const {
  if (!is_leased(pool, now)) return false;
  const uint64_t limit = limit_of(pool, now);
  if (limit >= pool.capacity) return false;  // there is no more
  return pool.counts.active + std::max<uint64_t>(limit / 5, 2) > limit;
}

PoolReport Places::row_of(const Pool& pool, Time now) const {
  PoolReport row = pool.counts;
  row.limit = limit_of(pool, now);
  row.leased = is_leased(pool, now);
  return row;
}

std::vector<PoolReport> Places::rows(Time now) const {
  std::vector<PoolReport> rows;
  rows.reserve(pool_count_);
  for (const auto& [name, service] : services_) {
    for (const auto& [zone, pool] : service.zones) rows.push_back(row_of(pool, now));
  }
  return rows;
}

Duration Places::apart() const {
  return std::max<Duration>(options_.report_at_soonest,
                            kReportApartPerHolder * static_cast<int64_t>(holders_));
}

Time Places::report_due() const {
  if (is_waiting_) return Time::max();
  if (number_ == 0) return Time::min();
  if (!is_short_) return sent_at_ + report_every_;
  return std::min(sent_at_ + report_every_, std::max(sent_at_, paced_ - kAtOnce * apart()));
}

LoadReport Places::report(Time now) {
  is_waiting_ = true;
  is_short_ = false;
  sent_at_ = now;
  if (asked_at_ == Time{}) asked_at_ = now;
  paced_ = std::max(paced_, now) + apart();
  give_back_spare();
  for (auto& [name, service] : services_) spread_waiting(service);
  return {.holder = options_.holder,
          .zone = options_.zone,
          .boot = options_.boot,
          .number = ++number_,
          .grant = grant_,
          .answered_in = answered_in_,
          .pools = rows(now)};
}

// From here on this holder keeps to less, whatever becomes of the report: so what it says is true
// when the dealer reads it, and can be given to another at once. A place stays for each connection
// that waits, and one for whoever comes while the report is under way; where that takes longer, all
// stay.
void Places::give_back_spare() {
  if (answered_in_ > kQuick) return;
  for (auto& [name, service] : services_) {
    const uint64_t spare = std::max<uint64_t>(service.waiting, 1);
    for (auto& [zone, pool] : service.zones) {
      if (!pool.lease || !pool.is_scarce) continue;
      pool.lease = std::min(*pool.lease, pool.counts.active + spare);
    }
  }
}

// Each zone in its turn is asked for what does not run there, as far as it goes. Where places are
// scarce others may have them, so the next zone is asked for the same ones: what is too much goes
// back.
void Places::spread_waiting(Service& service) {
  for (auto& [zone, pool] : service.zones) pool.counts.waiting = 0;
  uint64_t rest = service.waiting;
  for (const std::string& zone : service.tried) {
    const auto found = service.zones.find(zone);
    if (found == service.zones.end() || found->second.capacity == kNoLimit) continue;
    PoolReport& counts = found->second.counts;
    const uint64_t capacity = found->second.capacity;
    counts.waiting = std::min(rest, capacity - std::min(capacity, counts.active));
    if (!found->second.is_scarce) rest -= counts.waiting;
  }
}

void Places::on_report_failed(Time) {
  is_waiting_ = false;
  is_short_ = false;  // who cannot be reached is not asked more often
  report_every_ = std::max(report_every_, options_.report_every);
}

void Places::on_grant(const LoadGrant& grant, Time now) {
  if (!is_waiting_ || (grant.report != 0 && grant.report != number_)) return;
  if (grant.number <= grant_) {
    on_report_failed(now);
    return;
  }
  is_waiting_ = false;
  // Falls slowly: one quick answer among slow ones is not what to count on.
  answered_in_ = std::max(now - asked_at_, answered_in_ - answered_in_ / 8);
  asked_at_ = {};
  put_into_force(grant);
}

void Places::put_into_force(const LoadGrant& grant) {
  grant_ = grant.number;
  ttl_ = std::clamp<Duration>(grant.ttl, Duration::zero(), kLongestTtl);
  leased_until_ = sent_at_ + ttl_;
  report_every_ = grant.report_every > Duration::zero() ? std::min(grant.report_every, kLongestTtl)
                                                        : options_.report_every;
  std::map<PoolKey, const PoolGrant*> granted;
  for (const PoolGrant& pool : grant.pools) granted.emplace(pool.pool, &pool);
  for (auto& [name, service] : services_) {
    for (auto& [zone, pool] : service.zones) {
      const auto found = granted.find(pool.counts.pool);
      if (found == granted.end()) {
        pool.lease.reset();
        continue;
      }
      // What is taken away is of use to others once the dealer has heard that it is.
      if (pool.lease && found->second->limit < *pool.lease) is_short_ = true;
      pool.lease = found->second->limit;
      pool.is_scarce = found->second->scarce;
      if (found->second->fixed > 0) pool.fixed = found->second->fixed;
    }
  }
}

Places::ZoneView Places::view_of(const Service* service, const std::string& zone, Time now) const {
  Pool unused;
  const Pool* pool = &unused;
  if (service != nullptr) {
    unused.capacity = service->capacity_in(zone);
    const auto found = service->zones.find(zone);
    if (found != service->zones.end()) pool = &found->second;
  }
  const uint64_t limit = limit_of(*pool, now);
  return {.zone = zone,
          .active = pool->counts.active,
          .limit = limit,
          .leased = is_leased(*pool, now),
          .would_take = pool->counts.active < limit};
}

std::vector<Places::ZoneView> Places::explain(std::string_view name,
                                              const std::vector<std::string>& zones,
                                              Time now) const {
  const auto service = services_.find(name);
  std::vector<ZoneView> views;
  views.reserve(zones.size());
  for (const std::string& zone : zones) {
    views.push_back(view_of(service == services_.end() ? nullptr : &service->second, zone, now));
  }
  return views;
}

}  // namespace holdfast::route
