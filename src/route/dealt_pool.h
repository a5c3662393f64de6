// One pool as the dealer sees it: who has what of it, and how it is dealt.
//
//   capacity ─ what runs, and what cannot be taken back
//            ─ for connections that come: own zone, then other zones
//            ─ in case that some come: own zone, then other zones
//            = reserve, for whoever runs short next
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "route/holding.h"
#include "route/load.h"

namespace holdfast::route {

class DealtPool {
 public:
  // `totals`: as they were when the pool was last there.
  DealtPool(PoolKey key, PoolReport totals) : key_(std::move(key)), totals_(std::move(totals)) {}

  void set_capacity(uint64_t capacity) { capacity_ = capacity; }

  struct Told {
    std::string_view holder;
    Holding::Standing standing{};
    // What it had counted when it last reported the pool, if it did not a moment ago.
    std::optional<PoolReport> past{};
    bool counts_anew = true;   // if there is no past: all that it brings is to be counted
    bool is_same_life = true;  // as that of its report before
  };
  void on_report(const Told& told, const PoolReport& report, Time now);
  void doubt(std::string_view holder);
  void run_out(std::string_view holder);
  // What it had counted.
  std::optional<PoolReport> remove(std::string_view holder);

  // What the holder may have from now on, of `holders` that there are. Requires: a capacity, and
  // that the holder has reported.
  PoolGrant deal(std::string_view holder, size_t holders, Time now);
  // The same while it is not known who else has what: it keeps its lease, if it has one.
  std::optional<PoolGrant> keep(std::string_view holder);

  uint64_t capacity() const { return capacity_; }
  uint64_t charged() const { return charged_; }
  // What is left is little, or nothing: what a holder does not need is wanted.
  bool is_scarce() const { return levels_.is_scarce; }
  const PoolKey& key() const { return key_; }
  const std::map<std::string, Holding, std::less<>>& holdings() const { return holdings_; }
  // Counts of all holders since the dealer began: opened, closed, failed, turned_away.
  const PoolReport& totals() const { return totals_; }

 private:
  // How much of each kind of wish is filled.
  struct Levels {
    std::optional<Time> at{};          // when they were reckoned
    uint64_t bound = 0;                // what cannot be taken back now
    std::array<uint64_t, 2> demand{};  // of other zones, of the own
    std::array<uint64_t, 2> comfort{};
    double weights = 0;
    bool is_scarce = false;
  };

  template <typename Change>
  void change(Holding& holding, Change change);
  // Those that fell `begin_anew`, or a part of the pool is not reported any more.
  void count(const PoolReport& before, const PoolReport& after, bool begin_anew);
  void refresh_levels(Time now);
  uint64_t target_of(Holding& holding, Time now) const;
  uint64_t most_for(const Holding& holding) const;
  uint64_t fixed_for(const Holding& holding, size_t holders) const;

  PoolKey key_;
  uint64_t capacity_ = kNoLimit;
  std::map<std::string, Holding, std::less<>> holdings_;
  uint64_t charged_ = 0;
  uint64_t fixed_ = 0;  // what all may believe to be their fixed shares
  Levels levels_;
  PoolReport totals_;
};

}  // namespace holdfast::route
