// What a management server of another control plane is told of our load, in the terms of xDS load
// reporting: clusters (services), localities (zones), and counts since the report before.
//
//   server ── asks: which clusters, how often ──► LoadStats ── due ──► make(rows) ──► sent()
//
// What was made and could not be sent is in the next report: a count is told once, or later.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "route/dealer.h"

namespace holdfast::route {

struct LocalityLoad {
  std::string zone{};
  uint64_t active = 0;
  uint64_t opened = 0;  // since the report before, as the rest
  uint64_t closed = 0;
  uint64_t failed = 0;  // refused, timed out, given up: they did not come to be
  bool operator==(const LocalityLoad&) const = default;
};

struct ClusterLoad {
  std::string service{};
  Duration interval{};  // that it is about
  std::vector<LocalityLoad> localities{};
  bool operator==(const ClusterLoad&) const = default;
};

class LoadStats {
 public:
  // At most so often, and at least; a server may ask for anything.
  static constexpr Duration kShortest = std::chrono::seconds(1);
  static constexpr Duration kLongest = std::chrono::hours(1);

  struct Asked {
    bool all = false;
    std::set<std::string> services{};
    Duration interval{};  // zero: as often as may be
  };
  using Rows = std::vector<Dealer::PoolRow>;
  // What was counted before a service was first asked for is not told; it is told from then on,
  // also over the end of a stream.
  void on_asked(const Asked& asked, const Rows& rows, Time now);
  // A stream is over: nothing is due until a server asks again.
  void on_stream_ended() { due_.reset(); }

  std::optional<Time> due() const { return due_; }
  // What to send now. Told only once sent() is called.
  std::vector<ClusterLoad> make(const Rows& rows, Time now);
  void sent();

 private:
  struct Counted {
    uint64_t opened = 0;
    uint64_t closed = 0;
    uint64_t failed = 0;
  };
  struct Told {
    Time since{};
    std::map<std::string, Counted> zones{};
  };

  static Counted counted(const Dealer::PoolRow& row);
  bool is_asked(const std::string& service) const;
  void begin(const Rows& rows, Time now);

  Asked asked_;
  std::optional<Time> due_;
  std::map<std::string, Told> told_;    // by service
  std::map<std::string, Told> making_;  // what will have been told
};

}  // namespace holdfast::route
