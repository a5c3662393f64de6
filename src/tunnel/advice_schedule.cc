#include "tunnel/advice_schedule.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::tunnel {

AdviceSchedule::AdviceSchedule(uint32_t per_second, uint64_t seed)
    : gap_(Duration(std::chrono::seconds(1)) / std::max(1U, per_second)), rng_(seed) {
  HF_CHECK(per_second > 0, "a rate above zero");
}

void AdviceSchedule::put(TunnelId tunnel, Time at) {
  remove(tunnel);
  at_[tunnel] = at;
  order_.emplace(at, tunnel);
}

void AdviceSchedule::spread(std::vector<TunnelId> tunnels, const Spread& spread, Time now) {
  clear();
  for (size_t i = tunnels.size(); i > 1; --i) std::swap(tunnels[i - 1], tunnels[rng_.below(i)]);
  const auto count = static_cast<int64_t>(std::max<size_t>(1, tunnels.size()));
  const Duration step = std::min(std::max(spread.over / count, gap_), spread.at_most / count);
  gap_ = std::min(gap_, step);
  for (size_t i = 0; i < tunnels.size(); ++i) {
    put(tunnels[i], now + step * static_cast<int64_t>(i) + rng_.below(step));
  }
}

void AdviceSchedule::add(TunnelId tunnel, Duration within, Time now) {
  put(tunnel, now + rng_.below(within));
}

void AdviceSchedule::remove(TunnelId tunnel) {
  const auto found = at_.find(tunnel);
  if (found == at_.end()) return;
  order_.erase({found->second, tunnel});
  at_.erase(found);
}

void AdviceSchedule::clear() {
  order_.clear();
  at_.clear();
}

std::vector<TunnelId> AdviceSchedule::take_due(Time now) {
  std::vector<TunnelId> due;
  // A late call does not make up for what was missed by more than a tenth of a second's share.
  const Time earliest = now - std::chrono::milliseconds(100);
  if (!next_free_ || *next_free_ < earliest) next_free_ = earliest;
  while (!order_.empty() && order_.begin()->first <= now && *next_free_ <= now) {
    due.push_back(order_.begin()->second);
    remove(due.back());
    *next_free_ += gap_;
  }
  return due;
}

std::optional<Time> AdviceSchedule::next_deadline() const {
  if (order_.empty()) return std::nullopt;
  return std::max(order_.begin()->first, next_free_.value_or(order_.begin()->first));
}

void PeriodicAdvice::set_interval(std::optional<Duration> interval,
                                  const std::vector<TunnelId>& tunnels, Time now) {
  if (interval == interval_) return;
  interval_ = interval;
  schedule_.clear();
  for (const TunnelId tunnel : tunnels) tunnel_added(tunnel, now);
}

void PeriodicAdvice::tunnel_added(TunnelId tunnel, Time now) {
  if (interval_) schedule_.add(tunnel, *interval_ / 2, now + *interval_);
}

std::vector<TunnelId> PeriodicAdvice::take_due(Time now) {
  std::vector<TunnelId> due = schedule_.take_due(now);
  for (const TunnelId tunnel : due) tunnel_added(tunnel, now);
  return due;
}

}  // namespace holdfast::tunnel
