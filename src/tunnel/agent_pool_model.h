// A small world around one agent's pool: proxies that crash, freeze, drain, refuse and come back as
// the next generation, links that are slow or gone, and outcomes that nobody tells. What holds all
// the time is checked after every step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "tunnel/agent_pool.h"

namespace holdfast::tunnel {

class PoolWorld {
 public:
  PoolWorld(uint64_t seed, size_t proxies, const PoolSettings& settings)
      : rng_(seed), pool_({.zone = "z0"}, seed, now_) {
    for (size_t i = 0; i < proxies; ++i) {
      const std::string name = "p" + std::to_string(i);
      Proxy proxy;
      proxy.info = {.name = name,
                    .zone = "z" + std::to_string(i % 3),
                    .ttl = std::chrono::seconds(30),
                    .address = name + ":7444"};
      proxies_[name] = proxy;
    }
    carry_out(pool_.on_settings(settings, now_));
    carry_out(pool_.on_bootstrap({"lb:7444"}, now_));
    gossip();
    measure();
  }

  // One thing goes wrong, or right again.
  void disturb() {
    Proxy& proxy = any_proxy();
    switch (rng_.below(9)) {
      case 0:
      case 1:
        return crash(proxy);
      case 2:
        return freeze(proxy);
      case 3:
        return drain(proxy);
      case 4:
        proxy.refuses = !proxy.refuses;
        return;
      case 5:
        return advise_any();
      case 6:
        crash(proxy);
        proxy.info.generation += 1;
        return mend(proxy);
      default:
        return mend(proxy);
    }
  }
  void mend_all() {
    uint64_t generation = 0;
    for (const auto& [name, proxy] : proxies_) {
      generation = std::max(generation, proxy.info.generation);
    }
    for (auto& [name, proxy] : proxies_) {
      mend(proxy);
      proxy.info.generation = generation;
    }
    forgets_outcomes_ = false;
  }

  void run(Duration duration) {
    const Time end = now_ + duration;
    while (!testing::Test::HasFailure()) {
      const Time due = next_due();
      if (due > end) break;
      now_ = due;
      step();
      check();
    }
    now_ = end;
  }

  void stop() { carry_out(pool_.on_stop(now_)); }

  const AgentPool& pool() const { return pool_; }
  PoolView view() const { return pool_.describe(now_); }
  size_t live() const {
    return static_cast<size_t>(std::ranges::count_if(
        links_, [](const auto& one) { return one.second.alive && !one.second.drains; }));
  }
  Duration longest_dark() const { return longest_dark_; }
  // Of everything that was seen, for comparing runs.
  uint64_t hash() const { return hash_; }

 private:
  struct Proxy {
    ProxyInfo info;
    bool up = true;
    bool reachable = true;
    bool refuses = false;
    uint64_t life = 0;
    std::optional<Time> healthy_since = Time(std::chrono::hours(1));
  };
  struct Link {
    std::string proxy;
    bool alive = true;
    bool drains = false;
  };

  void at(Duration delay, std::function<void()> what) {
    events_.emplace(now_ + delay, std::move(what));
  }
  Time next_due() const {
    Time due = events_.begin()->first;  // gossip never ends
    if (const std::optional<Time> tick = pool_.next_deadline()) due = std::min(due, *tick);
    return std::max(due, now_);
  }
  void step() {
    if (events_.begin()->first <= now_) {
      const std::function<void()> what = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      return what();
    }
    carry_out(pool_.on_tick(now_));
    if (const std::optional<Time> tick = pool_.next_deadline()) {
      EXPECT_GT(*tick, now_) << "the pool spins";
    }
  }

  void carry_out(const Actions& actions) {
    for (const Action& action : actions) {
      hash_ = (hash_ ^ (action.index() + 1)) * 0x100000001b3 +
              static_cast<uint64_t>(now_.time_since_epoch().count());
      if (const auto* const dial = std::get_if<Dial>(&action)) begin(*dial);
      if (const auto* const drain = std::get_if<Drain>(&action)) finish(drain->tunnel);
      if (const auto* const close = std::get_if<Close>(&action)) links_.erase(close->tunnel);
    }
  }

  void begin(const Dial& dial) {
    EXPECT_FALSE(!dial.proxy.empty() && pool_.tracker().is_claimed(dial.proxy))
        << dial.proxy << " is claimed and dialled";
    Proxy& proxy = dial.address == "lb:7444" ? any_proxy() : proxies_.at(dial.proxy);
    const TunnelId id = dial.tunnel;
    const std::string name = proxy.info.name;
    if (forgets_outcomes_ && rng_.below(50) == 0) return;
    const Duration wait =
        std::chrono::milliseconds(1 + rng_.below(rng_.below(10) == 0 ? 4'000 : 200));
    if (!proxy.reachable) {
      at(dial.timeout, [this, id] { carry_out(pool_.on_failed(id, now_)); });
    } else {
      at(wait, [this, id, name] { answer(id, proxies_.at(name)); });
    }
  }
  void answer(TunnelId id, Proxy& proxy) {
    if (!proxy.up || !proxy.reachable) return carry_out(pool_.on_failed(id, now_));
    if (proxy.refuses || proxy.info.draining) {
      Refusal refusal{.code = "HF2103"};
      if (rng_.below(2) == 0) refusal.retry_after = std::chrono::seconds(rng_.below(10));
      return carry_out(pool_.on_refused(id, refusal, now_));
    }
    if (!pool_.may_claim(id, proxy.info.name)) {
      return carry_out(pool_.on_already_claimed(id, now_));
    }
    links_[id] = {.proxy = proxy.info.name};
    ProxyInfo welcome = proxy.info;
    welcome.ttl = Duration::zero();
    welcome.address.clear();
    carry_out(pool_.on_connected(id, welcome, now_));
    carry_out(pool_.on_discovery(mentions(), now_));
  }
  void finish(TunnelId id) {
    const auto link = links_.find(id);
    if (link == links_.end()) return;
    link->second.drains = true;
    at(rng_.below(Duration(std::chrono::seconds(20))), [this, id] {
      if (links_.erase(id) == 1) carry_out(pool_.on_drained(id, now_));
    });
  }
  // A dead peer resets at once; a silent one is noticed by the keepalive.
  void cut(const Proxy& proxy, Duration noticed) {
    for (auto& [id, link] : links_) {
      if (link.proxy != proxy.info.name || !link.alive) continue;
      link.alive = false;
      at(noticed, [this, id] {
        links_.erase(id);
        carry_out(pool_.on_lost(id, now_));
      });
    }
  }

  void crash(Proxy& proxy) {
    proxy.up = false;
    proxy.life += 1;
    cut(proxy, std::chrono::milliseconds(10));
  }
  void freeze(Proxy& proxy) {
    proxy.reachable = false;
    cut(proxy, std::chrono::seconds(6));
  }
  void mend(Proxy& proxy) {
    proxy.life += 1;
    proxy.up = proxy.reachable = true;
    proxy.refuses = proxy.info.draining = false;
  }
  void drain(Proxy& proxy) {
    if (!proxy.up || proxy.info.draining) return;
    proxy.info.draining = true;
    advise(proxy.info.name, {.code = "HF2110", .closes_in = std::chrono::seconds(30)});
    at(std::chrono::seconds(30), [this, name = proxy.info.name, life = proxy.life] {
      Proxy& late = proxies_.at(name);
      if (late.life == life) crash(late);
    });
  }
  void advise(const std::string& name, const MoveAdvice& advice) {
    std::vector<TunnelId> advised;
    for (const auto& [id, link] : links_) {
      if (link.proxy == name && link.alive && !link.drains) advised.push_back(id);
    }
    for (const TunnelId id : advised) carry_out(pool_.on_advice(id, advice, now_));
  }
  void advise_any() {
    if (!links_.empty()) advise(links_.begin()->second.proxy, {.code = "HF2111"});
  }

  std::vector<ProxyInfo> mentions() const {
    std::vector<ProxyInfo> up;
    for (const auto& [name, proxy] : proxies_) {
      if (proxy.up) up.push_back(proxy.info);
    }
    return up;
  }
  void gossip() {
    const bool hears =
        std::ranges::any_of(links_, [](const auto& one) { return one.second.alive; });
    if (hears) carry_out(pool_.on_discovery(mentions(), now_));
    at(std::chrono::seconds(5), [this] { gossip(); });
  }
  void measure() {
    std::vector<TunnelId> measured;
    for (const auto& [id, link] : links_) {
      if (link.alive) measured.push_back(id);
    }
    for (const TunnelId id : measured) {
      const Duration sample = std::chrono::microseconds(100 + rng_.below(50'000));
      carry_out(pool_.on_round_trip(id, sample, now_));
    }
    at(std::chrono::seconds(7), [this] { measure(); });
  }
  Proxy& any_proxy() {
    return std::next(proxies_.begin(), static_cast<long>(rng_.below(proxies_.size())))->second;
  }

  void check() {
    const PoolView now = view();
    std::map<std::string, int> claims;
    size_t dialing = 0;
    size_t leased = 0;
    for (const TunnelView& tunnel : now.tunnels) {
      dialing += tunnel.phase == TunnelPhase::Dialing ? 1 : 0;
      leased += tunnel.leased ? 1 : 0;
      if (tunnel.claimed) EXPECT_EQ(++claims[tunnel.proxy], 1) << "two claims of " << tunnel.proxy;
    }
    EXPECT_LE(dialing, 4u);
    EXPECT_EQ(leased, now.inflight) << "a lease without a dial";
    EXPECT_EQ(claims.size(), now.claimed) << "a claim without a tunnel";
    note_darkness();
  }
  void note_darkness() {
    if (live() > 0) {
      dark_since_.reset();
    } else if (!dark_since_) {
      dark_since_ = now_;
    }
    for (auto& [name, proxy] : proxies_) {
      const bool healthy = proxy.up && proxy.reachable && !proxy.refuses && !proxy.info.draining;
      if (!healthy) {
        proxy.healthy_since.reset();
      } else if (!proxy.healthy_since) {
        proxy.healthy_since = now_;
      }
      if (!dark_since_ || !proxy.healthy_since) continue;
      longest_dark_ = std::max(longest_dark_, now_ - std::max(*dark_since_, *proxy.healthy_since));
    }
  }

  Rng rng_;
  Time now_{std::chrono::hours(1)};
  AgentPool pool_;
  std::map<std::string, Proxy> proxies_;
  std::map<TunnelId, Link> links_;
  std::multimap<Time, std::function<void()>> events_;
  bool forgets_outcomes_ = true;
  std::optional<Time> dark_since_;
  Duration longest_dark_{0};
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace holdfast::tunnel
