// What was counted of pools that are not reported now. Who reports one again goes on from there: a
// kernel counts on while its agent is away, or has no zone to report it for. So nothing is counted
// twice.
//
//   leaves ─keep()─► kept, the oldest forgotten when there are too many ─take()─► is back
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "route/load.h"

namespace holdfast::route {

class PastCounts {
 public:
  explicit PastCounts(size_t most) : most_(most) {}

  void keep(std::string_view holder, const PoolKey& pool, const PoolReport& counts);
  std::optional<PoolReport> take(std::string_view holder, const PoolKey& pool);

  size_t size() const { return kept_.size(); }
  uint64_t forgotten() const { return forgotten_; }

 private:
  using Key = std::pair<PoolKey, std::string>;
  struct Kept {
    PoolReport counts{};
    uint64_t turn = 0;
  };

  size_t most_;
  std::map<Key, Kept> kept_;
  std::map<uint64_t, Key> by_age_;
  uint64_t turns_ = 0;
  uint64_t forgotten_ = 0;
};

}  // namespace holdfast::route
