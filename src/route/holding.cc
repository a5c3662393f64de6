#include "route/holding.h"

#include <algorithm>
#include <cmath>

namespace holdfast::route {

namespace {

// Over which the rate of connections and the use of places are smoothed.
constexpr double kRateSeconds = 1.0;
constexpr double kUseSeconds = 30.0;
// For how long a lease should last at least; longer where answers take longer.
constexpr double kLastSeconds = 0.1;
// Connections come by chance: this many standard deviations more.
constexpr double kSpread = 1.0;
// A rate below is no demand: one connection a minute.
constexpr double kNoRate = 1.0 / 60;
// What a holder counts for whose places nobody has used yet.
constexpr double kLocalWeight = 1.0;
constexpr double kRemoteWeight = 0.25;
// What is believed of a holder's connections that wait: as many as a proxy's line holds.
constexpr uint64_t kMostWaiting = 4'096;
// Places for connections that may come, though none do.
constexpr uint64_t kComfort = 2;

// Totals begin anew with another life of the holder.
uint64_t grown(uint64_t now, uint64_t before) {
  return now >= before ? now - before : now;
}

}  // namespace

void Holding::on_report(const PoolReport& report, const Standing& standing, Time now) {
  const double seconds = std::chrono::duration<double>(now - reported_at_).count();
  if (reported_at_ != Time{} && seconds > 0) {
    turned_away_ = grown(report.turned_away, report_.turned_away);
    const uint64_t came = grown(report.opened, report_.opened) + turned_away_;
    rate_ += seconds / (seconds + kRateSeconds) * (static_cast<double>(came) / seconds - rate_);
    use_ += seconds / (seconds + kUseSeconds) * (static_cast<double>(report.active) - use_);
  } else {
    use_ = static_cast<double>(report.active);
  }
  report_ = report;
  reported_at_ = now;
  has_run_out_ = false;
  standing_ = standing;
  if (!standing.acknowledges) return;
  is_doubtful_ = false;
  pending_ = 0;
  if (pending_fixed_ != 0) fixed_ = pending_fixed_;
  pending_fixed_ = 0;
}

void Holding::on_grant(const PoolGrant& grant) {
  pending_ = std::max(pending_, grant.limit);
  pending_fixed_ = std::max(pending_fixed_, grant.fixed);
}

void Holding::run_out() {
  has_run_out_ = true;
  is_doubtful_ = true;
  pending_ = 0;
}

uint64_t Holding::leased() const {
  if (has_run_out_) return 0;
  return std::max(report_.leased ? report_.limit : 0, pending_);
}

uint64_t Holding::believed() const {
  if (has_run_out_) return 0;
  const uint64_t kept = report_.limit == kNoLimit ? 0 : report_.limit;
  return std::max(kept, pending_);
}

uint64_t Holding::believed_fixed() const {
  return std::max(fixed_, pending_fixed_);
}

uint64_t Holding::bound() const {
  return is_doubtful_ ? std::max(report_.active, believed_fixed()) : report_.active;
}

uint64_t Holding::charge() const {
  return std::max(bound(), believed());
}

double Holding::weight() const {
  return use_ + (standing_.is_local ? kLocalWeight : kRemoteWeight);
}

uint64_t Holding::demand() const {
  return has_run_out_ ? 0 : std::min(report_.waiting, kMostWaiting) + coming();
}

uint64_t Holding::coming() const {
  if (rate_ < kNoRate) return 0;
  const double wait = std::chrono::duration<double>(standing_.answered_in).count();
  const double mean = rate_ * std::max(kLastSeconds, wait);
  const double wanted = std::ceil(mean + kSpread * std::sqrt(mean)) + double(turned_away_);
  // Who retries in a hurry does not want more than twice what it has.
  const double most = static_cast<double>(std::max<uint64_t>(report_.active, 4));
  return static_cast<uint64_t>(std::min(wanted, most));
}

uint64_t Holding::comfort() const {
  if (has_run_out_) return 0;
  const uint64_t comfort = standing_.may_come ? kComfort : 1;
  return comfort - std::min(demand(), comfort);
}

}  // namespace holdfast::route
