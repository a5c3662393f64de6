#include "route/dealt_pool.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "route/shares.h"

namespace holdfast::route {

namespace {

// For so long a lease stays although it is not used, while a quarter of the pool is free.
constexpr Duration kDwell = std::chrono::seconds(3);
constexpr uint64_t kPlenty = 4;
// When less than a tenth is left beyond what all want, places are scarce.
constexpr uint64_t kScarce = 10;
// This part of a pool is not for other zones: its own holders are topped up from it.
constexpr uint64_t kOwnPart = 20;
// Levels are reckoned anew after so long: with many holders not for each of their reports.
constexpr Duration kLevelsHold = std::chrono::milliseconds(10);

}  // namespace

template <typename Change>
void DealtPool::change(Holding& holding, Change change) {
  charged_ -= holding.charge();
  fixed_ -= holding.believed_fixed();
  change(holding);
  charged_ += holding.charge();
  fixed_ += holding.believed_fixed();
}

void DealtPool::on_report(const Told& told, const PoolReport& report, Time now) {
  auto found = holdings_.find(told.holder);
  if (found == holdings_.end()) {
    found = holdings_.emplace(std::string(told.holder), Holding()).first;
    if (told.past || told.counts_anew) count(told.past.value_or(PoolReport{}), report, true);
  } else {
    count(found->second.report(), report, !told.is_same_life);
  }
  change(found->second, [&](Holding& holding) { holding.on_report(report, told.standing, now); });
}

void DealtPool::count(const PoolReport& before, const PoolReport& after, bool begin_anew) {
  const auto grown = [&](uint64_t now, uint64_t then) {
    if (now >= then) return now - then;
    return begin_anew ? now : 0;
  };
  totals_.opened += grown(after.opened, before.opened);
  totals_.closed += grown(after.closed, before.closed);
  totals_.turned_away += grown(after.turned_away, before.turned_away);
  totals_.failed.refused += grown(after.failed.refused, before.failed.refused);
  totals_.failed.timed_out += grown(after.failed.timed_out, before.failed.timed_out);
  totals_.failed.reset += grown(after.failed.reset, before.failed.reset);
  totals_.failed.gave_up += grown(after.failed.gave_up, before.failed.gave_up);
  totals_.failed.cut += grown(after.failed.cut, before.failed.cut);
}

void DealtPool::doubt(std::string_view holder) {
  const auto found = holdings_.find(holder);
  if (found != holdings_.end()) change(found->second, [](Holding& holding) { holding.doubt(); });
}

void DealtPool::run_out(std::string_view holder) {
  const auto found = holdings_.find(holder);
  if (found != holdings_.end()) change(found->second, [](Holding& holding) { holding.run_out(); });
}

std::optional<PoolReport> DealtPool::remove(std::string_view holder) {
  const auto found = holdings_.find(holder);
  if (found == holdings_.end()) return std::nullopt;
  charged_ -= found->second.charge();
  fixed_ -= found->second.believed_fixed();
  PoolReport counted = found->second.report();
  holdings_.erase(found);
  return counted;
}

void DealtPool::refresh_levels(Time now) {
  if (levels_.at && now < *levels_.at + kLevelsHold) return;
  levels_ = {.at = now};
  std::array<std::vector<uint64_t>, 2> demands;  // of other zones, of the own
  std::array<std::vector<uint64_t>, 2> comforts;
  for (const auto& [name, holding] : holdings_) {
    levels_.bound += holding.bound();
    levels_.weights += holding.weight();
    demands[holding.is_local()].push_back(holding.demand());
    comforts[holding.is_local()].push_back(holding.comfort());
  }
  uint64_t rest = capacity_ > levels_.bound ? capacity_ - levels_.bound : 0;
  // Less than one for each is for who asks first: to keep it back would serve nobody.
  const auto fill_first = [&](const std::vector<uint64_t>& wishes) {
    const uint64_t least = rest > 0 ? 1 : 0;
    return std::max(fill(wishes, rest), least);
  };
  levels_.demand[1] = fill_first(demands[1]);
  const uint64_t own = std::min(rest, capacity_ / kOwnPart);
  rest -= own;
  levels_.demand[0] = fill_first(demands[0]);
  rest += own;
  levels_.is_scarce = rest < capacity_ / kScarce;
  levels_.comfort[1] = fill(comforts[1], rest);
  // In case that other zones spill: only of plenty.
  rest -= std::min(rest, capacity_ / kPlenty);
  levels_.comfort[0] = fill(comforts[0], rest);
}

uint64_t DealtPool::target_of(Holding& holding, Time now) const {
  if (levels_.bound > capacity_) {
    // More runs than there is room for: all give way alike, as their connections end.
    const double part = static_cast<double>(capacity_) / static_cast<double>(levels_.bound);
    return static_cast<uint64_t>(static_cast<double>(holding.report().active) * part);
  }
  const uint64_t active = holding.report().active;
  if (!holding.is_local() && levels_.demand[1] != kNoLimit) {
    // The own zone wants more than there is: others give way as their connections end, an eighth at
    // a time, since they would fill places anew for ever.
    return active - std::min(active, std::max<uint64_t>(active / 8, 1));
  }
  const uint64_t target = active + std::min(holding.demand(), levels_.demand[holding.is_local()]) +
                          std::min(holding.comfort(), levels_.comfort[holding.is_local()]);
  const uint64_t has = holding.report().leased ? holding.report().limit : 0;
  if (target >= has) holding.needed_at = now;
  const bool has_plenty = charged_ < capacity_ - capacity_ / kPlenty;
  return has_plenty && now < holding.needed_at + kDwell ? std::max(target, has) : target;
}

// What it has, or what is left by all others.
uint64_t DealtPool::most_for(const Holding& holding) const {
  const uint64_t others = charged_ - holding.charge();
  return std::max(holding.leased(), capacity_ > others ? capacity_ - others : 0);
}

uint64_t DealtPool::fixed_for(const Holding& holding, size_t holders) const {
  const uint64_t share = fixed_share(
      {.capacity = capacity_, .holders = holders, .weights = std::max(levels_.weights, 0.1)},
      holding.weight());
  // Others may still believe in what was a share of theirs.
  const uint64_t others = fixed_ - holding.believed_fixed();
  return std::min(share, std::max<uint64_t>(capacity_ > others ? capacity_ - others : 0, 1));
}

PoolGrant DealtPool::deal(std::string_view holder, size_t holders, Time now) {
  const auto found = holdings_.find(holder);
  HF_CHECK(found != holdings_.end() && capacity_ != kNoLimit, "a pool that is dealt");
  Holding& holding = found->second;
  refresh_levels(now);
  const PoolGrant grant{.pool = key_,
                        .limit = std::min(target_of(holding, now), most_for(holding)),
                        .fixed = fixed_for(holding, holders),
                        .scarce = levels_.is_scarce};
  change(holding, [&](Holding& changed) { changed.on_grant(grant); });
  return grant;
}

std::optional<PoolGrant> DealtPool::keep(std::string_view holder) {
  const auto found = holdings_.find(holder);
  HF_CHECK(found != holdings_.end(), "a pool that the holder has");
  Holding& holding = found->second;
  if (!holding.report().leased) return std::nullopt;
  const PoolGrant grant{.pool = key_, .limit = holding.leased()};
  change(holding, [&](Holding& changed) { changed.on_grant(grant); });
  return grant;
}

}  // namespace holdfast::route
