// One check of a service: when to probe it, and what its outcomes say of its health. The rules are
// the kubelet's for readiness; what differs is said where it does.
//
//             success_threshold successes in a row
//   unhealthy ────────────────────────────────────► healthy
//             ◄────────────────────────────────────
//             failure_threshold failures in a row
//
// An error of the prober itself is tried again at once, three times in all, and then counts as if
// nobody had asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/rng.h"
#include "probe/probe.h"

namespace holdfast::probe {

// The time for one probe is the probe's own.
struct CheckTimes {
  Duration initial_delay{0};
  // The kubelet has 10 s. Clients of a tunnel have no second load balancer in front of them that
  // would notice sooner, and a probe costs one connection on the agent's own side of the network.
  Duration period = std::chrono::seconds(5);
  uint32_t failure_threshold = 3;
  uint32_t success_threshold = 1;
  bool operator==(const CheckTimes&) const = default;
};

struct Verdict {
  bool healthy = false;
  std::string reason{};  // of an unhealthy one: one line for people
  bool operator==(const Verdict&) const = default;
};
// What a service begins with whose application nobody knows yet.
Verdict not_checked_yet();

struct CheckStats {
  uint64_t succeeded = 0;
  uint64_t failed = 0;
  uint64_t thrown_away = 0;  // errors, after their last try
  uint64_t turned = 0;       // from healthy to unhealthy, or back
  void add(const CheckStats& other);
};

class Check {
 public:
  // The first probe comes within a second after the delay, so that little time passes in which
  // nothing is known; the second half a period to one and a half after it, so that many agents that
  // start together do not probe together for ever.
  Check(const CheckTimes& times, Verdict begin, Rng& rng, Time now);

  // True: probe now, and come back with on_outcome().
  bool on_tick(Time now);
  // Absent while a probe is under way.
  std::optional<Time> next_deadline() const;

  struct Told {
    bool again = false;    // probe at once; on_outcome() is to follow
    bool changed = false;  // the verdict is not what it was
  };
  // Requires: a probe is under way.
  Told on_outcome(const Outcome& outcome, Time now);

  const Verdict& verdict() const { return verdict_; }
  const CheckStats& stats() const { return stats_; }

 private:
  Told throw_away(const Outcome& outcome, Time now);
  bool explain(std::string reason, Time now);
  void wait(Time now);

  CheckTimes times_;
  Verdict verdict_;
  CheckStats stats_;
  Time next_{};
  Time began_{};     // the probe that is under way
  Duration gap_{0};  // to the next one
  bool probing_ = false;
  bool judged_ = false;  // some outcome counted
  uint32_t tries_ = 0;   // of this probe, that were errors
  bool run_of_ = false;  // what the last outcomes were
  uint32_t run_ = 0;     // how many of them
  std::optional<Time> explained_at_;
};

}  // namespace holdfast::probe
