#include "probe/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::probe {
namespace {

constexpr Duration kFirstWithin = std::chrono::seconds(1);
constexpr uint32_t kTries = 3;
// Every proxy and every controller is told of a reason: one that is new each time is passed on
// only now and then.
constexpr Duration kReasonPause = std::chrono::seconds(10);

}  // namespace

Verdict not_checked_yet() {
  return {.healthy = false, .reason = "not checked yet"};
}

void CheckStats::add(const CheckStats& other) {
  succeeded += other.succeeded;
  failed += other.failed;
  thrown_away += other.thrown_away;
  turned += other.turned;
}

Check::Check(const CheckTimes& times, Verdict begin, Rng& rng, Time now)
    : times_(times), verdict_(std::move(begin)) {
  HF_CHECK(times.period > Duration::zero(), "a check has a period");
  HF_CHECK(times.failure_threshold > 0 && times.success_threshold > 0, "thresholds begin at 1");
  next_ = now + times.initial_delay + rng.below(std::min(times.period, kFirstWithin));
  gap_ = times.period / 2 + rng.below(times.period);
}

bool Check::on_tick(Time now) {
  if (probing_ || now < next_) return false;
  probing_ = true;
  began_ = now;
  return true;
}

std::optional<Time> Check::next_deadline() const {
  if (probing_) return std::nullopt;
  return next_;
}

Check::Told Check::on_outcome(const Outcome& outcome, Time now) {
  HF_CHECK(probing_, "an outcome belongs to a probe");
  if (outcome.error) {
    if (++tries_ < kTries) return {.again = true};
    return throw_away(outcome, now);
  }
  wait(now);
  judged_ = true;
  ++(outcome.healthy ? stats_.succeeded : stats_.failed);
  run_ = outcome.healthy == run_of_ ? run_ + 1 : 1;
  run_of_ = outcome.healthy;
  const uint32_t enough = outcome.healthy ? times_.success_threshold : times_.failure_threshold;
  if (outcome.healthy != verdict_.healthy && run_ >= enough) {
    ++stats_.turned;
    verdict_ = {.healthy = outcome.healthy, .reason = outcome.healthy ? "" : outcome.reason};
    explained_at_ = now;
    return {.changed = true};
  }
  if (outcome.healthy || verdict_.healthy) return {};
  return {.changed = explain(outcome.reason, now)};
}

// While nothing else is known of a service, that it cannot be probed is worth knowing.
Check::Told Check::throw_away(const Outcome& outcome, Time now) {
  wait(now);
  ++stats_.thrown_away;
  if (judged_ || verdict_.healthy) return {};
  return {.changed = explain(fmt::format("not checked yet: {}", outcome.reason), now)};
}

// What people are told of a service that stays unhealthy.
bool Check::explain(std::string reason, Time now) {
  if (reason == verdict_.reason) return false;
  if (explained_at_ && now < *explained_at_ + kReasonPause) return false;
  verdict_.reason = std::move(reason);
  explained_at_ = now;
  return true;
}

// A probe that took longer than a period is followed by the next at once, as the kubelet does it.
void Check::wait(Time now) {
  probing_ = false;
  tries_ = 0;
  next_ = std::max(now, began_ + std::exchange(gap_, times_.period));
}

}  // namespace holdfast::probe
