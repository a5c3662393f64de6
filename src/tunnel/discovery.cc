#include "tunnel/discovery.h"

#include <algorithm>
#include <ranges>

#include "resource/proto_time.h"

namespace holdfast::tunnel {

namespace {

v1::DiscoveredProxy to_proto(const ProxyFacts& facts, Duration ttl) {
  v1::DiscoveredProxy proxy;
  proxy.set_name(facts.name);
  proxy.set_zone(facts.zone);
  proxy.set_group(facts.group);
  proxy.set_generation(facts.generation);
  proxy.set_tunnel_address(facts.tunnel_address);
  proxy.set_draining(facts.draining);
  *proxy.mutable_ttl() = resource::to_proto(ttl);
  return proxy;
}

}  // namespace

Discovery::Discovery(DiscoveryOptions options, uint64_t seed)
    : options_(std::move(options)), rng_(seed) {}

Duration Discovery::resync_interval() const {
  return std::min(options_.max_resync, options_.ttl * 2 / 3);
}

Duration Discovery::refresh_interval() const {
  return options_.ttl / 3;
}

void Discovery::set_ttl(Duration ttl, Time now) {
  if (ttl == options_.ttl) return;
  options_.ttl = ttl;
  self_due_ = std::min(self_due_, now + refresh_interval());
  built_.clear();
}

Discovery::Known* Discovery::known(std::string_view name) {
  if (const auto found = proxies_.find(name); found != proxies_.end()) return &found->second;
  if (proxies_.size() >= options_.max_proxies) {
    ++stats_.refused;
    return nullptr;
  }
  return &proxies_[std::string(name)];
}

void Discovery::hear(Known& known, Time now) {
  known.heard = now;
  ++stats_.heard;
  tell(known);
}

void Discovery::tell(Known& known) {
  by_version_.erase(known.version);
  known.version = ++version_;
  by_version_.emplace(version_, &known);
  built_.clear();
}

void Discovery::set_self(const ProxyFacts& facts, Time now) {
  Known& self = proxies_[options_.self];
  self.facts = facts;
  self.facts.name = options_.self;
  hear(self, now);
  self_due_ = now + refresh_interval();
}

void Discovery::on_tick(Time now) {
  if (now < self_due_) return;
  if (const auto self = proxies_.find(options_.self); self != proxies_.end()) {
    hear(self->second, now);
  }
  self_due_ = now + refresh_interval();
}

void Discovery::entry(const Entry& entry, Time now) {
  if (entry.facts.name == options_.self) return;
  Known* proxy = known(entry.facts.name);
  if (proxy == nullptr) return;
  const bool changed = proxy->facts != entry.facts;
  proxy->facts = entry.facts;
  const bool beat = proxy->heartbeat != entry.heartbeat;
  proxy->heartbeat = entry.heartbeat;
  if (beat && !entry.offline) {
    hear(*proxy, now);
  } else if (changed && proxy->version != 0) {
    tell(*proxy);
  }
}

void Discovery::entry_gone(std::string_view name) {
  const auto found = proxies_.find(name);
  if (found == proxies_.end() || name == options_.self) return;
  by_version_.erase(found->second.version);
  proxies_.erase(found);
  built_.clear();
}

void Discovery::peer_alive(std::string_view name, Time now) {
  const auto found = proxies_.find(name);
  if (found == proxies_.end() || name == options_.self) return;
  Known& proxy = found->second;
  if (!proxy.heard || now - *proxy.heard >= refresh_interval()) hear(proxy, now);
}

std::vector<Discovery::Bytes> Discovery::take(Cursor& cursor, Time now) {
  const Duration interval = resync_interval();
  // It was set when the TTL was longer.
  if (cursor.resync_at && *cursor.resync_at > now + interval) {
    cursor.resync_at = now + rng_.below(interval);
  }
  const bool full = !cursor.resync_at || *cursor.resync_at <= now;
  if (!full && cursor.version == version_) return {};
  std::vector<Bytes> messages = messages_after(full ? 0 : cursor.version, now);
  cursor.version = version_;
  // The first resync comes sooner or later, so that tunnels that came together part.
  if (!cursor.resync_at) {
    cursor.resync_at = now + interval / 2 + rng_.below(interval / 2);
  } else if (full) {
    cursor.resync_at = now + interval;
  }
  return messages;
}

const std::vector<Discovery::Bytes>& Discovery::messages_after(uint64_t version, Time now) {
  if (built_.empty() || now >= built_until_) {
    built_.clear();
    built_until_ = now + options_.ttl;
    for (const Known* proxy : by_version_ | std::views::values) {
      if (is_current(*proxy, now) && proxy->facts.name != options_.self) {
        built_until_ = std::min(built_until_, *proxy->heard + options_.ttl);
      }
    }
  }
  const auto [built, is_new] = built_.try_emplace(version);
  if (is_new) built->second = build(version, now);
  return built->second;
}

std::vector<Discovery::Bytes> Discovery::build(uint64_t version, Time now) {
  std::vector<Bytes> messages;
  v1::TunnelMessage message;
  size_t bytes = 0;
  const auto finish = [&] {
    message.mutable_discovery()->set_full(version == 0);
    messages.push_back(std::make_shared<const std::string>(message.SerializeAsString()));
    ++stats_.messages_built;
    message.Clear();
    bytes = 0;
  };
  for (auto it = by_version_.upper_bound(version); it != by_version_.end(); ++it) {
    const Known& proxy = *it->second;
    if (!is_current(proxy, now)) continue;
    v1::DiscoveredProxy told = to_proto(proxy.facts, options_.ttl);
    const size_t size = told.ByteSizeLong() + 8;
    if (size + 16 > options_.max_message_bytes) continue;  // no such name or address is real
    if (bytes + size + 16 > options_.max_message_bytes) finish();
    bytes += size;
    *message.mutable_discovery()->add_proxies() = std::move(told);
  }
  if (bytes > 0) finish();
  return messages;
}

bool Discovery::is_current(const Known& proxy, Time now) const {
  return proxy.heard && (proxy.facts.name == options_.self || now - *proxy.heard < options_.ttl);
}

std::vector<ProxyFacts> Discovery::current(Time now) const {
  std::vector<ProxyFacts> result;
  for (const Known& proxy : proxies_ | std::views::values) {
    if (is_current(proxy, now)) result.push_back(proxy.facts);
  }
  return result;
}

}  // namespace holdfast::tunnel
