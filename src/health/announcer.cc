#include "health/announcer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/reason.h"

namespace holdfast::health {

Announcer::Announcer(AnnouncerOptions options, uint64_t seed)
    : options_(options), seed_(seed), period_(options.period), backoff_(retry(), seed) {}

BackoffOptions Announcer::retry() const {
  return {.first = std::min(options_.first_retry, period_ / 2), .cap = period_ / 2};
}

void Announcer::start(Time now, Duration delay) {
  if (!answer_due_) due_ = now + delay;
}

void Announcer::content_changed(Time now) {
  changed_while_sending_ = answer_due_.has_value();
  // After a failure the backoff decides: the next announcement carries the change anyway.
  if (!due_ || failures_ > 0) return;
  const Time allowed = last_sent_ ? *last_sent_ + options_.min_interval : now;
  due_ = std::min(*due_, std::max(now, allowed));
}

Announcer::Action Announcer::delivered(Attempt attempt, Duration next_in, Time now) {
  if (attempt != attempt_ || !answer_due_) return {};
  answer_due_.reset();
  failures_ = 0;
  if (next_in > Duration::zero()) period_ = next_in;
  backoff_ = Backoff(retry(), ++seed_);
  due_ = now + period_;
  if (changed_while_sending_) content_changed(now);
  return {.report = absl::OkStatus()};
}

Announcer::Action Announcer::failed(Attempt attempt, const Status& why, Time now) {
  if (attempt != attempt_ || !answer_due_) return {};
  return end_in_failure(why, now);
}

Announcer::Action Announcer::end_in_failure(const Status& why, Time now) {
  answer_due_.reset();
  changed_while_sending_ = false;
  failures_ += 1;
  due_ = now + backoff_.next();
  return {.report = why};
}

Announcer::Action Announcer::on_tick(Time now) {
  if (answer_due_ && *answer_due_ <= now) {
    return end_in_failure(coded(absl::StatusCode::kDeadlineExceeded, "HF1105",
                                fmt::format("no controller took the announcement within {}",
                                            to_short_string(options_.write_timeout))),
                          now);
  }
  if (answer_due_ || !due_ || *due_ > now) return {};
  due_.reset();
  changed_while_sending_ = false;
  last_sent_ = now;
  answer_due_ = now + options_.write_timeout;
  return {.announce = ++attempt_};
}

std::optional<Time> Announcer::next_deadline() const {
  return answer_due_ ? answer_due_ : due_;
}

}  // namespace holdfast::health
