// One call that may take several attempts: decides on which connection to try, when to doubt one,
// when to try beside an attempt that stays silent, and which answer is the call's.
//
//   start ──► attempt on the pick ──► answer: done
//                │        └ unavailable, lost ──► another pick, or a short wait ──► attempt ...
//                └ silent for a while ──► doubt; another pick ──► a second attempt beside it
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"

namespace holdfast::rpc {

enum class Repeat : uint8_t {
  Never,  // sent once; kUnavailable may mean that it was carried out
  // As Never, but sent again after a half of a pair said that it does not serve: nothing was done.
  IfNotActive,
  Safe,  // reads, and writes with a request id
};

struct RepeatOptions {
  Repeat repeat = Repeat::Never;
  Duration unanswered_after = std::chrono::seconds(1);  // then the connection is doubted
  // Then its server is given up for this call, alive or not. Zero: twice `unanswered_after`.
  Duration too_slow_after{0};
  // Whether "unauthenticated" is one server's word, and another is asked: once, and only if it is
  // picked within `unanswered_after`. Never the same one again.
  bool leave_who_refuses = false;
  BackoffOptions backoff{std::chrono::milliseconds(50), std::chrono::milliseconds(500)};
  uint64_t seed = 1;
};

// How an attempt ended. `lost`: its connection is gone, so the code is gRPC's and not the server's.
// `not_active`: is_not_active() of the answer.
struct AttemptEnd {
  absl::StatusCode code = absl::StatusCode::kOk;
  bool lost = false;
  bool not_active = false;
};

// What the end of an attempt says of its server, still connected: tell the core.
enum class Complaint : uint8_t { None, Unavailable, Refused };

class RepeatedCall {
 public:
  static constexpr size_t kMaxRunning = 3;  // attempts beside each other

  RepeatedCall(RepeatOptions options, Time start, Time deadline);

  // What to do now. Asked again after every event, and at `wake_at`.
  struct Next {
    std::optional<uint64_t> start{};  // a new attempt on this connection; they count from zero
    std::optional<uint64_t> doubt{};  // tell the core; zero: nothing to send it on
    // Silent for longer still: whether alive or not, its server does not get this done.
    std::optional<uint64_t> too_slow{};
    bool done = false;
    Time wake_at{};
  };
  Next next(uint64_t picked, Time now);

  Complaint on_ended(size_t attempt, AttemptEnd end, Time now);

  size_t attempts() const { return attempts_.size(); }
  // Of a call that is done: the attempt whose answer or error is the call's; nothing if no server
  // answered in time.
  std::optional<size_t> answer() const { return answer_; }
  // Whether attempts were still waiting for an answer.
  bool has_running() const;

 private:
  struct Attempt {
    uint64_t connection = 0;
    Time started{};
    bool running = true;
    bool refused = false;
    bool not_active = false;
    bool doubted = false;
    bool too_slow = false;
  };
  bool may_start(uint64_t picked, Time now) const;
  bool is_to_repeat(AttemptEnd end, bool in_time) const;
  std::optional<uint64_t> due_doubt(uint64_t picked, Time now);
  std::optional<uint64_t> due_too_slow(Time now);
  Time wake_at(Time now) const;
  Duration too_slow_after() const {
    const bool said = options_.too_slow_after > Duration::zero();
    return said ? options_.too_slow_after : 2 * options_.unanswered_after;
  }
  bool note_refusal(size_t attempt, Time now);

  RepeatOptions options_;
  Time deadline_;
  Backoff backoff_;
  std::vector<Attempt> attempts_;
  std::optional<size_t> answer_;
  std::optional<size_t> refused_;  // the first attempt that was
  Time refused_until_{};           // then that is the answer
  Time retry_at_;                  // on a connection that failed already
  Time waiting_at_;                // when a call without a connection doubts again
};

}  // namespace holdfast::rpc
