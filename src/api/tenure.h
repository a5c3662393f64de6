// Which of several controllers on one store does what only one may do, such as marking nodes as
// offline. Core: time and what the store says come in.
//
//   /ha/tasks        written by each taker: whoever wrote it last holds the tasks
//   /ha/tasks/beat   written by the holder again and again
//
// A lease by itself makes no two holders impossible: one that froze wakes up and goes on. So each
// write of a task carries a check of /ha/tasks at the revision its writer took it with, which the
// store refuses once another took it. Nobody's calendar counts: who waits measures by its own clock
// how long the beat has not changed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/store.h"

namespace holdfast::api {

inline constexpr std::string_view kTasksKey = "/ha/tasks";
inline constexpr std::string_view kTasksBeatKey = "/ha/tasks/beat";

struct TenureOptions {
  std::string name{};  // this controller's
  // A holder that has not been seen to renew for this long is replaced; it has stopped by itself
  // after two thirds of it.
  Duration ttl = std::chrono::seconds(5);
};

class Tenure {
 public:
  explicit Tenure(TenureOptions options) : options_(std::move(options)) {}

  // What the store has; zero: there is none.
  struct Seen {
    store::Revision taken = 0;  // of kTasksKey
    store::Revision beat = 0;
    std::string holder{};
  };
  // `asked_at`: before the store was asked.
  void saw(const Seen& seen, Time asked_at);

  // What to write now; empty: look again. Both are conditional on what was seen.
  std::vector<store::Operation> take(Time now) const;
  std::vector<store::Operation> renewal() const;
  void took(store::Revision revision, Time asked_at);
  void renewed(store::Revision revision, Time asked_at);
  // The store refused a write of ours: look again before anything else.
  void doubt() { certain_ = false; }

  // To be called with what was held until a moment ago.
  std::vector<store::Operation> release() const;

  // Whether it took the tasks and has not seen another take them.
  bool ours() const { return ours_ && certain_; }
  // Whether it may act: ours, and renewed lately.
  bool held(Time now) const;
  // What each write of a task carries. Requires: ours().
  store::Operation check() const;
  // As last seen; empty: nobody.
  const std::string& holder() const { return holder_; }
  Duration pause() const { return options_.ttl / 5; }

 private:
  TenureOptions options_;
  bool ours_ = false;
  bool certain_ = true;
  store::Revision taken_ = 0;
  store::Revision beat_ = 0;
  std::string holder_;
  Time renewed_at_{};              // asked for then
  std::optional<Time> unchanged_;  // since when the beat of another is as it is
};

}  // namespace holdfast::api
