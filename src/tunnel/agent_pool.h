// All that decides about an agent's tunnels: to which proxies, when to try again, when to move,
// which one is too many. Pure: each input comes with its time and returns what to do.
//
//   discovery, cache, bootstrap ─► ProxyBook ─┐ where
//   outcomes of dials, losses, advice ────────┼─► AgentPool ─► Dial, Drain, Close, SetKeepalive
//                        Tracker ─ leases ────┘ how many
//
// A tunnel's lease lives in the tunnel: whichever way it ends, the lease ends with it. Only a slow
// dial of an agent without tunnels gives it back early, and asks again if it connects after all.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "tunnel/agent_pool_book.h"
#include "tunnel/agent_pool_types.h"

namespace holdfast::tunnel {

class AgentPool {
 public:
  // Nothing is dialled before the first input; on_tick() is one.
  AgentPool(PoolOptions options, uint64_t seed, Time now);

  // Proxies mentioned by a proxy. A full list removes nobody: who is not mentioned expires.
  Actions on_discovery(const std::vector<ProxyInfo>& proxies, Time now);
  // All proxies of the cache, however old it is.
  Actions on_listing(const std::vector<ListedProxy>& proxies, Time now);
  // Addresses from the configuration, HOST:PORT; replaces those before.
  Actions on_bootstrap(const std::vector<std::string>& addresses, Time now);
  Actions on_settings(const PoolSettings& settings, Time now);

  // Whether to go on with a handshake, now that the proxy's name is known from its certificate.
  bool may_claim(TunnelId tunnel, std::string_view proxy) const;

  // `proxy`: as the certificate and the welcome say. Answers Close if it was claimed meanwhile.
  Actions on_connected(TunnelId tunnel, const ProxyInfo& proxy, Time now);
  Actions on_refused(TunnelId tunnel, const Refusal& refusal, Time now);
  Actions on_failed(TunnelId tunnel, Time now);
  Actions on_already_claimed(TunnelId tunnel, Time now);

  // The connection broke, or its keepalive did, in any phase.
  Actions on_lost(TunnelId tunnel, Time now);
  Actions on_advice(TunnelId tunnel, const MoveAdvice& advice, Time now);
  // Its certificates are to be replaced: another tunnel, to the same proxy if need be, then it
  // drains.
  Actions on_renew(TunnelId tunnel, std::string_view why, Time now);
  // The proxy opens no more streams here; those that run finish.
  Actions on_goodbye(TunnelId tunnel, Time now);
  // After Drain or a goodbye: the last stream has ended and the connection is closed.
  Actions on_drained(TunnelId tunnel, Time now);
  // As the session smooths it.
  Actions on_round_trip(TunnelId tunnel, Duration smoothed, Time now);

  // The agent ends: drains every tunnel, dials no more.
  Actions on_stop(Time now);

  std::optional<Time> next_deadline() const;
  Actions on_tick(Time now);

  PoolView describe(Time now) const;
  // Names of the proxies whose tunnels take streams, newest first.
  std::vector<std::string> connected_proxies() const;
  const PoolSettings& settings() const { return settings_; }
  const Tracker& tracker() const { return tracker_; }

 private:
  struct Tunnel {
    Lease lease;
    TunnelPhase phase = TunnelPhase::Dialing;
    std::string proxy;  // expected, then real
    std::string zone;
    std::string address;
    Time since;
    Time connected;
    Time deadline;  // Dialing: then it is overdue; Leaving: then the advice is withdrawn
    std::string advice_code;
    std::string advice;
    std::optional<Duration> round_trip;
    std::optional<Time> undesired_until;  // kept that long, since its proxy is not desired
  };
  using Tunnels = std::map<TunnelId, Tunnel>;

  // After every input: what it made due.
  Actions settle(Actions actions, Time now);
  void expire(Time now);
  Actions refuse_connected(TunnelId id, std::string_view code, std::string_view why, Time now);
  void give_up_overdue(Time now, Actions& actions);

  // Dialling (agent_pool_dial.cc).
  void fill(Time now, Actions& actions);
  void let_slow_ones_give_way(Time now);
  Tunnel* dial_with_lease();
  bool lease_again(Tunnel& tunnel);
  std::optional<Time> next_hedge() const;
  std::optional<Place> choose(Time now);
  void dial(const Place& place, Lease lease, Time now, Actions& actions);
  bool is_last_resort() const;
  std::vector<Place> places(Time now) const;
  std::map<std::string, size_t> zone_loads() const;
  bool is_dialled(const Place& place) const;
  void wait_after_failure(Time now);
  void wait_in_crowd(Time now);
  uint32_t rounds_failed(Time now) const;
  Duration backoff(Time now);
  Duration half_jitter(Duration most);
  std::optional<Time> next_dial(Time now) const;

  // Closing (agent_pool_close.cc).
  void follow_advice(Time now, Actions& actions);
  void withdraw(Tunnel& tunnel, Time now);
  bool is_left_behind(const Tunnel& tunnel) const;
  void close_surplus(Time now, Actions& actions);
  void close_undesired(Time now, Actions& actions);
  void begin_drain(TunnelId id, std::string_view code, std::string why, Actions& actions);
  void note_undesired(Time now);
  bool is_quiet(Time now) const;
  bool is_enough_without_leaving() const;
  std::optional<TunnelId> surplus() const;
  std::optional<Time> next_close() const;

  void explain_shortfall(PoolView& view, Time now) const;

  bool is_usable(const Tunnel& tunnel) const;
  bool counts(const Tunnel& tunnel) const;  // usable, to a desired proxy
  size_t usable() const;
  size_t counting() const;
  size_t dialing() const;
  Tunnel* find(TunnelId id, std::initializer_list<TunnelPhase> phases);
  void tunnel_event(Time now) { last_event_ = now; }

  PoolOptions options_;
  PoolSettings settings_;
  Rng rng_;
  Tracker tracker_;
  ProxyBook book_;
  Tunnels tunnels_;  // after the tracker, which their leases need
  std::map<std::string, int64_t, std::less<>> heartbeats_;  // of the last listing
  TunnelId last_id_ = 0;
  Time started_;
  Time next_dial_;         // none before it
  bool in_crowd_ = false;  // and that only because others heard the same
  Time last_failure_;      // of a dial or a tunnel
  bool has_failed_ = false;
  Time last_event_;  // a tunnel came, drained or went
  Time seen_topology_;
  Time now_;  // of the last input
  bool stopped_ = false;
  PoolStats stats_;
};

}  // namespace holdfast::tunnel
