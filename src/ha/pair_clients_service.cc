// The part of PairService that clients and the store meet: who is let in, what is acknowledged.
#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/reason.h"
#include "ha/pair_service.h"
#include "net/as_value.h"
#include "net/within.h"

namespace holdfast::ha {
namespace {

using net::kAsValue;

std::string role_word(State state) {
  std::string word(to_string(state));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

Status unknown_outcome() {
  return coded(absl::StatusCode::kUnavailable, "HF4115",
               "the write is not acknowledged by the other half; outcome unknown");
}

}  // namespace

Passage PairService::refusal() const {
  Passage refused{.status = half_.may_read(clock_.now()),
                  .role = role_word(half_.protocol().state())};
  const std::optional<Beat> peer = half_.peer();
  if (peer && peer->facts.state == State::Active) refused.active = peer->address;
  if (refused.status.ok()) refused.status = half_.may_write(clock_.now());
  return refused;
}

asio::awaitable<Passage> PairService::enter(bool votes) {
  const Time deadline = clock_.now() + options_.half.timing.vote_patience;
  for (bool first = true;; first = false) {
    const bool frozen = half_.is_active() && half_.protocol().frozen();
    if (half_.is_active() && !frozen) co_return Passage{};
    Reception met{.kind = Reception::Kind::Wait};
    if (votes && !frozen) {
      if (first) stats_.votes += 1;
      met = half_.on_client(clock_.now());
      act(std::move(met.actions));
      if (met.kind == Reception::Kind::Serve) continue;
    }
    const bool waits = frozen || (votes && met.kind == Reception::Kind::Wait);
    const bool changed = waits && co_await wait_for_change(deadline);
    if (changed) continue;
    stats_.redirected += 1;
    Passage refused = refusal();
    if (!met.why.ok()) refused.status = met.why;
    if (refused.status.ok()) continue;  // it became active at the last moment
    if (!met.active.empty()) refused.active = met.active;
    co_return refused;
  }
}

void PairService::vote() {
  if (half_.is_active()) return;
  stats_.votes += 1;
  act(half_.on_client(clock_.now()).actions);
}

Status PairService::check_epoch(Epoch known, bool somebody) {
  if (known <= half_.protocol().promised()) return absl::OkStatus();
  if (somebody) {
    link_.doubt();
    act(half_.on_later_epoch(known, clock_.now()));
  }
  return coded(absl::StatusCode::kUnavailable, "HF4301",
               fmt::format("the caller knows of epoch {}, this half of {}: another is active",
                           known, half_.protocol().promised()));
}

Epoch PairService::epoch() const {
  return half_.is_active() ? half_.protocol().epoch() : half_.protocol().promised();
}

asio::awaitable<bool> PairService::wait_for_change(Time deadline) {
  const Duration left = deadline - clock_.now();
  if (left <= Duration::zero() || stopped_) co_return false;
  asio::steady_timer timer(loop_, left);
  const auto at = change_waiters_.insert(change_waiters_.end(), &timer);
  const auto [woken] = co_await timer.async_wait(kAsValue);
  change_waiters_.erase(at);
  const bool cancelled = co_await net::is_cancelled();
  co_return woken.failed() && !cancelled && !stopped_;
}

asio::awaitable<bool> PairService::until_serving() {
  while (!half_.may_read(clock_.now()).ok()) {
    const bool cancelled = co_await net::is_cancelled();
    if (cancelled || stopped_) co_return false;
    co_await wait_for_change(clock_.now() + std::chrono::seconds(1));
  }
  co_return true;
}

// What the store has written since it was last asked. The other half is sent it at once, whether
// anybody waits for its disk or not: in best-effort mode nobody does.
void PairService::note_written() {
  if (!half_.is_active() || !is_own(half_.protocol().epoch())) return;
  if (half_.protocol().head() == replica_.facts().head) return;
  half_.on_written(replica_.facts().head);
  shipping_.wake();
}

bool PairService::is_waiting() const {
  return half_.is_active() && half_.acknowledged() < replica_.facts().head.revision;
}

store::Revision PairService::acknowledged_through() const {
  return half_.is_active() ? half_.acknowledged() : 0;
}

asio::awaitable<Status> PairService::acknowledged(store::Revision revision) {
  if (!half_.is_active() || stopped_) co_return unknown_outcome();
  note_written();
  if (half_.acknowledged() >= revision) co_return absl::OkStatus();
  AckWaiter waiter{.timer = asio::steady_timer(loop_, options_.write_patience)};
  const auto at = ack_waiters_.emplace(revision, &waiter);
  co_await waiter.timer.async_wait(kAsValue);
  if (waiter.result) co_return *waiter.result;  // whoever set it took it out of the table
  ack_waiters_.erase(at);
  const bool cancelled = co_await net::is_cancelled();
  if (cancelled) co_return absl::CancelledError("no longer waited for");
  co_return unknown_outcome();
}

void PairService::wake_acknowledged() {
  if (!half_.is_active()) return;
  const store::Revision reached = half_.acknowledged();
  while (!ack_waiters_.empty() && ack_waiters_.begin()->first <= reached) {
    AckWaiter& waiter = *ack_waiters_.begin()->second;
    ack_waiters_.erase(ack_waiters_.begin());
    waiter.result = absl::OkStatus();
    waiter.timer.cancel();
  }
}

void PairService::fail_waiters() {
  for (const auto& [revision, waiter] : std::exchange(ack_waiters_, {})) {
    waiter->result = unknown_outcome();
    waiter->timer.cancel();
  }
}

}  // namespace holdfast::ha
