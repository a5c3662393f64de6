// The checks of all services that an agent exposes. A service is healthy while all of its checks
// say so; one without a check always is.
//
//   set() ──► Check, Check, ... ──on_tick()──► probes to start ──on_outcome()──► services that
//   turned
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "probe/check.h"
#include "probe/probe.h"

namespace holdfast::probe {

struct CheckSpec {
  std::string name{};  // "web", "api/metrics"; each once
  std::string service{};
  Probe probe{};
  CheckTimes times{};
  bool operator==(const CheckSpec&) const = default;
};

using CheckId = uint64_t;  // never used twice

class CheckTable {
 public:
  struct Start {
    CheckId id = 0;
    Probe probe{};
  };
  struct Actions {
    std::vector<Start> start{};
    std::set<std::string> changed{};  // services whose verdict is not what it was
  };
  struct Row {
    std::string name{};
    std::string service{};
    Verdict verdict{};
    CheckStats stats{};  // with those of earlier checks of that name
  };

  explicit CheckTable(uint64_t seed) : rng_(seed) {}

  // All checks, and all services that are exposed from here on. A check that is as before goes on;
  // one that is new or different begins with what was known: a service that was exposed already
  // keeps its verdict until its new check has one, so that a reload never takes a service away that
  // works; one that is exposed for the first time has to show that it works. Outcomes of probes
  // that began before do not count.
  void set(const std::vector<CheckSpec>& specs, const std::vector<std::string>& exposed, Time now);

  Actions on_tick(Time now);
  // Of a probe that was to be started.
  Actions on_outcome(CheckId id, const Outcome& outcome, Time now);
  // Absent: nothing is due before an outcome comes.
  std::optional<Time> next_deadline() const;

  Verdict verdict(std::string_view service) const;
  std::vector<Row> rows() const;

 private:
  struct Entry {
    CheckId id = 0;
    CheckSpec spec{};
    Check check;
  };
  Verdict begin_with(const CheckSpec& spec) const;
  void remember(const Entry& entry);

  Rng rng_;
  CheckId last_id_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;    // by name
  std::map<std::string, CheckStats, std::less<>> past_;  // of checks that are gone
  std::set<std::string, std::less<>> exposed_;
};

}  // namespace holdfast::probe
