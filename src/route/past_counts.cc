#include "route/past_counts.h"

namespace holdfast::route {

void PastCounts::keep(std::string_view holder, const PoolKey& pool, const PoolReport& counts) {
  take(holder, pool);
  const Key key{pool, std::string(holder)};
  kept_[key] = {.counts = counts, .turn = ++turns_};
  by_age_[turns_] = key;
  if (kept_.size() <= most_) return;
  kept_.erase(by_age_.begin()->second);
  by_age_.erase(by_age_.begin());
  ++forgotten_;
}

std::optional<PoolReport> PastCounts::take(std::string_view holder, const PoolKey& pool) {
  if (kept_.empty()) return std::nullopt;
  const auto found = kept_.find(Key{pool, std::string(holder)});
  if (found == kept_.end()) return std::nullopt;
  PoolReport counts = std::move(found->second.counts);
  by_age_.erase(found->second.turn);
  kept_.erase(found);
  return counts;
}

}  // namespace holdfast::route
