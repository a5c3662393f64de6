#include "track/report_turns.h"

#include <algorithm>
#include <utility>

namespace holdfast::track {
namespace {

// However long a grant says.
constexpr Duration kLongestPause = std::chrono::minutes(10);

bool runs_short(const route::PoolReport& pool) {
  if (!pool.leased || pool.limit == route::kNoLimit) return false;
  return pool.active + std::max<uint64_t>(pool.limit / 5, 2) > pool.limit;
}

}  // namespace

Time ReportTurns::due() const {
  if (is_waiting_) return Time::max();
  if (number_ == 0) return Time::min();
  return sent_ + (is_short_ ? std::min(options_.at_soonest, every_) : every_);
}

void ReportTurns::look(const std::vector<route::PoolReport>& pools) {
  if (std::ranges::any_of(pools, runs_short)) is_short_ = true;
}

route::LoadReport ReportTurns::begin(std::vector<route::PoolReport> pools, uint64_t grant,
                                     Time now) {
  is_waiting_ = true;
  is_short_ = false;
  sent_ = now;
  number_ += 1;
  return {.holder = options_.holder,
          .zone = options_.zone,
          .boot = options_.boot,
          .number = number_,
          .grant = grant,
          .pools = std::move(pools)};
}

std::optional<Time> ReportTurns::answered(const route::LoadGrant& grant) {
  if (!is_waiting_ || (grant.report != 0 && grant.report != number_)) return std::nullopt;
  is_waiting_ = false;
  if (grant.number <= grant_) return std::nullopt;
  grant_ = grant.number;
  every_ = grant.report_every > Duration::zero() ? std::min(grant.report_every, kLongestPause)
                                                 : options_.every;
  return sent_;
}

void ReportTurns::failed() {
  is_waiting_ = false;
  is_short_ = false;  // who cannot be reached is not asked more often
}

}  // namespace holdfast::track
