// All that decides about an agent's tunnels: to which proxies, when to try again, when to move,
// which one is too many. Pure: each input comes with its time and returns what to do.
//
//   discovery, cache, bootstrap ─► ProxyBook ─┐ where
//   outcomes of dials, losses, advice ────────┼─► AgentPool ─► Dial, Drain, Close, SetKeepalive
//                        Tracker ─ leases ────┘ how many
//
// A tunnel's lease lives in the tunnel: whichever way it ends, the lease ends with it.
#pragma once

#include <map>

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
  // The proxy opens no more streams here; those that run finish.
  Actions on_goodbye(TunnelId tunnel, Time now);
  // After Drain or a goodbye: the last stream has ended and the connection is closed.
  Actions on_drained(TunnelId tunnel, Time now);
  // As the session smooths it.
  void on_round_trip(TunnelId tunnel, Duration smoothed);

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
    std::optional<Duration> round_trip;
    std::optional<Time> undesired_since;
    Duration patience = Duration::zero();  // with a proxy that is not desired
  };
  using Tunnels = std::map<TunnelId, Tunnel>;

  Tracker tracker_;
  Tunnels tunnels_;
};

}  // namespace holdfast::tunnel
