// What goes wrong in the world around an agent's pool, how its dials end, and what must hold.
#include "tunnel/agent_pool_model.h"

namespace holdfast::tunnel {

void PoolWorld::disturb() {
  Proxy& proxy = any_proxy();
  switch (rng_.below(10)) {
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
    case 7:
      proxy.muted = !proxy.muted;
      return;
    default:
      return mend(proxy);
  }
}

void PoolWorld::mend_all() {
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

void PoolWorld::begin(const Dial& dial) {
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

void PoolWorld::answer(TunnelId id, Proxy& proxy) {
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

void PoolWorld::check() {
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

void PoolWorld::note_darkness() {
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

}  // namespace holdfast::tunnel
