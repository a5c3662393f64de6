#include "route/dealer.h"

#include <algorithm>

namespace holdfast::route {

namespace {

constexpr size_t kPastBoots = 4;
// Where places are scarce holders report more often: what they do not need is wanted elsewhere. But
// all together not more than 2,000 times a second.
constexpr int kScarceFactor = 10;
constexpr Duration kApartPerHolder = std::chrono::microseconds(500);

}  // namespace

Dealer::Dealer(DealerOptions options, Time now)
    : options_(options),
      began_(now),
      past_(options.max_past_counts),
      past_totals_(options.max_past_counts) {}

void Dealer::set_services(const std::map<std::string, Capacity, std::less<>>& services) {
  services_ = services;
  for (auto& [key, pool] : pools_) pool.set_capacity(capacity_of(key));
}

uint64_t Dealer::capacity_of(const PoolKey& key) const {
  const auto service = services_.find(key.service);
  if (service == services_.end()) return kNoLimit;
  const auto zone = service->second.zones.find(key.zone);
  return zone == service->second.zones.end() ? kNoLimit : zone->second;
}

DealtPool& Dealer::pool_of(const PoolKey& key) {
  const auto found = pools_.find(key);
  if (found != pools_.end()) return found->second;
  const PoolReport totals = past_totals_.take("", key).value_or(PoolReport{});
  DealtPool& pool = pools_.emplace(key, DealtPool(key, totals)).first->second;
  pool.set_capacity(capacity_of(key));
  return pool;
}

LoadGrant Dealer::on_report(const LoadReport& report, Time now) {
  if (now >= next_sweep_) on_tick(now);
  Holder* const holder = admit(report, now);
  if (holder == nullptr) return {.report = report.number};
  hear(*holder, report, now);
  return grant(*holder, report, now);
}

Dealer::Holder* Dealer::admit(const LoadReport& report, Time now) {
  const auto found = holders_.find(report.holder);
  if (found == holders_.end()) {
    if (holders_.size() >= options_.max_holders) {
      ++refused_holders_;
      return nullptr;
    }
    Holder& holder = holders_[report.holder];
    holder.zone = report.zone;
    holder.boot = report.boot;
    holder.acknowledged_at = now;
    return &holder;
  }
  Holder& holder = found->second;
  if (is_old(holder, report, now)) return nullptr;
  if (holder.boot != report.boot) {
    holder.past_boots.push_back({.boot = holder.boot, .until = now + options_.ttl});
    if (holder.past_boots.size() > kPastBoots) holder.past_boots.erase(holder.past_boots.begin());
    holder.boot = report.boot;
    holder.number = 0;
  }
  holder.zone = report.zone;
  return &holder;
}

bool Dealer::is_old(const Holder& holder, const LoadReport& report, Time now) const {
  if (holder.boot == report.boot) return report.number <= holder.number;
  return std::ranges::any_of(holder.past_boots, [&](const PastBoot& past) {
    return past.boot == report.boot && now < past.until;
  });
}

void Dealer::hear(Holder& holder, const LoadReport& report, Time now) {
  // Who was granted by a dealer before us goes on from there.
  const bool is_new = holder.number == 0 && holder.granted == 0;
  holder.granted = std::max(holder.granted, report.grant);
  const bool acknowledges = report.grant == holder.granted;
  // What it brings was counted by a dealer before us, or by a kernel before its agent.
  const bool counts_anew = !is_new && past_.forgotten() == 0;
  const bool is_same_life = holder.number != 0;
  holder.number = report.number;
  holder.heard_at = now;
  if (acknowledges) holder.acknowledged_at = now;
  std::set<PoolKey> gone = std::move(holder.pools);
  holder.pools.clear();
  for (const PoolReport& pool : report.pools) {
    if (holder.pools.size() >= options_.max_pools_per_holder) {
      ++refused_pools_;
      continue;
    }
    const bool is_local = pool.pool.zone == holder.zone;
    pool_of(pool.pool).on_report(
        {.holder = report.holder,
         .standing = {.is_local = is_local,
                      .acknowledges = acknowledges,
                      .may_come = is_local || may_spill({pool.pool.service, holder.zone}),
                      .answered_in = report.answered_in},
         .past = past_.take(report.holder, pool.pool),
         .counts_anew = counts_anew,
         .is_same_life = is_same_life},
        pool, now);
    holder.pools.insert(pool.pool);
    gone.erase(pool.pool);
  }
  for (const PoolKey& key : gone) leave(report.holder, key);
}

// Whether a zone's holders may soon need places elsewhere: its own are scarce, or it has none.
bool Dealer::may_spill(const PoolKey& own) const {
  const auto found = pools_.find(own);
  return found == pools_.end() || found->second.is_scarce();
}

LoadGrant Dealer::grant(Holder& holder, const LoadReport& report, Time now) {
  LoadGrant grant{.number = ++holder.granted,
                  .report = report.number,
                  .ttl = options_.ttl,
                  .report_every = options_.report_every};
  for (const PoolKey& key : holder.pools) {
    DealtPool& pool = pools_.find(key)->second;
    if (pool.capacity() == kNoLimit) continue;
    if (now < began_ + options_.warm_up) {
      // Who has what, and how many share, is not known until all have reported.
      if (const auto kept = pool.keep(report.holder)) grant.pools.push_back(*kept);
      continue;
    }
    grant.pools.push_back(pool.deal(report.holder, holders_.size(), now));
    if (grant.pools.back().scarce) grant.report_every = often();
  }
  // A little more than the holder reckons: two clocks never run quite alike.
  holder.leased_until = now + options_.ttl + options_.ttl / 20;
  return grant;
}

Duration Dealer::often() const {
  const Duration apart = kApartPerHolder * static_cast<int64_t>(holders_.size());
  return std::min(options_.report_every, std::max(options_.report_every / kScarceFactor, apart));
}

void Dealer::leave(std::string_view name, const PoolKey& key) {
  const auto found = pools_.find(key);
  DealtPool& pool = found->second;
  // A kernel counts on, and may report the pool again.
  if (const auto counted = pool.remove(name)) past_.keep(name, key, *counted);
  if (pool.holdings().empty() && pool.capacity() == kNoLimit) {
    past_totals_.keep("", key, pool.totals());
    pools_.erase(found);
  }
}

void Dealer::on_tick(Time now) {
  next_sweep_ = now + options_.ttl / 20;
  std::erase_if(holders_, [&](auto& entry) {
    auto& [name, holder] = entry;
    if (now >= holder.heard_at + std::max(options_.forget_after, options_.ttl)) {
      for (const PoolKey& key : holder.pools) leave(name, key);
      return true;
    }
    const bool has_run_out = now >= holder.leased_until;
    if (!has_run_out && now < holder.acknowledged_at + options_.ttl) return false;
    for (const PoolKey& key : holder.pools) {
      DealtPool& pool = pools_.find(key)->second;
      has_run_out ? pool.run_out(name) : pool.doubt(name);
    }
    return false;
  });
}

std::vector<Dealer::PoolRow> Dealer::rows(Time now) const {
  std::vector<PoolRow> rows;
  rows.reserve(pools_.size());
  for (const auto& [key, pool] : pools_) {
    PoolRow row{.pool = key,
                .capacity = pool.capacity(),
                .charged = pool.charged(),
                .totals = pool.totals()};
    for (const auto& [name, holding] : pool.holdings()) {
      const Holder& holder = holders_.find(name)->second;
      row.active += holding.report().active;
      row.leased += holding.leased();
      row.holders.push_back({.holder = name,
                             .zone = holder.zone,
                             .heard_ago = now - holder.heard_at,
                             .report = holding.report(),
                             .leased = holding.leased()});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace holdfast::route
