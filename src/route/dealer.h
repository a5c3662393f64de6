// Deals the places of every pool to those who open connections. Never more than there are, as long
// as reports are true: what a holder may still believe to have counts as given until it has said
// that it no longer has, or its lease has run out.
//
//   report ─► charge: max(what it may believe, what it has) ─► wanted by all ─► grant to this one
//
// Who is in the pool's own zone goes first; others get what is left. What nobody wants stays back,
// for whoever runs short next. Each pool is dealt by its DealtPool.
//
//   a holder falls silent ──ttl──► its fixed share is held for it ──forget_after──► forgotten
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "route/dealt_pool.h"
#include "route/load.h"
#include "route/past_counts.h"

namespace holdfast::route {

struct DealerOptions {
  Duration ttl = std::chrono::seconds(5);
  Duration report_every = std::chrono::seconds(1);
  // A dealer that starts does not know who has what: for this long it raises nobody's lease above
  // what the holder says it has.
  Duration warm_up = std::chrono::seconds(5);
  // A holder that is silent may only be out of reach, and serve: so long its fixed share is held.
  Duration forget_after = std::chrono::seconds(30);
  size_t max_holders = 4096;
  size_t max_pools_per_holder = 4096;
  // What holders had counted of pools that they no longer report, and what pools had that are gone.
  size_t max_past_counts = 65'536;
};

class Dealer {
 public:
  Dealer(DealerOptions options, Time now);

  void set_services(const std::map<std::string, Capacity, std::less<>>& services);
  // Empty (its number is 0) if it is refused: too many holders (counted), or an old report.
  LoadGrant on_report(const LoadReport& report, Time now);
  // What depends on time alone: leases that ran out, holders that are forgotten.
  void on_tick(Time now);

  struct HolderRow {
    std::string holder{};
    std::string zone{};
    Duration heard_ago{};
    PoolReport report{};
    uint64_t leased = 0;
  };
  struct PoolRow {
    PoolKey pool{};
    uint64_t capacity = kNoLimit;
    uint64_t active = 0;
    uint64_t leased = 0;   // what holders may believe to have
    uint64_t charged = 0;  // what is not free: the same, or what runs, or is held for the silent
    // Of all holders, those that are gone too, since this dealer began: opened, closed, failed,
    // turned_away.
    PoolReport totals{};
    std::vector<HolderRow> holders{};
  };
  std::vector<PoolRow> rows(Time now) const;
  Time began() const { return began_; }
  size_t holder_count() const { return holders_.size(); }
  uint64_t refused_holders() const { return refused_holders_; }
  uint64_t refused_pools() const { return refused_pools_; }
  // Since this is not 0, a pool that a holder has not reported lately counts from what it brings.
  uint64_t forgotten_counts() const { return past_.forgotten(); }

 private:
  // Of a life that is over; its late reports are refused for a while. Not for ever: whose report
  // was late is only a guess.
  struct PastBoot {
    uint64_t boot = 0;
    Time until{};
  };
  struct Holder {
    std::string zone{};
    uint64_t boot = 0;
    std::vector<PastBoot> past_boots{};
    uint64_t number = 0;   // of its latest report
    uint64_t granted = 0;  // the number of its latest grant
    Time heard_at{};
    Time acknowledged_at{};
    Time leased_until{};
    std::set<PoolKey> pools{};
  };

  Holder* admit(const LoadReport& report, Time now);
  bool is_old(const Holder& holder, const LoadReport& report, Time now) const;
  void hear(Holder& holder, const LoadReport& report, Time now);
  DealtPool& pool_of(const PoolKey& key);
  void leave(std::string_view name, const PoolKey& key);
  uint64_t capacity_of(const PoolKey& key) const;
  bool may_spill(const PoolKey& own) const;
  LoadGrant grant(Holder& holder, const LoadReport& report, Time now);
  Duration often() const;

  DealerOptions options_;
  Time began_;
  std::map<std::string, Capacity, std::less<>> services_;
  std::map<PoolKey, DealtPool> pools_;
  std::map<std::string, Holder, std::less<>> holders_;
  PastCounts past_;         // of holders
  PastCounts past_totals_;  // of pools
  Time next_sweep_{};
  uint64_t refused_holders_ = 0;
  uint64_t refused_pools_ = 0;
};

}  // namespace holdfast::route
