// One holder's part of one pool as the dealer knows it: what it has, what it may believe to have,
// and how much it will want until it can be told of more.
//
//   charge = max(what runs, what it keeps to, what it was granted and has not acknowledged)
//
// Once its lease has run out it keeps to its fixed share; that is charged from when it may begin.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "route/load.h"

namespace holdfast::route {

class Holding {
 public:
  struct Standing {
    bool is_local = false;      // it is in the pool's own zone
    bool acknowledges = false;  // it has put the latest grant into force
    bool may_come = true;       // connections are likely to, though none have
    Duration answered_in{};     // how long it waits for an answer
  };
  void on_report(const PoolReport& report, const Standing& standing, Time now);
  void on_grant(const PoolGrant& grant);
  // It has not acknowledged anything for as long as a lease holds, though it may hold one.
  void doubt() { is_doubtful_ = true; }
  // Nothing it was granted holds any more.
  void run_out();

  uint64_t charge() const;
  // Places that it may believe to be leased to it; and the same, or those of its fixed share.
  uint64_t leased() const;
  uint64_t believed() const;
  uint64_t believed_fixed() const;
  // What cannot be taken away now.
  uint64_t bound() const;
  // Beyond what runs: for connections that wait or come, and only in case that some do.
  uint64_t demand() const;
  uint64_t comfort() const;
  // How much of the pool it has used lately: by this fixed shares are dealt.
  double weight() const;

  bool is_local() const { return standing_.is_local; }
  const PoolReport& report() const { return report_; }

  // When it last needed all of its lease.
  Time needed_at{};

 private:
  uint64_t coming() const;

  Standing standing_;
  bool is_doubtful_ = false;
  bool has_run_out_ = false;
  PoolReport report_;
  Time reported_at_{};
  double rate_ = 0;           // connections that come, a second
  double use_ = 0;            // places taken, on average
  uint64_t turned_away_ = 0;  // since the report before
  // The most of what was granted since what it acknowledged.
  uint64_t pending_ = 0;
  uint64_t fixed_ = 0;
  uint64_t pending_fixed_ = 0;
};

}  // namespace holdfast::route
