// What this node may have of each pool: what the controller leased to it, for as long as that
// holds, then its fixed share. And the other way: what the kernel counted, as a report of those
// pools.
//
//   LoadGrant ──on_grant()──┐
//   an earlier life ─adopt()┼─► limit(): Limit of each port and zone, and when the lease ends
//   capacity / holders ─────┘
//   counts ──────────────────► reports(): PoolReport of each pool
//
//   lease ──ttl──► the smaller of lease and fixed share ──ttl──► fixed share
//
// The kernel itself falls back when the lease has run out: nobody has to be there for it. It knows
// one end for all zones of a VIP; where zones differ it is told what is safe, and the agent, if it
// lives, tells the next step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "route/load.h"
#include "track/plan.h"
#include "track/totals.h"

namespace holdfast::track {

// One port in one zone, as the kernel counts it.
struct PortUse {
  uint32_t places = 0;  // taken now
  TotalsRow totals{};
};
using PortZone = std::pair<Vip, uint8_t>;
using Usage = std::map<PortZone, PortUse>;

class Leases {
 public:
  // As many as share the capacity of a zone while nobody deals it, this node included.
  void set_holders(size_t holders) { holders_ = holders; }
  // What the maps hold from an earlier life of this agent: a share that was dealt goes on until
  // somebody deals again.
  void adopt(const Snapshot& present);
  // `asked`: when the report was sent that it answers. A lease counts from there, so that it ends
  // here no later than where it was dealt. Nothing happens if it is older than the one in force.
  // True if less is leased than before: others can have it once the dealer hears of it.
  bool on_grant(const route::LoadGrant& grant, Time asked);
  // Before a report: what is scarce and not needed is given back, but for one place. The report is
  // true only once the kernel was told.
  void give_back_spare(const Plan& plan, const Usage& usage);

  // Fills in limits and ends of leases. True if they are not what they were at the last call.
  bool limit(Plan& plan, const Usage& usage, Time now);

  // The pools of the plan, with what their ports counted that are no longer in it: totals never
  // fall. Connections that found no place go to the pools that are full.
  std::vector<route::PoolReport> reports(const Plan& plan, const Usage& usage, Time now) const;
  // How many connections found no place in the zone they wanted, since the kernel began to count.
  void on_turned_away(const Plan& plan, const Usage& usage, uint64_t total, Time now);
  // Less than a fifth of some lease is left, or less than two places, and there may be more.
  bool runs_short(const Plan& plan, const Usage& usage, Time now) const;
  uint64_t grant_in_force() const { return grant_; }

 private:
  struct Pool {
    std::vector<PortZone> ports{};
    std::optional<uint32_t> lease{};
    uint32_t fixed = HF_UNLIMITED;
  };
  // What the kernel was told of a port.
  struct Told {
    std::map<uint8_t, Limit> limits{};
    uint64_t lease_end_ns = 0;
    bool operator==(const Told&) const = default;
  };
  std::map<route::PoolKey, Pool> pools_of(const Plan& plan) const;
  uint32_t fixed_of(const route::PoolKey& key, uint64_t capacity, const Pool& pool) const;
  std::optional<uint32_t> adopted(const Pool& pool) const;
  static uint64_t taken(const Pool& pool, const Usage& usage);
  void note_ports(const Plan& plan, const Usage& usage);
  void split(const Pool& pool, const Usage& usage, std::map<PortZone, Limit>& limits) const;
  uint32_t limit_of(const Pool& pool, Time now) const;
  void put_in(PlannedPort& port, const std::map<PortZone, Limit>& limits, Time now) const;
  bool is_full(const PortZone& port, const Usage& usage, Time now) const;
  bool holds(Time now) const { return ends_ && now < *ends_; }

  size_t holders_ = 1;
  uint64_t grant_ = 0;
  std::map<route::PoolKey, uint32_t> leased_;  // by the latest grant
  std::set<route::PoolKey> scarce_;
  std::map<route::PoolKey, uint32_t> fixed_;  // by the latest that told one
  std::optional<Time> ends_;
  Duration ttl_{};
  std::map<PortZone, uint32_t> adopted_;  // fixed shares
  std::map<PortZone, Limit> limits_;      // of each port, lease and fixed share
  std::map<Vip, Told> told_;
  std::optional<uint64_t> turned_away_;
  std::map<route::PoolKey, uint64_t> turned_away_from_;
  // What the kernel has counted of these belongs to these pools, also if the plan is without them.
  std::map<PortZone, route::PoolKey> counted_as_;
};

}  // namespace holdfast::track
