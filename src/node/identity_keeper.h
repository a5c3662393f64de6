// When a node renews its certificate. Told the certificate's life and what became of each try, it
// says when to try next; the service asks a controller, and comes back with what happened.
//
//            two thirds of the life, or told to            renewed
//   holding ────────────────────────────────► renewing ──────────────► holding
//      │  ▲                                      │ failed
//      │  └── backoff, at most a quarter of ◄────┘
//      │      what is left of the life
//      └────────────► expired: said once; only another identity helps (HF5003: join again)
//
// A controller renews only who is present (HF5016), so nothing is tried before an announcement was
// delivered. Calendar time throughout: that is what certificates are written in. A clock that jumps
// is seen at the next tick.
#pragma once

#include <optional>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/rng.h"
#include "identity/certificate.h"

namespace holdfast::node {

struct IdentityKeeperOptions {
  Duration first_retry = std::chrono::seconds(1);  // doubles
  Duration longest_retry = std::chrono::minutes(5);
  Duration shortest_retry = std::chrono::milliseconds(200);  // however little is left
};

class IdentityKeeper {
 public:
  enum class Action {
    None,
    Renew,    // ask for a certificate; its outcome comes back
    Expired,  // the certificate has run out: said once for each
  };

  IdentityKeeper(IdentityKeeperOptions options, uint64_t seed);

  // A certificate that is used from now on: the first, or a renewed one. Its life is counted from
  // `since`, when it was received; from its beginning if that is not known.
  void hold(const identity::Validity& validity, WallTime since);
  // Whether a controller took the last announcement. An outage that ends does not cut a backoff.
  void set_present(bool present) { present_ = present; }

  // A controller wants it renewed, whatever its age.
  void told_to_renew(WallTime now);
  // Ignored if nothing is being tried: another certificate came in between.
  void failed(WallTime now);

  Action on_tick(WallTime now);
  // Absent when only hold() or set_present() changes anything.
  std::optional<WallTime> next_deadline() const;

  bool expired() const { return expired_; }
  int failures() const { return backoff_.failures(); }
  WallTime expires() const { return expires_; }

 private:
  BackoffOptions retry() const;

  IdentityKeeperOptions options_;
  Rng rng_;
  Backoff backoff_;
  WallTime expires_{};
  WallTime renew_at_{};
  bool present_ = false;
  bool renewing_ = false;
  bool expired_ = false;
};

}  // namespace holdfast::node
