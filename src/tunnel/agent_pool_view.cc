// How an agent's pool describes itself: for people, metrics and announcements.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "tunnel/agent_pool.h"

namespace holdfast::tunnel {

using enum TunnelPhase;

std::string_view to_string(TunnelPhase phase) {
  switch (phase) {
    case Dialing:
      return "dialing";
    case Connected:
      return "connected";
    case Leaving:
      return "leaving";
    case Draining:
      return "draining";
  }
  return "unknown";
}

bool AgentPool::is_usable(const Tunnel& tunnel) const {
  return tunnel.phase == Connected || tunnel.phase == Leaving;
}

bool AgentPool::counts(const Tunnel& tunnel) const {
  return tunnel.phase == Connected && tracker_.is_desired(tunnel.proxy);
}

size_t AgentPool::usable() const {
  return static_cast<size_t>(
      std::ranges::count_if(tunnels_, [&](const auto& one) { return is_usable(one.second); }));
}

size_t AgentPool::counting() const {
  return static_cast<size_t>(
      std::ranges::count_if(tunnels_, [&](const auto& one) { return counts(one.second); }));
}

size_t AgentPool::dialing() const {
  return static_cast<size_t>(
      std::ranges::count_if(tunnels_, [](const auto& one) { return one.second.phase == Dialing; }));
}

std::vector<std::string> AgentPool::connected_proxies() const {
  std::vector<std::pair<Time, std::string>> usable;
  for (const auto& [id, tunnel] : tunnels_) {
    if (is_usable(tunnel)) usable.emplace_back(tunnel.connected, tunnel.proxy);
  }
  std::ranges::sort(usable, std::ranges::greater());
  std::vector<std::string> names;
  for (auto& [connected, name] : usable) names.push_back(std::move(name));
  return names;
}

PoolView AgentPool::describe(Time now) const {
  PoolView view;
  for (const auto& [id, tunnel] : tunnels_) {
    view.tunnels.push_back({.id = id,
                            .proxy = tunnel.proxy,
                            .zone = tunnel.zone,
                            .address = tunnel.address,
                            .phase = tunnel.phase,
                            .since = tunnel.since,
                            .connected = tunnel.connected,
                            .round_trip = tunnel.round_trip,
                            .claimed = !tunnel.lease.claimed().empty(),
                            .leased = tunnel.phase == Dialing && tunnel.lease.is_held(),
                            .desired = tracker_.is_desired(tunnel.proxy)});
  }
  view.connection_count = settings_.connection_count;
  view.desired_count = tracker_.desired_count();
  view.usable = usable();
  view.usable_desired = counting();
  view.inflight = tracker_.inflight();
  view.claimed = tracker_.claimed();
  view.tracked = tracker_.tracked().size();
  view.remembered = book_.remembered();
  view.next_dial = next_dial(now);
  view.last_topology_change = tracker_.last_topology_change();
  view.stats = stats_;
  view.tracker = tracker_.stats();
  explain_shortfall(view, now);
  return view;
}

void AgentPool::explain_shortfall(PoolView& view, Time now) const {
  const size_t wanted =
      settings_.connection_count == 0 ? view.desired_count : settings_.connection_count;
  if (!stopped_ && wanted > 0 && view.usable_desired >= wanted) return;
  const auto because = [&](std::string_view code, std::string text) {
    view.shortfall_code = code;
    view.shortfall = std::move(text);
  };
  const std::string have = fmt::format("{} of {} tunnels", view.usable_desired, wanted);
  if (stopped_) return because(kAgentStops, "the agent stops");
  if (view.tracked == 0 && view.remembered == 0 && book_.bootstrap() == 0) {
    return because(kNoProxyKnown, "no proxy is known: neither from discovery nor configured");
  }
  if (view.tracked > 0 && view.usable_desired >= view.desired_count && view.usable > 0) {
    view.has_all_there_are = true;
    return because(kTooFewProxies, fmt::format("{}: no more proxies take tunnels", have));
  }
  const std::vector<Place> open = book_.places(tracker_, is_last_resort(), now);
  const auto refused = [&](const Place& place) { return place.not_before > now; };
  const auto failed = [](const Place& place) { return place.failures > 0; };
  if (!open.empty() && std::ranges::all_of(open, refused)) {
    return because(kAllRefused, fmt::format("{}: every proxy asked to wait", have));
  }
  if (!open.empty() && std::ranges::all_of(open, [&](const Place& place) {
        return failed(place) || refused(place);
      })) {
    return because(kNoneAnswers, fmt::format("{}: no other proxy answers", have));
  }
  because(kConnecting, fmt::format("{}: {} being dialled", have, view.inflight));
}

}  // namespace holdfast::tunnel
