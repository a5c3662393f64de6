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
  void disturb();
  void mend_all();

  // The proxies of our tunnels expire, though the tunnels live.
  void mute_ours() {
    for (const auto& [id, link] : links_) proxies_.at(link.proxy).muted = true;
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
    bool muted = false;  // nobody mentions it, so that it expires
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

  void begin(const Dial& dial);
  void answer(TunnelId id, Proxy& proxy);
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
    proxy.refuses = proxy.muted = proxy.info.draining = false;
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
      if (proxy.up && !proxy.muted) up.push_back(proxy.info);
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

  void check();
  void note_darkness();

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
