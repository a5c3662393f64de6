// A node's side of presence: when it announces itself, when it tries again, and what it may say of
// how that went. The service sends, and comes back with what happened.
//
//            due, or content changed            delivered
//   waiting ────────────────────────► sending ───────────► waiting, until next_in
//      ▲                                 │ failed, or no answer within write_timeout
//      └────── backoff, jittered ◄───────┘
//
// Ok is reported for a delivery and an error for a failed try, each once; a tick on which nothing
// happens reports nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"

namespace holdfast::health {

struct AnnouncerOptions {
  Duration write_timeout = std::chrono::seconds(3);  // an announcement that takes longer has failed
  Duration first_retry = std::chrono::seconds(1);    // doubles up to half the period
  Duration min_interval = std::chrono::seconds(1);   // between announcements of changed content
  // Until the controller says: what its answer will probably be.
  Duration period = std::chrono::seconds(30);
};

class Announcer {
 public:
  using Attempt = uint64_t;  // a late answer is told from the current one by it

  struct Action {
    // Send an announcement with what is true now; its outcome comes back with this number.
    std::optional<Attempt> announce{};
    // What to tell Health; absent: nothing was tried.
    std::optional<Status> report{};
  };

  Announcer(AnnouncerOptions options, uint64_t seed);

  // The first announcement is due at once, or a while later so that a crowd does not start in step.
  void start(Time now, Duration delay = Duration::zero());
  // What the node says of itself is no longer what it announced.
  void content_changed(Time now);

  // Answers to an attempt that is over are ignored: its time ran out, and that was reported.
  Action delivered(Attempt attempt, Duration next_in, Time now);
  Action failed(Attempt attempt, const Status& why, Time now);

  Action on_tick(Time now);
  std::optional<Time> next_deadline() const;

  // Since the last delivery.
  int failures() const { return failures_; }

 private:
  Action end_in_failure(const Status& why, Time now);
  BackoffOptions retry() const;

  AnnouncerOptions options_;
  uint64_t seed_;
  Duration period_;
  Backoff backoff_;
  std::optional<Time> due_;         // the next announcement; absent while sending or not started
  std::optional<Time> answer_due_;  // while sending
  std::optional<Time> last_sent_;
  Attempt attempt_ = 0;
  int failures_ = 0;
  bool changed_while_sending_ = false;
};

}  // namespace holdfast::health
