// Which tunnel is advised to move, and when: for a drain all of them spread over a while, and else
// each one an interval and a jitter after it came, over and over. Never more than a rate.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "tunnel/tunnel_table.h"

namespace holdfast::tunnel {

class AdviceSchedule {
 public:
  // `per_second`: at most so many are due in any second; above zero.
  AdviceSchedule(uint32_t per_second, uint64_t seed);

  // Replaces all: these, in a random order, evenly over `over`, at no more than the rate unless
  // that would take longer than `at_most`, which then becomes the rate.
  struct Spread {
    Duration over{};
    Duration at_most{};
  };
  void spread(std::vector<TunnelId> tunnels, const Spread& spread, Time now);
  // One more, at a random time within `within`.
  void add(TunnelId tunnel, Duration within, Time now);
  void remove(TunnelId tunnel);
  void clear();

  // Those whose time has come.
  std::vector<TunnelId> take_due(Time now);
  std::optional<Time> next_deadline() const;
  size_t size() const { return at_.size(); }
  bool empty() const { return at_.empty(); }

 private:
  void put(TunnelId tunnel, Time at);

  Duration gap_;  // between two
  Rng rng_;
  std::optional<Time> next_free_;  // when the rate allows another
  std::set<std::pair<Time, TunnelId>> order_;
  std::map<TunnelId, Time> at_;
};

// Advice to each tunnel every now and then, which evens out the load after a failure.
class PeriodicAdvice {
 public:
  // `per_second` as above.
  PeriodicAdvice(uint32_t per_second, uint64_t seed) : schedule_(per_second, seed) {}

  // Absent: never. Each tunnel is advised interval + [0, interval/2) after it came or was last
  // advised.
  void set_interval(std::optional<Duration> interval, const std::vector<TunnelId>& tunnels,
                    Time now);
  void tunnel_added(TunnelId tunnel, Time now);
  void tunnel_gone(TunnelId tunnel) { schedule_.remove(tunnel); }
  std::vector<TunnelId> take_due(Time now);
  std::optional<Time> next_deadline() const { return schedule_.next_deadline(); }

 private:
  AdviceSchedule schedule_;
  std::optional<Duration> interval_;
};

}  // namespace holdfast::tunnel
