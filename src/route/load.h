// What those who open connections say to the controller, and what they are told: plain values.
//
// A *pool* is the capacity of one service in one zone. A *holder* opens connections: a proxy, or an
// agent whose kernel does. The controller *leases* places of a pool to holders; a place is taken
// while a connection runs. A lease runs out; a holder then keeps to its *fixed share*.
//
//   holder ── LoadReport: what it has, each second, or sooner when it runs short ──► Dealer
//   holder ◄── LoadGrant: what it may have from now on, and for how long ──────────── Dealer
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"

namespace holdfast::route {

inline constexpr uint64_t kNoLimit = UINT64_MAX;

struct PoolKey {
  std::string service{};
  std::string zone{};
  auto operator<=>(const PoolKey&) const = default;
};

// What happens to a connection when every zone is full.
enum class WhenFull : uint8_t { Queue, Overflow, Reject };

// Of one service, as its resource says. A zone that is not named has no limit.
struct Capacity {
  std::map<std::string, uint64_t, std::less<>> zones{};
  WhenFull when_full = WhenFull::Overflow;
  bool operator==(const Capacity&) const = default;
};

// Connections that did not come to be, or were cut, by cause. All of them were opened, and are
// closed.
struct FailedCounts {
  uint64_t refused = 0;
  uint64_t timed_out = 0;
  uint64_t reset = 0;
  uint64_t gave_up = 0;
  uint64_t cut = 0;
  bool operator==(const FailedCounts&) const = default;
};

// One pool as one holder has it. Totals count from the start of the holder, of a kernel from when
// its programs were loaded; a fall means that it began anew.
struct PoolReport {
  PoolKey pool{};
  uint64_t active = 0;  // places taken now
  uint64_t opened = 0;  // from when somebody was asked for them: of a kernel its SYN
  uint64_t closed = 0;
  FailedCounts failed{};
  uint64_t turned_away = 0;  // wanted a place here, found none, and went on
  uint64_t limit = 0;        // what it keeps to now: its lease, or its fixed share; kNoLimit
  bool leased = false;       // `limit` is a lease that has not run out
  uint64_t waiting = 0;      // connections that wait for a place here now
  bool operator==(const PoolReport&) const = default;
};

struct LoadReport {
  std::string holder{};    // "proxy/px-a1"
  std::string zone{};      // its own
  uint64_t boot = 0;       // random, of this life of the holder: totals begin anew with another
  uint64_t number = 0;     // of this report, from 1
  uint64_t grant = 0;      // the latest grant that it has put into force; 0: none
  Duration answered_in{};  // how long answers take lately, those included that were lost
  std::vector<PoolReport> pools{};
};

struct PoolGrant {
  PoolKey pool{};
  uint64_t limit = 0;  // places
  // Once the lease has run out. 0: the dealer does not know yet; what was told before holds.
  uint64_t fixed = 0;
  // Others want what this holder does not need: it gives that back with each report.
  bool scarce = false;
  bool operator==(const PoolGrant&) const = default;
};

// Everything that the holder may have; a limited pool that is not in it has its fixed share.
struct LoadGrant {
  uint64_t number = 0;  // rises; 0: nothing is granted, the report was refused or out of date
  uint64_t report = 0;  // the number of the report that it answers; 0: the one under way
  // Counted from when the report was sent: so the holder never believes longer than the dealer.
  Duration ttl{};
  Duration report_every{};
  std::vector<PoolGrant> pools{};
};

}  // namespace holdfast::route
