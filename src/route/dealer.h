// Deals the places of every pool to those who open connections. Never more than there are, as long
// as reports are true: what a holder may still believe to have counts as given until it has said
// that it no longer has, or its lease has run out.
//
//   report ─► charge: max(what it may believe, what it has) ─► wanted by all ─► grant to this one
//
// Who is in the pool's own zone goes first; others get what is left. What nobody wants stays back,
// for whoever runs short next.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "route/load.h"

namespace holdfast::route {

struct DealerOptions {
  Duration ttl = std::chrono::seconds(5);
  Duration report_every = std::chrono::seconds(1);
  // A dealer that starts does not know who has what: for this long it raises nobody's lease above
  // what the holder says it has.
  Duration warm_up = std::chrono::seconds(5);
  size_t max_holders = 4096;
  size_t max_pools_per_holder = 4096;
};

class Dealer {
 public:
  Dealer(DealerOptions options, Time now);

  void set_services(const std::map<std::string, Capacity, std::less<>>& services);
  // Empty if it is refused: too many holders (counted).
  LoadGrant on_report(const LoadReport& report, Time now);
  // Holders whose leases ran out are forgotten.
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
    uint64_t leased = 0;  // what holders may believe to have
    std::vector<HolderRow> holders{};
  };
  std::vector<PoolRow> rows(Time now) const;
  uint64_t refused_holders() const;
  uint64_t refused_pools() const;

 private:
  // Of the implementer.
};

}  // namespace holdfast::route
