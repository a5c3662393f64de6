#include "track/report_turns.h"

#include <algorithm>
#include <utility>

namespace holdfast::track {
namespace {

// However long a grant says.
constexpr Duration kLongestPause = std::chrono::minutes(10);

}  // namespace

Time ReportTurns::due() const {
  if (is_waiting_) return Time::max();
  if (number_ == 0) return Time::min();
  return sent_ + (is_short_ ? std::min(options_.at_soonest, every_) : every_);
}

route::LoadReport ReportTurns::begin(std::vector<route::PoolReport> pools, uint64_t grant,
                                     Time now) {
  is_waiting_ = true;
  is_short_ = false;
  sent_ = now;
  if (!asked_) asked_ = now;
  number_ += 1;
  return {.holder = options_.holder,
          .zone = options_.zone,
          .boot = options_.boot,
          .number = number_,
          .grant = grant,
          .answered_in = answered_in_,
          .pools = std::move(pools)};
}

std::optional<Time> ReportTurns::answered(const route::LoadGrant& grant, Time now) {
  if (!is_waiting_ || (grant.report != 0 && grant.report != number_)) return std::nullopt;
  is_waiting_ = false;
  if (grant.number <= grant_) return std::nullopt;
  grant_ = grant.number;
  // Falls slowly: one quick answer among slow ones is not what to count on.
  answered_in_ = std::max(now - *asked_, answered_in_ - answered_in_ / 8);
  asked_.reset();
  every_ = grant.report_every > Duration::zero() ? std::min(grant.report_every, kLongestPause)
                                                 : options_.every;
  return sent_;
}

void ReportTurns::failed() {
  is_waiting_ = false;
  is_short_ = false;  // who cannot be reached is not asked more often
  every_ = std::max(every_, options_.every);
}

}  // namespace holdfast::track
