// One pool as the dealer sees it: who has what of it, and how it is dealt.
//
//   capacity ─ what runs, and what cannot be taken back
//            ─ for connections that come: own zone, then other zones
//            ─ in case that some come: own zone, then other zones
//            = reserve, for whoever runs short next
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "route/holding.h"
#include "route/load.h"

namespace holdfast::route {

class DealtPool {
 public:
  explicit DealtPool(PoolKey key) : key_(std::move(key)) {}

  void set_capacity(uint64_t capacity) { capacity_ = capacity; }

  struct Told {
    std::string_view holder;
    bool is_local = false;
    bool acknowledges = false;
    bool counts_anew = true;  // its totals began at 0 when this dealer did not look
  };
  void on_report(const Told& told, const PoolReport& report, Time now);
  void doubt(std::string_view holder);
  void run_out(std::string_view holder);
  void remove(std::string_view holder);

  // What the holder may have from now on. With `keep` what it has. Requires: a capacity, and
  // that the holder has reported.
  PoolGrant deal(std::string_view holder, uint64_t fixed, bool keep, Time now);

  uint64_t capacity() const { return capacity_; }
  uint64_t charged() const { return charged_; }
  // Connections come that cannot all have a place.
  bool is_tight() const { return levels_.is_tight; }
  const PoolKey& key() const { return key_; }
  const std::map<std::string, Holding, std::less<>>& holdings() const { return holdings_; }
  // Counts of all holders since the dealer began: opened, closed, failed, turned_away.
  const PoolReport& totals() const { return totals_; }

 private:
  // How much of each kind of wish is filled.
  struct Levels {
    uint64_t demand[2]{};  // of other zones, of the own
    uint64_t comfort[2]{};
    uint64_t bound = 0;  // what cannot be taken back now
    bool is_tight = false;
    Time at{};
  };

  template <typename Change>
  void change(Holding& holding, Change change);
  void count(const PoolReport& before, const PoolReport& after);
  void refresh_levels(Time now);
  uint64_t target_of(Holding& holding, Time now) const;

  PoolKey key_;
  uint64_t capacity_ = kNoLimit;
  std::map<std::string, Holding, std::less<>> holdings_;
  uint64_t charged_ = 0;
  uint64_t fixed_ = 0;  // what all may believe to be their fixed shares
  Levels levels_;
  PoolReport totals_;
};

}  // namespace holdfast::route
