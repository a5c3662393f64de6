// Which tunnels an agent leaves: those it was advised to, one that is too many, and in the end
// those to proxies that nobody wants any more. Never the last one, never several at once on its
// own account.
#include <algorithm>
#include <string>
#include <utility>

#include "tunnel/agent_pool.h"

namespace holdfast::tunnel {

using enum TunnelPhase;

Actions AgentPool::on_advice(TunnelId id, const MoveAdvice& advice, Time now) {
  Tunnel* const tunnel = find(id, {Connected, Leaving});
  if (tunnel == nullptr) return settle({}, now);
  stats_.advised += 1;
  const Duration patience = advice.closes_in.value_or(options_.advice_patience);
  tunnel->deadline = now + std::clamp(patience, Duration::zero(), options_.max_closes_in);
  tunnel->advice_code = advice.code;
  tunnel->advice = advice.reason;
  // Who has a tunnel to everybody has nowhere else to move.
  const bool is_pointless =
      settings_.connection_count == 0 && !advice.closes_in && tracker_.is_desired(tunnel->proxy);
  if (is_pointless) {
    stats_.advice_withdrawn += 1;
  } else if (tunnel->phase == Connected) {
    tunnel->phase = Leaving;
    tunnel->since = now;
    tracker_.set_leaving(tunnel->proxy, true);
    // The proxy spreads its advice itself. Who would wait for the crowd that has just heard of the
    // drain would come together with those who are advised later.
    if (std::exchange(in_crowd_, false)) next_dial_ = std::min(next_dial_, now);
  }
  return settle({}, now);
}

// Another tunnel first, then this one drains; if there is no other until the advice ends, it stays.
void AgentPool::follow_advice(Time now, Actions& actions) {
  std::vector<TunnelId> done;
  const bool is_enough = is_enough_without_leaving();
  for (auto& [id, tunnel] : tunnels_) {
    if (tunnel.phase != Leaving) continue;
    if (is_enough || is_left_behind(tunnel)) {
      done.push_back(id);
    } else if (now >= tunnel.deadline) {
      withdraw(tunnel, now);
    }
  }
  for (const TunnelId id : done) {
    const Tunnel& tunnel = tunnels_.at(id);
    stats_.drained_advised += 1;
    begin_drain(id, std::string(tunnel.advice_code), tunnel.advice, actions);
  }
}

// A renewal that led to nothing is given up only if its place was not taken meanwhile.
void AgentPool::withdraw(Tunnel& tunnel, Time now) {
  if (!tunnel.lease.is_held()) {
    tunnel.deadline = now + options_.advice_patience;
    std::optional<Lease> lease = tracker_.try_lease();
    if (!lease || !lease->claim(tunnel.proxy)) return;
    tunnel.lease = std::move(*lease);
  }
  stats_.advice_withdrawn += 1;
  tracker_.set_leaving(tunnel.proxy, false);
  tunnel.phase = Connected;
  tunnel.since = now;
}

// Its claim is given back at once: the new tunnel may well be to the same proxy.
Actions AgentPool::on_renew(TunnelId id, std::string_view why, Time now) {
  if (Tunnel* const tunnel = find(id, {Connected})) {
    stats_.renewed += 1;
    tunnel->phase = Leaving;
    tunnel->since = now;
    tunnel->deadline = now + options_.advice_patience;
    tunnel->advice_code = kRenewed;
    tunnel->advice = why;
    tunnel->lease.release();
  }
  return settle({}, now);
}

// A renewed one that has its successor; or its proxy drains, all others are had already, and it
// would wait for us in vain.
bool AgentPool::is_left_behind(const Tunnel& tunnel) const {
  const auto proxy = tracker_.tracked().find(tunnel.proxy);
  const bool drains = proxy != tracker_.tracked().end() && proxy->second.info.draining;
  const bool renewed = !tunnel.lease.is_held();
  return (drains || renewed) && counting() > 0 && counting() >= tracker_.desired_count();
}

bool AgentPool::is_enough_without_leaving() const {
  const size_t count = counting();
  if (settings_.connection_count == 0) return count > 0 && count >= tracker_.desired_count();
  return count >= settings_.connection_count;
}

void AgentPool::begin_drain(TunnelId id, std::string_view code, std::string why, Actions& actions) {
  Tunnel& tunnel = tunnels_.at(id);
  tunnel.phase = Draining;
  tunnel.since = now_;
  tunnel.lease.release();
  tunnel_event(now_);
  actions.emplace_back(Drain{id, std::string(code), std::move(why)});
}

void AgentPool::close_surplus(Time now, Actions& actions) {
  const std::optional<TunnelId> one = surplus();
  if (!one || !is_quiet(now)) return;
  stats_.drained_surplus += 1;
  begin_drain(*one, kSurplus, "there are more tunnels than configured", actions);
}

// Nothing has happened for a threshold: neither to tunnels nor to what is known of proxies.
bool AgentPool::is_quiet(Time now) const {
  const Duration threshold = settings_.disconnect_threshold;
  return threshold > Duration::zero() && now - last_event_ >= threshold &&
         now - tracker_.last_topology_change() >= threshold;
}

// The slowest of those that count, if they are too many and all are measured. A tunnel that is our
// only one in its zone stays while another zone has two.
std::optional<TunnelId> AgentPool::surplus() const {
  if (stopped_ || settings_.connection_count == 0 || counting() <= settings_.connection_count) {
    return std::nullopt;
  }
  std::map<std::string_view, size_t> zones;
  size_t crowded = 0;
  for (const auto& [id, tunnel] : tunnels_) {
    if (!counts(tunnel)) continue;
    if (!tunnel.round_trip) return std::nullopt;
    crowded = std::max(crowded, ++zones[tunnel.zone]);
  }
  std::optional<TunnelId> slowest;
  for (const auto& [id, tunnel] : tunnels_) {
    if (!counts(tunnel) || (crowded > 1 && zones.at(tunnel.zone) == 1)) continue;
    if (!slowest || *tunnel.round_trip > *tunnels_.at(*slowest).round_trip) slowest = id;
  }
  return slowest;
}

void AgentPool::note_undesired(Time now) {
  for (auto& [id, tunnel] : tunnels_) {
    if (!is_usable(tunnel) || tracker_.is_desired(tunnel.proxy)) {
      tunnel.undesired_until.reset();
    } else if (!tunnel.undesired_until) {
      const Duration extra = options_.max_keep_undesired - options_.min_keep_undesired;
      tunnel.undesired_until = now + options_.min_keep_undesired + rng_.below(extra);
    }
  }
}

// They should recover or end by themselves, and carry us meanwhile; but not for ever.
void AgentPool::close_undesired(Time now, Actions& actions) {
  if (options_.max_keep_undesired == Duration::zero() || stopped_ || counting() == 0 ||
      counting() < tracker_.desired_count() || settings_.disconnect_threshold == Duration::zero() ||
      now - last_event_ < settings_.disconnect_threshold) {
    return;
  }
  for (const auto& [id, tunnel] : tunnels_) {
    if (!tunnel.undesired_until || *tunnel.undesired_until > now) continue;
    stats_.drained_expired += 1;
    begin_drain(id, kUndesired, "its proxy has long been expired or replaced", actions);
    return;
  }
}

std::optional<Time> AgentPool::next_close() const {
  const Duration threshold = settings_.disconnect_threshold;
  if (stopped_ || threshold == Duration::zero()) return std::nullopt;
  if (surplus()) return std::max(last_event_, tracker_.last_topology_change()) + threshold;
  if (counting() == 0 || counting() < tracker_.desired_count() ||
      options_.max_keep_undesired == Duration::zero()) {
    return std::nullopt;
  }
  std::optional<Time> first;
  for (const auto& [id, tunnel] : tunnels_) {
    if (!tunnel.undesired_until) continue;
    first = first ? std::min(*first, *tunnel.undesired_until) : *tunnel.undesired_until;
  }
  if (first) first = std::max(*first, last_event_ + threshold);
  return first;
}

}  // namespace holdfast::tunnel
