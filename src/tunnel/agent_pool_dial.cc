// Which proxy an agent dials next, and when.
#include <algorithm>
#include <tuple>
#include <utility>

#include "tunnel/agent_pool.h"

namespace holdfast::tunnel {

using enum TunnelPhase;

void AgentPool::fill(Time now, Actions& actions) {
  while (!stopped_ && now >= next_dial_ && dialing() < options_.max_dials &&
         tunnels_.size() < options_.max_tunnels) {
    std::optional<Lease> lease = tracker_.try_lease();
    if (!lease) return;
    const std::optional<Place> place = choose(now);
    if (!place) return;
    dial(*place, std::move(*lease), now, actions);
    const bool in_trouble = has_failed_ && now - last_failure_ < options_.book.forget_failures;
    if (in_trouble) next_dial_ = now + backoff(now);
  }
}

void AgentPool::dial(const Place& place, Lease lease, Time now, Actions& actions) {
  const Duration timeout =
      place.failures == 0 ? options_.first_dial_timeout : options_.dial_timeout;
  Tunnel tunnel;
  tunnel.lease = std::move(lease);
  tunnel.proxy = place.proxy;
  tunnel.zone = place.zone;
  tunnel.address = place.address;
  tunnel.since = now;
  tunnel.deadline = now + timeout + options_.outcome_grace;
  const TunnelId id = ++last_id_;
  tunnels_.emplace(id, std::move(tunnel));
  stats_.dials += 1;
  actions.emplace_back(Dial{id, place.address, place.proxy, timeout});
}

// An agent without tunnels does not wait for proxies that are silent while there are others.
void AgentPool::let_slow_ones_give_way(Time now) {
  if (usable() > 0 || stopped_ || places(now).empty()) return;
  for (auto& [id, tunnel] : tunnels_) {
    if (tunnel.phase != Dialing || !tunnel.lease.is_held()) continue;
    if (now - tunnel.since < options_.hedge_after) continue;
    tunnel.lease.release();
    stats_.gave_way += 1;
  }
}

std::optional<Time> AgentPool::next_hedge() const {
  if (usable() > 0 || stopped_) return std::nullopt;
  std::optional<Time> first;
  for (const auto& [id, tunnel] : tunnels_) {
    const Time slow = tunnel.since + options_.hedge_after;
    if (tunnel.phase != Dialing || !tunnel.lease.is_held() || slow <= now_) continue;
    first = first ? std::min(*first, slow) : slow;
  }
  return first;
}

// A dial that gave way and connected after all: a new lease, or that of one which is still under
// way. False: there are tunnels enough by now.
bool AgentPool::lease_again(Tunnel& tunnel) {
  if (tunnel.lease.is_held()) return true;
  if (std::optional<Lease> lease = tracker_.try_lease()) {
    tunnel.lease = std::move(*lease);
  } else if (Tunnel* const other = dial_with_lease()) {
    tunnel.lease = std::move(other->lease);
  }
  return tunnel.lease.is_held();
}

AgentPool::Tunnel* AgentPool::dial_with_lease() {
  for (auto& [id, tunnel] : tunnels_) {
    if (tunnel.phase == Dialing && tunnel.lease.is_held()) return &tunnel;
  }
  return nullptr;
}

// Whoever failed least lately; then the better kind; then the zone that holds the fewest of our
// tunnels, our own first; then chance.
std::optional<Place> AgentPool::choose(Time now) {
  const std::map<std::string, size_t> loads = zone_loads();
  std::optional<Place> best;
  std::tuple<uint32_t, PlaceKind, size_t, bool> best_rank;
  uint64_t equals = 0;
  for (Place& place : places(now)) {
    if (place.not_before > now) continue;
    const auto load = loads.find(place.zone);
    const std::tuple rank(place.failures, place.kind, load == loads.end() ? 0 : load->second,
                          place.zone != options_.zone);
    if (best && best_rank < rank) continue;
    equals = best && best_rank == rank ? equals + 1 : 1;
    if (equals > 1 && rng_.below(equals) != 0) continue;
    best = std::move(place);
    best_rank = rank;
  }
  return best;
}

std::vector<Place> AgentPool::places(Time now) const {
  std::vector<Place> places = book_.places(tracker_, is_last_resort(), now);
  std::erase_if(places, [&](const Place& place) { return is_dialled(place); });
  return places;
}

bool AgentPool::is_dialled(const Place& place) const {
  return std::ranges::any_of(tunnels_, [&](const auto& one) {
    return one.second.phase == Dialing && one.second.proxy == place.proxy &&
           one.second.address == place.address;
  });
}

// Nobody carries us, or nobody tells of proxies: any place is better than none.
bool AgentPool::is_last_resort() const {
  return usable() == 0 || tracker_.tracked().empty();
}

std::map<std::string, size_t> AgentPool::zone_loads() const {
  std::map<std::string, size_t> loads;
  for (const auto& [id, tunnel] : tunnels_) {
    if (tunnel.phase == Dialing || tunnel.phase == Connected) loads[tunnel.zone] += 1;
  }
  return loads;
}

void AgentPool::wait_after_failure(Time now) {
  in_crowd_ = false;
  has_failed_ = true;
  last_failure_ = now;
  next_dial_ = std::max(next_dial_, now + backoff(now));
}

// Those who lost the same proxy, or heard the same, must not all act in the same moment. Whoever
// waits already does not wait longer.
void AgentPool::wait_in_crowd(Time now) {
  if (next_dial_ > now) return;
  const Duration wait = rng_.below(options_.spread);
  in_crowd_ = rounds_failed(now) <= 1;
  next_dial_ = now + (in_crowd_ ? wait : std::max(wait, backoff(now)));
}

// As long as there is somebody who has not failed lately, none.
uint32_t AgentPool::rounds_failed(Time now) const {
  std::optional<uint32_t> rounds;
  for (const Place& place : places(now)) {
    rounds = rounds ? std::min(*rounds, place.failures) : place.failures;
  }
  return rounds.value_or(0);
}

Duration AgentPool::backoff(Time now) {
  const uint32_t rounds = std::clamp<uint32_t>(rounds_failed(now), 1, 1'000);
  return half_jitter(std::min(options_.backoff_step * rounds, options_.backoff_cap));
}

Duration AgentPool::half_jitter(Duration most) {
  return most / 2 + rng_.below(most - most / 2);
}

std::optional<Time> AgentPool::next_dial(Time now) const {
  if (stopped_ || dialing() >= options_.max_dials || tunnels_.size() >= options_.max_tunnels ||
      !tracker_.may_lease()) {
    return std::nullopt;
  }
  std::optional<Time> first;
  for (const Place& place : places(now)) {
    first = first ? std::min(*first, place.not_before) : place.not_before;
  }
  if (first) first = std::max(*first, next_dial_);
  return first;
}

}  // namespace holdfast::tunnel
