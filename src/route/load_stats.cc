#include "route/load_stats.h"

#include <utility>

namespace holdfast::route {

LoadStats::Told LoadStats::counted(const Dealer::PoolRow& row, Time now) {
  const FailedCounts& failed = row.totals.failed;
  return {.since = now,
          .opened = row.totals.opened,
          .closed = row.totals.closed,
          .failed = failed.refused + failed.timed_out + failed.reset + failed.gave_up};
}

LocalityLoad LoadStats::grown(const Dealer::PoolRow& row, const Told& before, const Told& after) {
  // A pool whose counts the dealer has forgotten counts anew.
  const auto since = [](uint64_t then, uint64_t now) { return now >= then ? now - then : now; };
  return {.zone = row.pool.zone,
          .active = row.active,
          .opened = since(before.opened, after.opened),
          .closed = since(before.closed, after.closed),
          .failed = since(before.failed, after.failed)};
}

bool LoadStats::is_asked(const std::string& service) const {
  return asked_.all || asked_.services.contains(service);
}

void LoadStats::on_dealer(Time began) {
  if (dealer_began_ == began) return;
  dealer_began_ = began;
  if (since_) since_ = began;
  next_ = {};
  told_.clear();
  // What is under way is of the one before.
  making_.clear();
  making_next_ = {};
  made_at_ = began;
}

void LoadStats::on_asked(Asked asked, const Rows& rows, Time now) {
  const Asked before = std::exchange(asked_, std::move(asked));
  forget(rows, now);
  for (const Dealer::PoolRow& row : rows) {
    const std::string& service = row.pool.service;
    // Of a service that was asked for already, all that is not told yet is to be told.
    if (before.all || before.services.contains(service) || !is_asked(service)) continue;
    told_.insert_or_assign(row.pool, counted(row, now));
  }
  if (!since_) since_ = now;
  if (!due_) paced_from_ = now;
  due_ = paced_from_ + interval();
}

// Services that nobody wants to know about. Pools that are gone are told on if they come back, from
// the last report without them.
void LoadStats::forget(const Rows& rows, Time now) {
  std::erase_if(told_, [&](const auto& entry) { return !is_asked(entry.first.service); });
  const bool too_many = told_.size() > rows.size() + kMaxGone;
  for (auto told = told_.begin(); told != told_.end();) {
    const bool is_gone = !std::ranges::binary_search(rows, told->first, {}, &Dealer::PoolRow::pool);
    if (is_gone) told->second.since = now;
    told = is_gone && too_many ? told_.erase(told) : std::next(told);
  }
}

std::vector<ClusterLoad> LoadStats::make(const Rows& rows, Time now) {
  forget(rows, now);
  making_.clear();
  making_next_ = {};
  made_at_ = now;
  std::vector<ClusterLoad> made;
  for (auto row = std::ranges::lower_bound(rows, next_, {}, &Dealer::PoolRow::pool);
       row != rows.end(); ++row) {
    if (!is_asked(row->pool.service)) continue;
    if (making_.size() == kMaxLocalities) {
      making_next_ = row->pool;
      break;
    }
    const auto told = told_.find(row->pool);
    const Told before = told == told_.end() ? Told{.since = since_.value_or(now)} : told->second;
    const Told after = counted(*row, now);
    if (made.empty() || made.back().service != row->pool.service) {
      made.push_back({.service = row->pool.service});
    }
    made.back().interval = std::max(made.back().interval, now - before.since);
    made.back().localities.push_back(grown(*row, before, after));
    making_.emplace_hint(making_.end(), row->pool, after);
  }
  paced_from_ = now;
  due_ = now + (making_next_ == PoolKey{} ? interval() : kShortest);
  return made;
}

void LoadStats::sent() {
  // What was asked for meanwhile stays.
  for (const auto& [pool, told] : making_) {
    if (is_asked(pool.service)) told_.insert_or_assign(pool, told);
  }
  making_.clear();
  next_ = making_next_;
  if (next_ == PoolKey{}) since_ = made_at_;
}

}  // namespace holdfast::route
