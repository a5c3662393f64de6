#include "tunnel/tracker.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::tunnel {

Lease::Lease(Lease&& other) noexcept
    : tracker_(std::exchange(other.tracker_, nullptr)), proxy_(std::move(other.proxy_)) {
  other.proxy_.clear();
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  release();
  tracker_ = std::exchange(other.tracker_, nullptr);
  proxy_ = std::exchange(other.proxy_, {});
  return *this;
}

bool Lease::claim(std::string_view proxy) {
  HF_CHECK(is_held() && proxy_.empty() && !proxy.empty(), "a lease claims one proxy, once");
  if (!tracker_->claim(proxy)) return false;
  proxy_ = proxy;
  return true;
}

void Lease::release() {
  if (Tracker* const tracker = std::exchange(tracker_, nullptr)) tracker->release(proxy_);
  proxy_.clear();
}

bool Tracker::mention(const ProxyInfo& proxy, Time now) {
  if (!is_acceptable(proxy)) {
    stats_.ignored_bad += 1;
    return false;
  }
  auto found = tracked_.find(proxy.name);
  const bool is_new = found == tracked_.end();
  if (is_new && tracked_.size() >= options_.max_proxies) {
    stats_.ignored_full += 1;
    return false;
  }
  if (is_new) found = tracked_.emplace(proxy.name, TrackedProxy{}).first;
  ProxyInfo& known = found->second.info;
  const bool moved = known.group != proxy.group || known.generation != proxy.generation ||
                     known.draining != proxy.draining;
  std::string address = proxy.address.empty() ? std::move(known.address) : proxy.address;
  const Duration ttl = proxy.ttl > Duration::zero() ? proxy.ttl : known.ttl;
  known = proxy;
  known.address = std::move(address);
  known.ttl = ttl;
  found->second.expires =
      now + (ttl > Duration::zero() ? std::min(ttl, options_.max_ttl) : options_.default_ttl);
  if (is_new || moved) topology_changed(now);
  changed();
  return true;
}

bool Tracker::is_acceptable(const ProxyInfo& proxy) const {
  return !proxy.name.empty() &&
         std::ranges::all_of(
             std::initializer_list<size_t>{proxy.name.size(), proxy.zone.size(), proxy.group.size(),
                                           proxy.address.size()},
             [&](size_t bytes) { return bytes <= options_.max_text_bytes; });
}

std::vector<TrackedProxy> Tracker::expire(Time now) {
  std::vector<TrackedProxy> expired;
  for (auto at = tracked_.begin(); at != tracked_.end();) {
    if (at->second.expires > now) {
      ++at;
      continue;
    }
    expired.push_back(std::move(at->second));
    at = tracked_.erase(at);
  }
  stats_.expired += expired.size();
  if (!expired.empty()) topology_changed(now);
  return expired;
}

std::optional<Time> Tracker::next_deadline() const {
  std::optional<Time> first;
  for (const auto& [name, proxy] : tracked_) {
    first = first ? std::min(*first, proxy.expires) : proxy.expires;
  }
  return first;
}

void Tracker::set_connection_count(uint32_t count, Time now) {
  if (count == options_.connection_count) return;
  options_.connection_count = count;
  topology_changed(now);
}

// A generation all of whose proxies drain is being taken back: it no longer outranks the older one.
void Tracker::topology_changed(Time now) {
  generations_.clear();
  for (const auto& [name, proxy] : tracked_) {
    if (proxy.info.draining) continue;
    uint64_t& highest = generations_[proxy.info.group];
    highest = std::max(highest, proxy.info.generation);
  }
  last_topology_change_ = now;
  changed();
}

std::optional<Lease> Tracker::try_lease() {
  if (!denied_) {
    stats_.evaluations += 1;
    denied_ = !may_lease();
  }
  if (denied_) {
    stats_.denied += 1;
    return std::nullopt;
  }
  inflight_ += 1;
  changed();
  return Lease(*this);
}

// The second rule is for an agent to whom nobody mentions proxies any more: without it, it would
// wait for ever.
bool Tracker::may_lease() const {
  if (desired_count() > claimed_desired() + inflight_) return true;
  return inflight_ == 0 && (claimed_.empty() || tracked_.empty());
}

bool Tracker::claim(std::string_view proxy) {
  if (!claimed_.emplace(proxy).second) {
    stats_.already_claimed += 1;
    return false;
  }
  inflight_ -= 1;
  changed();
  return true;
}

void Tracker::release(const std::string& claimed) {
  if (claimed.empty()) {
    HF_CHECK(inflight_ > 0, "a lease under way is counted");
    inflight_ -= 1;
  } else {
    HF_CHECK(claimed_.erase(claimed) == 1, "a claim is released once");
    leaving_.erase(claimed);
  }
  changed();
}

void Tracker::set_leaving(std::string_view proxy, bool leaving) {
  if (leaving && is_claimed(proxy)) leaving_.emplace(proxy);
  if (!leaving) {
    const auto found = leaving_.find(proxy);
    if (found != leaving_.end()) leaving_.erase(found);
  }
  changed();
}

bool Tracker::is_desired(std::string_view proxy) const {
  const auto found = tracked_.find(proxy);
  if (found == tracked_.end()) return false;
  const ProxyInfo& info = found->second.info;
  if (info.draining || leaving_.contains(proxy)) return false;
  const auto highest = generations_.find(info.group);
  return highest != generations_.end() && highest->second == info.generation;
}

size_t Tracker::desired() const {
  return static_cast<size_t>(
      std::ranges::count_if(tracked_, [&](const auto& one) { return is_desired(one.first); }));
}

size_t Tracker::desired_count() const {
  const size_t all = desired();
  return options_.connection_count == 0 ? all : std::min<size_t>(all, options_.connection_count);
}

size_t Tracker::claimed_desired() const {
  return static_cast<size_t>(
      std::ranges::count_if(claimed_, [&](const auto& name) { return is_desired(name); }));
}

}  // namespace holdfast::tunnel
