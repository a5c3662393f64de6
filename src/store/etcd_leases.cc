#include "store/etcd_leases.h"

#include <algorithm>
#include <iterator>

namespace holdfast::store {
namespace {

// etcd refuses more than this.
constexpr int64_t kMaxTtlSeconds = 9'000'000'000;

int64_t divide_up(int64_t number, int64_t by) {
  return number / by + (number % by > 0 ? 1 : 0);
}

}  // namespace

EtcdLeases::Bucket EtcdLeases::bucket(WallTime expires, WallTime now) const {
  const int64_t width = options_.width.count();
  const int64_t now_ms = now.time_since_epoch().count();
  const int64_t last_ms = now_ms + (kMaxTtlSeconds - 1) * 1000 - width;
  const int64_t at_ms = std::clamp(expires.time_since_epoch().count(), now_ms, last_ms);
  const int64_t index = divide_up(at_ms, width);
  const int64_t ttl = divide_up(index * width - now_ms, 1000);
  return {.index = index, .ttl_seconds = std::max<int64_t>(1, ttl)};
}

std::optional<int64_t> EtcdLeases::find(int64_t index) const {
  const auto found = leases_.find(index);
  if (found == leases_.end()) return std::nullopt;
  return found->second;
}

void EtcdLeases::remember(int64_t index, int64_t lease, WallTime now) {
  const int64_t current = bucket(now, now).index;
  leases_.erase(leases_.begin(), leases_.lower_bound(current));
  leases_[index] = lease;
  if (leases_.size() > options_.max_buckets) leases_.erase(std::prev(leases_.end()));
}

void EtcdLeases::forget_lease(int64_t lease) {
  std::erase_if(leases_, [&](const auto& entry) { return entry.second == lease; });
}

}  // namespace holdfast::store
