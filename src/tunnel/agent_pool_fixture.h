// An agent's pool in virtual time, with what it asked for sorted by kind.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tunnel/agent_pool.h"

namespace holdfast::tunnel {

inline ProxyInfo pool_proxy(const std::string& name, const std::string& zone = "",
                            uint64_t generation = 0) {
  return {.name = name,
          .zone = zone,
          .generation = generation,
          .ttl = std::chrono::minutes(1),
          .address = name + ":7444"};
}

class PoolRig {
 public:
  explicit PoolRig(PoolOptions options = {}, uint64_t seed = 1)
      : options(std::move(options)), pool(this->options, seed, now) {}

  void take(Actions actions) {
    for (Action& action : actions) {
      if (auto* const dial = std::get_if<Dial>(&action)) dials.push_back(std::move(*dial));
      if (auto* const drain = std::get_if<Drain>(&action)) drains.push_back(std::move(*drain));
      if (auto* const close = std::get_if<Close>(&action)) closes.push_back(std::move(*close));
      if (auto* const set = std::get_if<SetKeepalive>(&action)) keepalives.push_back(*set);
    }
  }

  void mention(const std::vector<ProxyInfo>& proxies) { take(pool.on_discovery(proxies, now)); }

  // Lets time pass, ticking whenever the pool asks to be; a pool that wants to be ticked again in
  // the same moment would spin for ever.
  void run(Duration duration) {
    const Time end = now + duration;
    for (;;) {
      const std::optional<Time> due = pool.next_deadline();
      if (!due || *due > end) break;
      EXPECT_GT(*due, last_tick_) << "the pool spins";
      if (*due <= last_tick_) break;
      now = std::max(now, *due);
      last_tick_ = now;
      take(pool.on_tick(now));
    }
    now = end;
  }

  // The oldest dial that has no answer yet.
  Dial next_dial() {
    EXPECT_FALSE(dials.empty()) << "nothing was dialled";
    if (dials.empty()) return {};
    Dial first = dials.front();
    dials.erase(dials.begin());
    return first;
  }
  TunnelId connect(const Dial& dial, const ProxyInfo& proxy) {
    EXPECT_TRUE(pool.may_claim(dial.tunnel, proxy.name));
    take(pool.on_connected(dial.tunnel, proxy, now));
    return dial.tunnel;
  }
  // Answers dials, as they come, until there are none for `quiet`; all proxies are as mentioned.
  void connect_all(Duration quiet = std::chrono::seconds(3)) {
    const Time end = now + std::chrono::minutes(1);
    while (now < end) {
      if (dials.empty()) run(quiet);
      if (dials.empty()) return;
      const Dial dial = next_dial();
      connect(dial, pool.tracker().tracked().at(dial.proxy).info);
    }
    ADD_FAILURE() << "it never stops dialling";
  }

  TunnelId tunnel_to(std::string_view proxy) const {
    for (const TunnelView& tunnel : pool.describe(now).tunnels) {
      if (tunnel.proxy == proxy && tunnel.claimed) return tunnel.id;
    }
    ADD_FAILURE() << "no tunnel to " << proxy;
    return 0;
  }
  std::vector<std::string> proxies() const {
    std::vector<std::string> names = pool.connected_proxies();
    std::ranges::sort(names);
    return names;
  }
  std::vector<std::string> zones() const {
    std::vector<std::string> zones;
    for (const TunnelView& tunnel : pool.describe(now).tunnels) zones.push_back(tunnel.zone);
    std::ranges::sort(zones);
    return zones;
  }

  PoolOptions options;
  Time now{std::chrono::hours(1)};
  AgentPool pool;
  std::vector<Dial> dials;
  std::vector<Drain> drains;
  std::vector<Close> closes;
  std::vector<SetKeepalive> keepalives;

 private:
  Time last_tick_;
};

}  // namespace holdfast::tunnel
