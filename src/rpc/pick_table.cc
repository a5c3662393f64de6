// The decision table of PickHealthy: run after every input. Rows are numbered as in
// docs/decisions/0012.
#include <algorithm>
#include <utility>

#include "rpc/pick_healthy.h"

namespace holdfast::rpc {

using pick::Actions;
using pick::Child;
using pick::ChildState;

void PickHealthy::settle(Time now, Actions& out) {
  decide(now, out);
  report_pick(now, out);
}

void PickHealthy::decide(Time now, Actions& out) {
  const bool needs_backup = !backup_ || backup_->state() == ChildState::Unhealthy;
  const bool doubted = active_->take_fresh_doubt() && may_move();
  if (!replacing_ && (active_->state() == ChildState::Ready || !may_move())) {  // row 1
    calm();
    if (backup_) shared_.counts.dropped_backups += 1;
    drop_backup(out);
    return;
  }
  if (needs_backup && ((replacing_ && !backup_) || (doubted && may_hurry(now)))) {
    make_backup(now, out);
  }
  if (active_->state() == ChildState::Connecting) arm_connect(now);  // row 2
  if (backup_) {
    judge_backup(now, out);
  } else if (active_->state() != ChildState::Connecting) {
    arm_reconnect(now);  // row 3
  }
  arm_press(now);
}

void PickHealthy::judge_backup(Time now, Actions& out) {
  if (is_better_than_active(*backup_)) {  // row 4
    take_over(now, out);
  } else if (backup_->state() == ChildState::Connecting) {  // row 5
    arm_connect(now);
  } else if (!reconnect_at_) {  // row 6
    backoff_ = std::min(backoff_ * 2, shared_.options.max_backoff);
    arm_reconnect(now);
  }
}

// A server that was never asked, or does not answer the question, is left although no discovery
// said so: nobody should wait for it for ever.
bool PickHealthy::may_move() const {
  if (active_->wants_reconnect() || active_->is_paired()) return true;
  if (active_->refuses() && active_->has_failed_discovery()) return true;
  return active_->is_undiscovered() && (active_->is_doubted() || !active_->mode());
}

// Ready is better than all else; unhealthy is better than silent; and new credentials that were
// accepted are worth more than the old ones unless only the old connection is Ready.
bool PickHealthy::is_better_than_active(const Child& child) const {
  if (child.state() == ChildState::Ready) return true;
  if (child.state() == ChildState::Connecting || child.is_doubted()) return false;
  if (active_->is_silent()) return child.is_accepted();
  return replacing_ && child.is_accepted() && active_->state() != ChildState::Ready;
}

// Doubt makes the next reconnect immediate: once per base backoff, then ever more seldom up to the
// longest while doubts go on.
bool PickHealthy::may_hurry(Time now) {
  const PickHealthyOptions& options = shared_.options;
  const bool quiet = !doubted_at_ || now - *doubted_at_ >= options.doubts_forgotten_after;
  doubted_at_ = now;
  if (!quiet && hurried_at_ && now - *hurried_at_ < hurry_gap_) return false;
  hurry_gap_ =
      quiet || !hurried_at_ ? options.base_backoff : std::min(hurry_gap_ * 2, options.max_backoff);
  hurried_at_ = now;
  return true;
}

// A half that does not serve is left at once, for the one it names if that may be dialled. Of two
// that both do not serve, each sends us to the other: then the press decides, which has jitter.
void PickHealthy::follow(const Child& child, const std::string& active, Time now, Actions& out) {
  const bool known = std::ranges::find(addresses_, active) != addresses_.end();
  // Who fell silent for us is still named by a half that has not missed it yet.
  const bool silent = active_->is_silent() && active == active_->address();
  const bool named = !active.empty() && active != child.address() && !silent &&
                     (known || shared_.options.follow_strangers);
  const bool is_backup = &child == backup_.get();
  if (is_backup && !named) return;
  if (!is_backup && backup_ && backup_->state() != ChildState::Unhealthy) return;
  if (!may_follow(now)) return;
  shared_.counts.followed += 1;
  if (named) preferred_ = active;
  make_backup(now, out);
}

// The first is immediate; those that follow it closely are ever further apart, unless what they led
// to did answer calls.
bool PickHealthy::may_follow(Time now) {
  const PickHealthyOptions& options = shared_.options;
  const bool rested = proven_ || !followed_at_ ||
                      now - *followed_at_ >= std::max(options.doubted_for, 2 * follow_gap_);
  if (!rested && now - *followed_at_ < follow_gap_) return false;
  follow_gap_ = rested ? options.pressed_wait : std::min(follow_gap_ * 2, options.max_backoff);
  followed_at_ = now;
  return true;
}

// Calls are known to suffer: on a server that is there, but is silent or said that it cannot. Who
// refuses us is left without haste: if all do, each try is one more refusal.
bool PickHealthy::is_pressed() const {
  const bool suffers = active_->is_doubted() || active_->stands_aside();
  return active_->is_connected() && suffers && !active_->refuses() && may_move();
}

// Behind a balancer the next server may be the same one again, and the calls that wait have
// deadlines: a few tries must fit in. They grow apart, so that a crowd whose servers are all
// unhealthy does not trample them.
void PickHealthy::arm_press(Time now) {
  const bool wanted = is_pressed() && !(backup_ && backup_->state() == ChildState::Ready);
  const bool connecting = backup_ && backup_->state() == ChildState::Connecting;
  if (!wanted || press_is_patient_ != connecting) press_at_.reset();
  if (!wanted || press_at_) return;
  press_is_patient_ = connecting;
  const PickHealthyOptions& options = shared_.options;
  const bool rested =
      !pressed_at_ || now - *pressed_at_ >= std::max(options.doubted_for, 2 * press_wait_);
  // A half that answered calls and fell silent is another trouble than the one before.
  const bool fell = active_->is_paired() && active_->is_silent() && proven_;
  if (rested || fell) press_wait_ = options.pressed_wait;
  const Duration patience =
      active_->is_paired() ? options.paired_patience : options.pressed_patience;
  const Duration wait = connecting ? std::max(patience, press_wait_) : press_wait_;
  press_at_ = now + wait + shared_.rng.below(wait / 2);
}

void PickHealthy::press(Time now, Actions& out) {
  press_at_.reset();
  if (!is_pressed()) return;
  press_wait_ = std::min(press_wait_ * 3 / 2, shared_.options.max_backoff);
  make_backup(now, out);
}

void PickHealthy::timer_fired(Time now, Actions& out) {
  connect_at_.reset();
  reconnect_at_.reset();
  if (active_->state() == ChildState::Ready && !replacing_) return;
  const bool leave_alone =
      backup_ && backup_->state() != ChildState::Unhealthy && !backup_->is_stuck(now);
  if (!leave_alone) make_backup(now, out);
}

std::unique_ptr<Child> PickHealthy::make_child(std::string avoided) {
  pick::ChildSetup setup{.addresses = addresses_,
                         .avoided = std::move(avoided),
                         .preferred = std::exchange(preferred_, {}),
                         .credentials = credentials_,
                         .must_be_accepted = replacing_ || (active_ && active_->refuses())};
  if (active_) setup.mode = active_->mode();
  return std::make_unique<Child>(shared_, std::move(setup));
}

void PickHealthy::make_backup(Time now, Actions& out) {
  drop_backup(out);
  connect_at_.reset();
  reconnect_at_.reset();
  press_at_.reset();
  if (is_pressed()) pressed_at_ = now;
  backup_ = make_child(active_->state() == ChildState::Ready ? "" : active_->address());
  backup_->dial(now, out);
}

void PickHealthy::drop_backup(Actions& out) {
  if (backup_ && backup_->connection() != 0) out.push_back(pick::Drop{backup_->connection()});
  backup_.reset();
}

void PickHealthy::take_over(Time now, Actions& out) {
  const bool ready = backup_->state() == ChildState::Ready;
  std::swap(active_, backup_);
  proven_ = false;
  drop_backup(out);
  shared_.counts.swaps += 1;
  active_->accept_as_it_is();
  replacing_ = active_->credentials() != credentials_;
  connect_at_.reset();
  reconnect_at_.reset();
  arm_replace(now);
  if (ready) {
    calm();
  } else {
    decide(now, out);
  }
}

void PickHealthy::arm_connect(Time now) {
  if (connect_at_) return;
  const Duration timeout = shared_.options.connect_timeout;
  connect_at_ = now + timeout + shared_.rng.below(timeout / 10);
}

void PickHealthy::arm_reconnect(Time now) {
  if (!reconnect_at_) reconnect_at_ = now + backoff_ + shared_.rng.below(backoff_ / 2);
}

void PickHealthy::arm_replace(Time now) {
  const Duration interval = shared_.options.reconnect_interval;
  if (interval > Duration::zero()) {
    replace_at_ = now + interval + shared_.rng.below(interval / 10);
  }
}

void PickHealthy::calm() {
  connect_at_.reset();
  reconnect_at_.reset();
  press_at_.reset();
  backoff_ = shared_.options.base_backoff;
}

// The active whenever it is connected; the backup if the active is not, or is silent.
uint64_t PickHealthy::best_pick() const {
  const auto speaks = [](const Child* child) {
    return child != nullptr && child->is_connected() && !child->is_silent();
  };
  if (speaks(active_.get())) return active_->connection();
  if (speaks(backup_.get())) return backup_->connection();
  if (active_->is_connected()) return active_->connection();
  return backup_ && backup_->is_connected() ? backup_->connection() : 0;
}

void PickHealthy::report_pick(Time now, Actions& out) {
  const uint64_t best = best_pick();
  if (best != picked_) out.push_back(pick::Pick{best});
  picked_ = best;
  const Child* child = find(best);
  const bool usable = child != nullptr && child->state() == ChildState::Ready;
  if (!usable) proven_ = false;
  if (usable && unusable_since_) {
    shared_.counts.last_recovery = now - *unusable_since_;
    unusable_since_.reset();
  } else if (!usable && !unusable_since_) {
    unusable_since_ = now;
  }
}

}  // namespace holdfast::rpc
