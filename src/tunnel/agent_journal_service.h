// What becomes of an agent's tunnels, counted and logged: one line for each change, and none for a
// failure that is the same as the last one there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "tunnel/agent_pool_types.h"
#include "tunnel/agent_tunnel_service.h"
#include "tunnel/recovery.h"

namespace holdfast::tunnel {

struct AgentStats {
  uint64_t dials = 0;
  std::map<std::string, uint64_t> failures{};  // of dials, by code: "HF2020"; "other"
  uint64_t connected = 0;                      // tunnels that were made
  uint64_t claims_refused = 0;                 // the proxy that answered was had already
  uint64_t advised = 0;                        // to move
  uint64_t drained = 0;                        // tunnels that ended because someone wanted it
  uint64_t lost = 0;                           // and those that did not
  std::map<std::string, uint64_t> losses{};    // of these, by code
  uint64_t recoveries = 0;                     // times that there were enough again after a loss
  Duration last_recovery{0};                   // how long that took
  Duration recovery_sum{0};
  size_t tunnels = 0;  // that take streams now
  size_t wanted = 0;   // as many as there should be, with the proxies there are
};

class AgentJournal {
 public:
  void dialled() { ++stats_.dials; }
  void connected(const ProxyInfo& proxy, const std::string& address);
  void advised(const std::string& proxy, const MoveAdvice& advice);
  void drains(const std::string& proxy, std::string_view code, std::string_view why);
  // What became of it. The tunnel's proxy is known unless it failed early.
  void ended(const TunnelEnd& end, const std::string& proxy, const std::string& address, Time now);
  // After each change.
  void observe(const PoolView& view, Time now);

  const AgentStats& stats() const { return stats_; }
  // Of the newest dial that failed since a tunnel was last made; empty if none.
  const std::string& last_failure() const { return last_failure_; }

 private:
  void failed(const Status& why, const std::string& address);

  AgentStats stats_;
  Recovery recovery_;
  std::string last_failure_;
  std::string shortfall_code_;                  // that was logged last
  std::set<std::string> told_;                  // proxies whose advice was logged
  std::map<std::string, std::string> failing_;  // address -> the code that was logged
};

}  // namespace holdfast::tunnel
