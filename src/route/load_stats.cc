#include "route/load_stats.h"

#include <algorithm>

namespace holdfast::route {

namespace {

// Counts begin anew with another dealer.
uint64_t grown(uint64_t now, uint64_t before) {
  return now >= before ? now - before : now;
}

}  // namespace

LoadStats::Counted LoadStats::counted(const Dealer::PoolRow& row) {
  const FailedCounts& failed = row.totals.failed;
  return {.opened = row.totals.opened,
          .closed = row.totals.closed,
          .failed = failed.refused + failed.timed_out + failed.gave_up};
}

bool LoadStats::is_asked(const std::string& service) const {
  return asked_.all || asked_.services.contains(service);
}

void LoadStats::on_asked(const Asked& asked, const Rows& rows, Time now) {
  asked_ = asked;
  std::erase_if(told_, [&](const auto& entry) { return !is_asked(entry.first); });
  begin(rows, now);
  due_ = now + std::clamp(asked.interval, kShortest, kLongest);
}

// From here on counts of what is newly asked for are told.
void LoadStats::begin(const Rows& rows, Time now) {
  std::map<std::string, Told> begun;
  for (const Dealer::PoolRow& row : rows) {
    if (!is_asked(row.pool.service) || told_.contains(row.pool.service)) continue;
    Told& told = begun[row.pool.service];
    told.since = now;
    told.zones[row.pool.zone] = counted(row);
  }
  // Named, and not there yet: all that it will count is new.
  for (const std::string& service : asked_.services) begun.try_emplace(service, Told{.since = now});
  told_.merge(begun);
}

std::vector<ClusterLoad> LoadStats::make(const Rows& rows, Time now) {
  making_ = told_;
  std::map<std::string, ClusterLoad> clusters;
  for (const Dealer::PoolRow& row : rows) {
    if (!is_asked(row.pool.service)) continue;
    // With `all` a service may be new: what it has counted so far, it has since then.
    Told& told = making_.try_emplace(row.pool.service, Told{.since = now}).first->second;
    const Counted before = told.zones[row.pool.zone];
    const Counted after = counted(row);
    ClusterLoad& cluster = clusters[row.pool.service];
    cluster.service = row.pool.service;
    cluster.interval = now - told.since;
    cluster.localities.push_back({.zone = row.pool.zone,
                                  .active = row.active,
                                  .opened = grown(after.opened, before.opened),
                                  .closed = grown(after.closed, before.closed),
                                  .failed = grown(after.failed, before.failed)});
    told.zones[row.pool.zone] = after;
  }
  std::vector<ClusterLoad> made;
  for (auto& [service, cluster] : clusters) {
    making_[service].since = now;
    made.push_back(std::move(cluster));
  }
  due_ = now + std::clamp(asked_.interval, kShortest, kLongest);
  return made;
}

void LoadStats::sent() {
  // What was asked for meanwhile stays.
  for (auto& [service, told] : making_) {
    if (is_asked(service)) told_.insert_or_assign(service, std::move(told));
  }
  making_.clear();
}

}  // namespace holdfast::route
