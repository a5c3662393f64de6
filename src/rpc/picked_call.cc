// The calls of PickHealthyService: what RepeatedCall decides, carried out.
#include <fmt/format.h>

#include <algorithm>

#include "base/reason.h"
#include "rpc/mailbox.h"
#include "rpc/pick_healthy_service.h"
#include "rpc/status.h"

namespace holdfast::rpc {
namespace {

constexpr Duration kUntilPicked = std::chrono::hours(1);

// An attempt ends a little later than its call, so that a deadline that passes early is the
// server's word and not the race of two clocks.
constexpr Duration kSlack = std::chrono::milliseconds(100);

// Asked without a coroutine of its own: awaiting one throws once the caller was cancelled.
bool was_cancelled(const asio::cancellation_state& state) {
  return state.cancelled() != asio::cancellation_type::none;
}

// What the pair's rules have left the server for is no second complaint.
bool is_doubted_already(const Status& answer) {
  return is_not_active(answer) || split_reason(answer).code.starts_with("HF43");
}

Status stopped_error() {
  return absl::CancelledError("the call was cancelled");
}

// Wakes a timer when the pick changes, for as long as it lives.
class Waiting {
 public:
  using Waiters = std::shared_ptr<std::set<asio::steady_timer*>>;  // tidy: shared, may outlive
  Waiting(Waiters waiters, asio::steady_timer& timer)
      : waiters_(std::move(waiters)), timer_(timer) {
    waiters_->insert(&timer_);
  }
  ~Waiting() { waiters_->erase(&timer_); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Waiters waiters_;
  asio::steady_timer& timer_;
};

}  // namespace

struct PickHealthyService::Running {
  struct End {
    size_t attempt = 0;
    grpc::Status status;
  };
  struct Tried {
    Pinned connection;
    Attempt attempt{};
    std::optional<Status> ended{};
  };

  Running(const asio::any_io_executor& executor, RepeatOptions options, Time now, Time end)
      : call(options, now, end), deadline(end), ends(executor) {}
  ~Running() {
    for (const Tried& tried : attempts) {
      if (!tried.ended) tried.attempt.context->TryCancel();
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  RepeatedCall call;
  Time deadline;
  Mailbox<End> ends;
  std::vector<Tried> attempts;
  std::optional<size_t> last_ended;
};

asio::awaitable<Result<std::shared_ptr<void>>>  // tidy: shared with gRPC
PickHealthyService::attempt_until_answered(const StartAttempt& start, const PickedCall& options) {
  const Time began = clock_.now();
  const bool paired = picked_ && paired_.contains(picked_->id);
  Running running(
      loop_,
      {.repeat = options.repeat,
       .unanswered_after = paired ? options_.paired_unanswered_after : options_.unanswered_after,
       .too_slow_after = 2 * options_.unanswered_after,
       .leave_who_refuses = options_.leave_who_refuses,
       .seed = options_.seed + ++calls_},
      began, began + options.timeout);
  const Waiting waiting(waiters_, running.ends.timer());
  for (;;) {
    if (stopped_ || was_cancelled(co_await asio::this_coro::cancellation_state)) {
      co_return stopped_error();
    }
    for (const Running::End& end : running.ends.take_now()) {
      note_end(running, end.attempt, end.status);
    }
    const Time now = clock_.now();
    const auto next = running.call.next(picked_ ? picked_->id : 0, now);
    if (next.done) break;
    if (next.start) start_attempt(running, start, options);
    if (next.doubt) carry_out(core_.on_unanswered(*next.doubt, now));
    if (next.too_slow) carry_out(core_.on_unavailable(*next.too_slow, now));
    if (!next.start && !next.doubt && !next.too_slow)
      co_await running.ends.wait(next.wake_at - now);
  }
  CO_TRY_OK(outcome(running, options));
  co_return running.attempts[*running.call.answer()].attempt.in_flight;
}

void PickHealthyService::start_attempt(Running& running, const StartAttempt& start,
                                       const PickedCall& options) {
  const size_t attempt = running.attempts.size();
  if (attempt > 0) stats_.repeated_calls += 1;
  CallOptions call_options{.timeout = running.deadline - clock_.now() + kSlack,
                           .metadata = greeting()};
  call_options.metadata.insert(call_options.metadata.end(), options.metadata.begin(),
                               options.metadata.end());
  Attempt started =
      start(*picked_, call_options, [sender = running.ends.sender(), attempt](grpc::Status status) {
        sender.deliver({.attempt = attempt, .status = std::move(status)});
      });
  running.attempts.push_back({.connection = picked_, .attempt = std::move(started)});
}

void PickHealthyService::note_end(Running& running, size_t attempt, const grpc::Status& status) {
  Running::Tried& ended = running.attempts[attempt];
  const uint64_t id = ended.connection->id;
  ended.ended = admit(id, *ended.attempt.context, from_grpc(status));
  const bool failed = !ended.ended->ok();
  if (failed) ended.attempt = {};  // a long call may have many
  running.last_ended = attempt;
  const Time now = clock_.now();
  const bool lost =
      !status.ok() && ended.connection->channel->GetState(false) != GRPC_CHANNEL_READY;
  const AttemptEnd end{
      .code = ended.ended->code(), .lost = lost, .not_active = is_not_active(*ended.ended)};
  const Complaint complaint = running.call.on_ended(attempt, end, now);
  if (lost) {
    carry_out(core_.on_closed(id, now));
  } else if (complaint == Complaint::Unavailable && is_doubted_already(*ended.ended)) {
    // It said that it does not serve, and was heard.
  } else if (complaint == Complaint::Unavailable) {
    carry_out(core_.on_unavailable(id, now));
  } else if (complaint == Complaint::Refused) {
    carry_out(core_.on_refused(id, now));
  } else if (core_.would_be_news(id)) {
    carry_out(core_.on_answered(id, now));
  }
  if (failed) ended.connection.reset();  // unpinned
}

Status PickHealthyService::outcome(const Running& running, const PickedCall& options) const {
  const auto answer = running.call.answer();
  if (answer) return *running.attempts[*answer].ended;
  const std::string timeout = to_short_string(options.timeout);
  if (running.call.has_running()) {
    return absl::DeadlineExceededError(fmt::format("no answer within {}", timeout));
  }
  // One that says it does not serve has done nothing. If another attempt may have been carried out,
  // the call's outcome is unknown, whatever the last one said.
  for (const Running::Tried& tried : running.attempts) {
    if (tried.ended && !is_not_active(*tried.ended)) return *tried.ended;
  }
  if (running.last_ended) return *running.attempts[*running.last_ended].ended;
  return no_connection(options.timeout);
}

Status PickHealthyService::no_connection(Duration timeout) const {
  const std::string why = last_failure_.empty() ? "nothing answered" : last_failure_;
  return coded(absl::StatusCode::kUnavailable, "HF1301",
               fmt::format("not connected within {}: {}", to_short_string(timeout), why));
}

asio::awaitable<bool> PickHealthyService::next_pick(Duration at_most) {
  asio::steady_timer timer(loop_);
  const Waiting waiting(waiters_, timer);
  timer.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(at_most));
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return !was_cancelled(co_await asio::this_coro::cancellation_state);
}

asio::awaitable<Result<Pinned>> PickHealthyService::wait_picked(Duration timeout) {
  const Time deadline = clock_.now() + timeout;
  Time doubt_at = clock_.now() + options_.unanswered_after;
  for (;;) {
    const Time now = clock_.now();
    if (picked_) co_return picked_;
    if (stopped_) co_return stopped_error();
    if (now >= deadline) co_return no_connection(timeout);
    if (now >= doubt_at) {
      doubt_at = now + options_.unanswered_after;
      carry_out(core_.on_unanswered(0, now));
    }
    if (!co_await next_pick(std::min(deadline, doubt_at) - now)) co_return stopped_error();
  }
}

asio::awaitable<void> PickHealthyService::left(uint64_t connection_id) {
  while (!stopped_ && !core_.is_silent(connection_id) &&
         (!picked_ || picked_->id == connection_id)) {
    if (!co_await next_pick(kUntilPicked)) co_return;
  }
}

asio::awaitable<void> PickHealthyService::moved(uint64_t connection_id) {
  while (!stopped_ && (!picked_ || picked_->id == connection_id)) {
    if (!co_await next_pick(kUntilPicked)) co_return;
  }
}

}  // namespace holdfast::rpc
