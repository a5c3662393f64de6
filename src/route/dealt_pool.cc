#include "route/dealt_pool.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "route/shares.h"

namespace holdfast::route {

namespace {

// For so long a lease stays although it is not used, if nobody else wants it.
constexpr Duration kDwell = std::chrono::seconds(3);
// Levels are reckoned anew after so long: with many holders not for each of their reports.
constexpr Duration kLevelsHold = std::chrono::milliseconds(10);
// This part of a pool is not for other zones: its own comes back to it sooner.
constexpr uint64_t kOwnPart = 20;

uint64_t grown(uint64_t now, uint64_t before) {
  return now >= before ? now - before : now;
}

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
    found = holdings_.emplace(std::string(told.holder), Holding(told.is_local)).first;
    if (told.counts_anew) count({}, report);
  } else {
    count(found->second.report(), report);
  }
  change(found->second,
         [&](Holding& holding) { holding.on_report(report, told.acknowledges, now); });
}

void DealtPool::count(const PoolReport& before, const PoolReport& after) {
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

void DealtPool::remove(std::string_view holder) {
  const auto found = holdings_.find(holder);
  if (found == holdings_.end()) return;
  charged_ -= found->second.charge();
  fixed_ -= found->second.believed_fixed();
  holdings_.erase(found);
}

void DealtPool::refresh_levels(Time now) {
  if (now < levels_.at + kLevelsHold && levels_.at != Time{}) return;
  levels_.at = now;
  uint64_t bound = 0;
  std::array<std::vector<uint64_t>, 2> demands;
  std::array<std::vector<uint64_t>, 2> comforts;
  for (const auto& [name, holding] : holdings_) {
    bound += holding.bound();
    demands[holding.is_local()].push_back(holding.demand());
    comforts[holding.is_local()].push_back(holding.comfort());
  }
  levels_.bound = bound;
  uint64_t rest = capacity_ > bound ? capacity_ - bound : 0;
  levels_.demand[1] = fill(demands[1], rest);
  const uint64_t own = std::min(rest, capacity_ / kOwnPart);
  rest -= own;
  levels_.demand[0] = fill(demands[0], rest);
  levels_.is_tight = levels_.demand[0] != kNoLimit || levels_.demand[1] != kNoLimit;
  rest += own;
  levels_.comfort[1] = fill(comforts[1], rest);
  rest -= std::min(rest, own);
  levels_.comfort[0] = fill(comforts[0], rest);
}

uint64_t DealtPool::target_of(Holding& holding, Time now) const {
  if (levels_.bound > capacity_) {
    // More runs than there is room for: all give way alike, as their connections end.
    const double part = static_cast<double>(capacity_) / static_cast<double>(levels_.bound);
    return static_cast<uint64_t>(static_cast<double>(holding.report().active) * part);
  }
  const uint64_t target = holding.report().active +
                          std::min(holding.demand(), levels_.demand[holding.is_local()]) +
                          std::min(holding.comfort(), levels_.comfort[holding.is_local()]);
  const uint64_t has = holding.report().leased ? holding.report().limit : 0;
  if (target >= has) holding.idle_since = now;
  const bool stays = !levels_.is_tight && now < holding.idle_since + kDwell;
  return stays ? std::max(target, has) : target;
}

PoolGrant DealtPool::deal(std::string_view holder, uint64_t fixed, bool keep, Time now) {
  const auto found = holdings_.find(holder);
  HF_CHECK(found != holdings_.end() && capacity_ != kNoLimit, "a pool that is dealt");
  Holding& holding = found->second;
  refresh_levels(now);
  const uint64_t charge = holding.charge();
  const uint64_t free = capacity_ > charged_ ? capacity_ - charged_ : 0;
  PoolGrant grant{.pool = key_, .limit = charge};
  if (!keep) grant.limit = std::min(target_of(holding, now), charge + free);
  if (fixed > 0) {
    const uint64_t others = fixed_ - holding.believed_fixed();
    const uint64_t left = capacity_ > others ? capacity_ - others : 0;
    grant.fixed = std::clamp<uint64_t>(left, 1, fixed);
  }
  change(holding, [&](Holding& changed) { changed.on_grant(grant); });
  return grant;
}

}  // namespace holdfast::route
