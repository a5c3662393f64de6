#include "tunnel/drain_plan.h"

#include <algorithm>

namespace holdfast::tunnel {
namespace {

constexpr Duration kAdviceEndLag = std::chrono::milliseconds(1);

}  // namespace

std::string_view to_string(DrainPhase phase) {
  switch (phase) {
    case DrainPhase::Running:
      return "running";
    case DrainPhase::Deregistering:
      return "deregistering";
    case DrainPhase::Advising:
      return "advising";
    case DrainPhase::Waiting:
      return "waiting";
    case DrainPhase::Closed:
      return "closed";
  }
  return "unknown";
}

DrainPlan::DrainPlan(DrainOptions options, uint64_t seed)
    : options_(options), advice_(options.advise_per_second, seed) {}

void DrainPlan::begin(std::vector<TunnelId> tunnels, Time now, std::optional<Duration> deadline) {
  if (is_draining()) {
    if (deadline) deadline_ = std::min(deadline_, now + *deadline);
    return;
  }
  phase_ = DrainPhase::Deregistering;
  tunnels_ = std::move(tunnels);
  began_ = now;
  deadline_ = now + deadline.value_or(options_.deadline);
}

void DrainPlan::deregistered() {
  deregistered_ = true;
}

void DrainPlan::tunnel_added(TunnelId tunnel, Time now) {
  if (phase_ == DrainPhase::Deregistering) {
    tunnels_.push_back(tunnel);
  } else if (phase_ == DrainPhase::Advising || phase_ == DrainPhase::Waiting) {
    // It did not know yet.
    advice_.add(tunnel, std::chrono::seconds(1), now);
  }
}

void DrainPlan::tunnel_gone(TunnelId tunnel) {
  std::erase(tunnels_, tunnel);
  advice_.remove(tunnel);
}

void DrainPlan::hurry(Time now) {
  begin({}, now);
  hurried_ = true;
}

std::vector<DrainStep> DrainPlan::on_tick(const DrainLoad& load, Time now) {
  std::vector<DrainStep> steps;
  if (phase_ == DrainPhase::Running || phase_ == DrainPhase::Closed) return steps;
  if (phase_ == DrainPhase::Deregistering) deregister(steps, now);
  // Who was in the backlog is no load yet when listening stops: that is for the next tick to see.
  const bool was_waiting = phase_ == DrainPhase::Waiting;
  if (phase_ == DrainPhase::Advising || phase_ == DrainPhase::Waiting) advise(steps, now);
  looked_again_ = was_waiting;
  alone_ = load.alone;
  move_is_over_ = phase_ == DrainPhase::Waiting && now >= moved_by();
  const bool cut = phase_ != DrainPhase::Deregistering && (hurried_ || now >= deadline_);
  if (cut || (was_waiting && is_over(load))) {
    steps.emplace_back(CloseAll{.in_time = load.streams == 0});
    phase_ = DrainPhase::Closed;
    advice_.clear();
  }
  return steps;
}

void DrainPlan::deregister(std::vector<DrainStep>& steps, Time now) {
  if (!told_deregister_) {
    told_deregister_ = true;
    steps.emplace_back(Deregister{});
  }
  if (!deregistered_ && now < began_ + options_.deregister_within) return;
  phase_ = DrainPhase::Advising;
  steps.emplace_back(TellOthers{});
  // Half of what is left is for the agents to move in.
  const Duration at_most = std::max(Duration::zero(), deadline_ - now) / 2;
  advice_.spread(std::move(tunnels_), {.over = options_.advise_over, .at_most = at_most}, now);
  tunnels_.clear();
}

void DrainPlan::advise(std::vector<DrainStep>& steps, Time now) {
  for (const TunnelId tunnel : advice_.take_due(now)) {
    ++advised_;
    steps.emplace_back(
        AdviseTunnel{.tunnel = tunnel, .closes_in = std::max(Duration::zero(), deadline_ - now)});
  }
  if (phase_ == DrainPhase::Waiting || !advice_.empty()) return;
  phase_ = DrainPhase::Waiting;
  advice_ended_ = now;
  steps.emplace_back(StopListening{});
}

bool DrainPlan::is_over(const DrainLoad& load) const {
  return load.streams == 0 && (load.tunnels == 0 || move_is_over_);
}

Time DrainPlan::moved_by() const {
  const Duration alone = std::min(options_.alone_within, options_.move_within);
  return advice_ended_ + (alone_ ? alone : options_.move_within);
}

std::optional<Time> DrainPlan::next_deadline() const {
  if (phase_ == DrainPhase::Running || phase_ == DrainPhase::Closed) return std::nullopt;
  if (phase_ == DrainPhase::Deregistering) {
    return told_deregister_ ? began_ + options_.deregister_within : began_;
  }
  Time next = deadline_;
  if (const std::optional<Time> advice = advice_.next_deadline()) next = std::min(next, *advice);
  if (phase_ == DrainPhase::Waiting && !looked_again_) {
    next = std::min(next, advice_ended_ + kAdviceEndLag);
  }
  if (phase_ == DrainPhase::Waiting && !move_is_over_) {
    next = std::min(next, moved_by());
  }
  return hurried_ ? began_ : next;
}

std::optional<Time> DrainPlan::deadline() const {
  if (!is_draining()) return std::nullopt;
  return deadline_;
}

}  // namespace holdfast::tunnel
