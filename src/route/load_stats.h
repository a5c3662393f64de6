// What a management server of another control plane is told of our load, in the terms of xDS load
// reporting: clusters (services), localities (zones), and counts since the report before.
//
//   server ── asks: which clusters, how often ──► LoadStats ── due ──► make(rows) ──► sent()
//
// What was made and could not be sent is in the next report: a count is told once, or later.
#pragma once

#include <algorithm>
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
  // Of the opened and the closed: refused, timed out, reset, given up. They did not come to be.
  uint64_t failed = 0;
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
  // Names that a server may give; others it will not be told of.
  static constexpr size_t kMaxNames = 10'000;
  // Of one report, so that it is no larger than any server takes; the others follow in the next,
  // kShortest later.
  static constexpr size_t kMaxLocalities = 4'000;
  // Pools that are gone and may come back; when there are more, all of them are forgotten, and told
  // whole if they do.
  static constexpr size_t kMaxGone = 65'536;

  struct Asked {
    bool all = false;
    std::set<std::string> services{};
    Duration interval{};  // zero: as often as may be
  };
  // As the dealer gives them: in the order of their pools.
  using Rows = std::vector<Dealer::PoolRow>;

  // Whose rows they are from now on. Another one has counted from its beginning.
  void on_dealer(Time began);
  // What was counted before a service was first asked for is not told; it is told from then on,
  // also over the end of a stream.
  void on_asked(Asked asked, const Rows& rows, Time now);
  // A stream is over: nothing is due until a server asks again.
  void on_stream_ended() { due_.reset(); }

  std::optional<Time> due() const { return due_; }
  // What to send now. Told only once sent() is called.
  std::vector<ClusterLoad> make(const Rows& rows, Time now);
  void sent();

 private:
  struct Told {
    Time since{};
    uint64_t opened = 0;
    uint64_t closed = 0;
    uint64_t failed = 0;
  };

  static Told counted(const Dealer::PoolRow& row, Time now);
  static LocalityLoad grown(const Dealer::PoolRow& row, const Told& before, const Told& after);
  bool is_asked(const std::string& service) const;
  Duration interval() const { return std::clamp(asked_.interval, kShortest, kLongest); }
  void forget(const Rows& rows, Time now);

  Asked asked_;
  std::optional<Time> dealer_began_;
  std::optional<Time> due_;
  Time paced_from_{};            // the report before, or when a stream's first question came
  std::optional<Time> since_{};  // when all was told: the age of a pool that is new
  PoolKey next_{};               // where the next report begins
  std::map<PoolKey, Told> told_;
  // What will have been told.
  std::map<PoolKey, Told> making_;
  PoolKey making_next_{};
  Time made_at_{};
};

}  // namespace holdfast::route
