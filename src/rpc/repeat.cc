#include "rpc/repeat.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::rpc {
namespace {

// Whether another server may still answer what this one did not. A cancellation is never ours: we
// cancel only when the call is done.
bool is_worth_repeating(AttemptEnd end, bool in_time) {
  switch (end.code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
      return true;
    case absl::StatusCode::kDeadlineExceeded:
      return in_time;
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
      return end.lost;
    default:
      return false;
  }
}

}  // namespace

RepeatedCall::RepeatedCall(RepeatOptions options, Time start, Time deadline)
    : options_(options),
      deadline_(deadline),
      backoff_(options.backoff, options.seed),
      retry_at_(start),
      waiting_at_(start + options.unanswered_after) {}

RepeatedCall::Next RepeatedCall::next(uint64_t picked, Time now) {
  Next out;
  if (refused_ && !answer_ && !has_running() && now >= refused_until_) answer_ = refused_;
  out.done = answer_.has_value() || now >= deadline_;
  if (out.done) return out;
  out.doubt = due_doubt(picked, now);
  if (!out.doubt) out.too_slow = due_too_slow(now);
  if (may_start(picked, now)) {
    attempts_.push_back({.connection = picked, .started = now});
    out.start = picked;
  }
  out.wake_at = wake_at(now);
  return out;
}

bool RepeatedCall::may_start(uint64_t picked, Time now) const {
  if (picked == 0) return false;
  if (options_.repeat == Repeat::Never) return attempts_.empty();
  // One of which it is not known that nothing was done is the last.
  if (options_.repeat == Repeat::IfNotActive &&
      !std::ranges::all_of(attempts_, &Attempt::not_active)) {
    return false;
  }
  size_t running = 0;
  for (const Attempt& attempt : attempts_) {
    if (attempt.refused && attempt.connection == picked) return false;
    if (attempt.running && (attempt.connection == picked || !attempt.doubted)) return false;
    running += attempt.running ? 1 : 0;
  }
  const bool tried = std::ranges::find(attempts_, picked, &Attempt::connection) != attempts_.end();
  return running < kMaxRunning && (!tried || now >= retry_at_);
}

std::optional<uint64_t> RepeatedCall::due_doubt(uint64_t picked, Time now) {
  for (Attempt& attempt : attempts_) {
    if (!attempt.running || attempt.doubted) continue;
    if (now < attempt.started + options_.unanswered_after) continue;
    attempt.doubted = true;
    return attempt.connection;
  }
  if (picked != 0 || has_running() || now < waiting_at_) return std::nullopt;
  waiting_at_ = now + options_.unanswered_after;
  return 0;
}

// A call that is sent once gains nothing from another connection.
std::optional<uint64_t> RepeatedCall::due_too_slow(Time now) {
  if (options_.repeat != Repeat::Safe) return std::nullopt;
  for (Attempt& attempt : attempts_) {
    if (!attempt.running || attempt.too_slow) continue;
    if (now < attempt.started + too_slow_after()) continue;
    attempt.too_slow = true;
    return attempt.connection;
  }
  return std::nullopt;
}

bool RepeatedCall::is_to_repeat(AttemptEnd end, bool in_time) const {
  if (options_.repeat == Repeat::Safe) return is_worth_repeating(end, in_time);
  return options_.repeat == Repeat::IfNotActive && end.not_active;
}

// True if it is the first, and another server may be asked.
bool RepeatedCall::note_refusal(size_t attempt, Time now) {
  attempts_[attempt].refused = true;
  if (refused_) return false;
  refused_ = attempt;
  refused_until_ = now + options_.unanswered_after;
  return true;
}

Complaint RepeatedCall::on_ended(size_t attempt, AttemptEnd end, Time now) {
  HF_CHECK(attempt < attempts_.size(), "an attempt was started before it ends");
  attempts_[attempt].running = false;
  attempts_[attempt].not_active = end.not_active;
  if (end.code == absl::StatusCode::kUnauthenticated && options_.leave_who_refuses) {
    const bool again = note_refusal(attempt, now) && options_.repeat == Repeat::Safe;
    if (!again && !answer_) answer_ = attempt;
    return end.lost ? Complaint::None : Complaint::Refused;
  }
  const bool in_time = now < deadline_;
  const bool again = is_to_repeat(end, in_time);
  if (!again && !answer_) answer_ = attempt;
  if (again) {
    retry_at_ = now + backoff_.next();
    waiting_at_ = now + options_.unanswered_after;
  }
  const bool cannot = end.code == absl::StatusCode::kUnavailable ||
                      (end.code == absl::StatusCode::kDeadlineExceeded && in_time);
  return cannot && !end.lost ? Complaint::Unavailable : Complaint::None;
}

bool RepeatedCall::has_running() const {
  return std::ranges::any_of(attempts_, &Attempt::running);
}

Time RepeatedCall::wake_at(Time now) const {
  Time first = deadline_;
  const auto consider = [&](Time at) {
    if (at > now) first = std::min(first, at);
  };
  consider(retry_at_);
  consider(waiting_at_);
  if (refused_) consider(refused_until_);
  for (const Attempt& attempt : attempts_) {
    if (!attempt.running) continue;
    if (!attempt.doubted) first = std::min(first, attempt.started + options_.unanswered_after);
    consider(attempt.started + too_slow_after());
  }
  return first;
}

}  // namespace holdfast::rpc
