// The inputs of an agent's pool. What they make due is decided in settle().
#include "tunnel/agent_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::tunnel {

using enum TunnelPhase;

AgentPool::AgentPool(PoolOptions options, uint64_t seed, Time now)
    : options_(std::move(options)),
      rng_(seed),
      tracker_(options_.tracker, now),
      book_(options_.book),
      started_(now),
      next_dial_(now),
      last_failure_(now),
      last_event_(now),
      seen_topology_(now),
      now_(now) {
  settings_.connection_count = options_.tracker.connection_count;
}

Actions AgentPool::on_discovery(const std::vector<ProxyInfo>& proxies, Time now) {
  expire(now);
  for (const ProxyInfo& proxy : proxies) {
    if (tracker_.mention(proxy, now)) book_.forget(proxy.name);
  }
  return settle({}, now);
}

// What the cache tells of a proxy for the first time may be old; what a proxy has told of it since
// is newer.
Actions AgentPool::on_listing(const std::vector<ListedProxy>& proxies, Time now) {
  expire(now);
  std::map<std::string, int64_t, std::less<>> heartbeats;
  for (const ListedProxy& listed : proxies) {
    const std::string& name = listed.info.name;
    if (heartbeats.size() >= options_.tracker.max_proxies) break;
    heartbeats[name] = listed.heartbeat;
    const auto before = heartbeats_.find(name);
    const bool is_news = before == heartbeats_.end() ? !tracker_.tracked().contains(name)
                                                     : before->second != listed.heartbeat;
    if (is_news && listed.offline && !tracker_.tracked().contains(name)) {
      book_.remember(listed.info, now);
    } else if (is_news && tracker_.mention(listed.info, now)) {
      book_.forget(name);
    }
  }
  heartbeats_ = std::move(heartbeats);
  return settle({}, now);
}

Actions AgentPool::on_bootstrap(const std::vector<std::string>& addresses, Time now) {
  book_.set_bootstrap(addresses);
  return settle({}, now);
}

Actions AgentPool::on_settings(const PoolSettings& settings, Time now) {
  Actions actions;
  if (settings.keepalive != settings_.keepalive ||
      settings.keepalive_misses != settings_.keepalive_misses) {
    actions.emplace_back(SetKeepalive{settings.keepalive, settings.keepalive_misses});
  }
  settings_ = settings;
  constexpr Duration kLongest = std::chrono::days(365);  // more would not fit beside a time
  settings_.disconnect_threshold =
      std::clamp(settings.disconnect_threshold, Duration::zero(), kLongest);
  tracker_.set_connection_count(settings.connection_count, now);
  return settle(std::move(actions), now);
}

bool AgentPool::may_claim(TunnelId tunnel, std::string_view proxy) const {
  const auto found = tunnels_.find(tunnel);
  return found != tunnels_.end() && found->second.phase == Dialing && !tracker_.is_claimed(proxy);
}

Actions AgentPool::on_connected(TunnelId id, const ProxyInfo& proxy, Time now) {
  Tunnel* const tunnel = find(id, {Dialing});
  if (tunnel == nullptr) {
    Actions actions{Close{id, std::string(kNoOutcome), "its dial was given up before"}};
    return settle(std::move(actions), now);
  }
  expire(now);
  if (!tunnel->proxy.empty() && tunnel->proxy != proxy.name) {
    stats_.wrong_name += 1;
    book_.failed(tunnel->proxy, now);
  }
  ProxyInfo heard = proxy;
  // Where it was found is where it is, unless it is known to be elsewhere.
  const auto known = tracker_.tracked().find(proxy.name);
  if (heard.address.empty() &&
      (known == tracker_.tracked().end() || known->second.info.address.empty())) {
    heard.address = tunnel->address;
  }
  if (tracker_.mention(heard, now)) book_.forget(proxy.name);
  if (proxy.draining && usable() > 0) {
    return refuse_connected(id, kUndesired, "it drains, and there are others", now);
  }
  if (!lease_again(*tunnel)) return refuse_connected(id, kSurplus, "another was faster", now);
  if (!tunnel->lease.claim(proxy.name)) {
    return refuse_connected(id, kAlreadyClaimed, "there is a tunnel to it already", now);
  }
  tunnel->phase = Connected;
  tunnel->proxy = proxy.name;
  tunnel->zone = proxy.zone;
  tunnel->since = tunnel->connected = now;
  stats_.connected += 1;
  tunnel_event(now);
  return settle({}, now);
}

Actions AgentPool::refuse_connected(TunnelId id, std::string_view code, std::string_view why,
                                    Time now) {
  Actions actions{Close{id, std::string(code), std::string(why)}};
  Actions more = on_already_claimed(id, now);
  actions.insert(actions.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  return actions;
}

Actions AgentPool::on_refused(TunnelId id, const Refusal& refusal, Time now) {
  if (Tunnel* const tunnel = find(id, {Dialing})) {
    const std::string key = tunnel->proxy.empty() ? tunnel->address : tunnel->proxy;
    stats_.refused += 1;
    if (refusal.retry_after) {
      const Duration wait =
          std::clamp(*refusal.retry_after, Duration::zero(), options_.max_retry_after);
      book_.refused(key, now + wait, now);
    } else {
      book_.failed(key, now);
    }
    tunnels_.erase(id);
    wait_after_failure(now);
  }
  return settle({}, now);
}

Actions AgentPool::on_failed(TunnelId id, Time now) {
  if (Tunnel* const tunnel = find(id, {Dialing})) {
    stats_.failed += 1;
    book_.failed(tunnel->proxy.empty() ? tunnel->address : tunnel->proxy, now);
    tunnels_.erase(id);
    wait_after_failure(now);
  }
  return settle({}, now);
}

// Not a failure of anyone: the place leads to a proxy that we have. It is asked again later, for
// another may be there then.
Actions AgentPool::on_already_claimed(TunnelId id, Time now) {
  if (Tunnel* const tunnel = find(id, {Dialing})) {
    stats_.already_claimed += 1;
    book_.refused(tunnel->proxy.empty() ? tunnel->address : tunnel->proxy,
                  now + half_jitter(options_.retry_claimed), now);
    tunnels_.erase(id);
  }
  return settle({}, now);
}

Actions AgentPool::on_lost(TunnelId id, Time now) {
  if (find(id, {Dialing}) != nullptr) return on_failed(id, now);
  if (Tunnel* const tunnel = find(id, {Connected, Leaving})) {
    stats_.lost += 1;
    book_.failed(tunnel->proxy, now);
    tunnels_.erase(id);
    tunnel_event(now);
    wait_in_crowd(now);
  } else if (tunnels_.erase(id) == 1) {
    tunnel_event(now);
  }
  return settle({}, now);
}

// Its claim is given back at once: another tunnel to the same proxy may be had beside it.
Actions AgentPool::on_goodbye(TunnelId id, Time now) {
  if (Tunnel* const tunnel = find(id, {Connected, Leaving})) {
    tunnel->phase = Draining;
    tunnel->since = now;
    tunnel->lease.release();
    tunnel_event(now);
    wait_in_crowd(now);
  }
  return settle({}, now);
}

Actions AgentPool::on_drained(TunnelId id, Time now) {
  if (find(id, {Draining}) == nullptr) return on_lost(id, now);
  tunnels_.erase(id);
  tunnel_event(now);
  return settle({}, now);
}

Actions AgentPool::on_round_trip(TunnelId id, Duration smoothed, Time now) {
  if (Tunnel* const tunnel = find(id, {Connected, Leaving})) tunnel->round_trip = smoothed;
  return settle({}, now);
}

Actions AgentPool::on_stop(Time now) {
  stopped_ = true;
  now_ = std::max(now_, now);
  Actions actions;
  for (auto at = tunnels_.begin(); at != tunnels_.end();) {
    const auto [id, phase] = std::pair(at->first, at->second.phase);
    ++at;
    if (phase == Dialing) {
      actions.emplace_back(Close{id, std::string(kAgentStops), "the agent stops"});
      tunnels_.erase(id);
    } else if (phase != Draining) {
      begin_drain(id, kAgentStops, "the agent stops", actions);
    }
  }
  return settle(std::move(actions), now);
}

Actions AgentPool::on_tick(Time now) {
  return settle({}, now);
}

Actions AgentPool::settle(Actions actions, Time now) {
  now_ = std::max(now_, now);
  expire(now);
  give_up_overdue(now, actions);
  if (tracker_.last_topology_change() != seen_topology_) {
    seen_topology_ = tracker_.last_topology_change();
    if (usable() > 0 && now - started_ >= options_.settling) wait_in_crowd(now);
  }
  note_undesired(now);
  follow_advice(now, actions);
  let_slow_ones_give_way(now);
  fill(now, actions);
  close_surplus(now, actions);
  close_undesired(now, actions);
  return actions;
}

void AgentPool::expire(Time now) {
  for (const TrackedProxy& gone : tracker_.expire(now)) book_.remember(gone.info, now);
}

void AgentPool::give_up_overdue(Time now, Actions& actions) {
  std::vector<TunnelId> overdue;
  for (const auto& [id, tunnel] : tunnels_) {
    if (tunnel.phase == Dialing && tunnel.deadline <= now) overdue.push_back(id);
  }
  for (const TunnelId id : overdue) {
    const Tunnel& tunnel = tunnels_.at(id);
    book_.failed(tunnel.proxy.empty() ? tunnel.address : tunnel.proxy, now);
    stats_.overdue_dials += 1;
    actions.emplace_back(Close{id, std::string(kNoOutcome), "the dial has no outcome"});
    tunnels_.erase(id);
    wait_after_failure(now);
  }
}

AgentPool::Tunnel* AgentPool::find(TunnelId id, std::initializer_list<TunnelPhase> phases) {
  const auto found = tunnels_.find(id);
  if (found == tunnels_.end()) return nullptr;
  const bool fits = std::ranges::find(phases, found->second.phase) != phases.end();
  return fits ? &found->second : nullptr;
}

std::optional<Time> AgentPool::next_deadline() const {
  std::optional<Time> first = tracker_.next_deadline();
  const auto consider = [&](std::optional<Time> time) {
    if (time) first = first ? std::min(*first, *time) : time;
  };
  consider(next_dial(now_));
  consider(next_close());
  consider(next_hedge());
  for (const auto& [id, tunnel] : tunnels_) {
    if (tunnel.phase == Dialing || tunnel.phase == Leaving) consider(tunnel.deadline);
  }
  return first;
}

}  // namespace holdfast::tunnel
