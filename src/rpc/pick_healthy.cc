#include "rpc/pick_healthy.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::rpc {

using pick::Actions;
using pick::Child;
using pick::ChildState;

namespace {

Status closed_error() {
  return absl::FailedPreconditionError("the link is closed");
}

bool is_due(const std::optional<Time>& at, Time now) {
  return at && *at <= now;
}

}  // namespace

PickHealthy::PickHealthy(PickHealthyOptions options, std::vector<std::string> addresses,
                         uint64_t seed)
    : shared_{.options = options, .rng = Rng(seed)},
      addresses_(std::move(addresses)),
      backoff_(options.base_backoff),
      press_wait_(options.pressed_wait) {
  HF_CHECK(!addresses_.empty(), "there is at least one address");
}

Actions PickHealthy::start(Time now) {
  Actions out;
  if (closed_ || started_) return out;
  started_ = true;
  unusable_since_ = now;
  if (paused_) return out;
  active_ = make_child({});
  active_->dial(now, out);
  settle(now, out);
  return out;
}

void PickHealthy::close() {
  closed_ = true;
  active_.reset();
  backup_.reset();
  calm();
  replace_at_.reset();
  picked_ = 0;
}

Child* PickHealthy::find(uint64_t connection) const {
  if (connection == 0) return nullptr;
  if (active_ && active_->connection() == connection) return active_.get();
  if (backup_ && backup_->connection() == connection) return backup_.get();
  return nullptr;
}

bool PickHealthy::has_child(uint64_t connection) const {
  return find(connection) != nullptr;
}

bool PickHealthy::is_doubted(uint64_t connection) const {
  const Child* child = find(connection);
  return child != nullptr && child->is_doubted();
}

bool PickHealthy::would_be_news(uint64_t connection) const {
  const Child* child = find(connection);
  if (child == nullptr) return false;
  return child->is_doubted() || !child->has_answered() || (child == active_.get() && !proven_);
}

bool PickHealthy::is_silent(uint64_t connection) const {
  const Child* child = find(connection);
  return child != nullptr && child->is_silent();
}

// Changes the child that has this connection; nothing if none has it any more.
template <typename Change>
Actions PickHealthy::change(uint64_t connection, Time now, Change&& change) {
  Actions out;
  Child* child = find(connection);
  if (child == nullptr) return out;
  change(*child, out);
  settle(now, out);
  return out;
}

Actions PickHealthy::on_connected(uint64_t connection, Time now) {
  return change(connection, now, [&](Child& child, Actions& out) {
    if (child.is_connected()) return;
    child.connected(now, out);
    if (&child == active_.get()) arm_replace(now);
  });
}

Actions PickHealthy::on_closed(uint64_t connection, Time now) {
  return change(connection, now, [&](Child& child, Actions& out) { child.closed(now, out); });
}

Actions PickHealthy::on_discovered(uint64_t connection, const pick::Discovery& discovery,
                                   Time now) {
  return change(connection, now,
                [&](Child& child, Actions& out) { child.discovered(discovery, out); });
}

Actions PickHealthy::on_health(uint64_t connection, bool serving, Time now) {
  return change(connection, now, [&](Child& child, Actions& out) {
    const bool before = child.stands_aside();
    child.health(serving, now);
    // Sent on its own by a half that stopped serving: the other one does, or is about to.
    if (!before && child.stands_aside() && &child == active_.get()) follow(child, {}, now, out);
  });
}

Actions PickHealthy::on_paired(uint64_t connection, Time now) {
  return change(connection, now, [&](Child& child, Actions&) { child.paired(); });
}

Actions PickHealthy::on_beats(uint64_t connection, Duration interval, Time now) {
  return change(connection, now,
                [&](Child& child, Actions&) { child.expect_beats(interval, now); });
}

Actions PickHealthy::on_watch_ended(uint64_t connection, pick::WatchEnd end, Time now) {
  return change(connection, now, [&](Child& child, Actions&) { child.watch_ended(end, now); });
}

Actions PickHealthy::on_probe_ended(uint64_t connection, bool answered, Time now) {
  return change(connection, now, [&](Child& child, Actions&) { child.probe_ended(answered, now); });
}

Actions PickHealthy::on_unanswered(uint64_t connection, Time now) {
  // A call that waits for any connection waits for the active, unless it has one by now.
  if (connection == 0 && active_ && !active_->is_connected()) connection = active_->connection();
  if (connection == 0 && active_ && !active_->is_connected()) {
    Actions out;
    active_->unanswered(now, out);  // between two rounds of dialling it has no connection
    settle(now, out);
    return out;
  }
  return change(connection, now, [&](Child& child, Actions& out) { child.unanswered(now, out); });
}

Actions PickHealthy::on_unavailable(uint64_t connection, Time now) {
  return change(connection, now, [&](Child& child, Actions&) { child.answered_unavailable(now); });
}

Actions PickHealthy::on_refused(uint64_t connection, Time now) {
  return change(connection, now, [&](Child& child, Actions&) { child.answered_refused(now); });
}

Actions PickHealthy::on_answered(uint64_t connection, Time now) {
  return change(connection, now, [&](Child& child, Actions&) {
    child.answered();
    proven_ = proven_ || &child == active_.get();
  });
}

Actions PickHealthy::on_not_active(uint64_t connection, const std::string& active, Time now) {
  return change(connection, now, [&](Child& child, Actions& out) {
    shared_.counts.not_active += 1;
    child.answered_not_active(false, now);
    follow(child, active, now, out);
  });
}

Actions PickHealthy::on_fenced(uint64_t connection, Time now) {
  return change(connection, now, [&](Child& child, Actions& out) {
    shared_.counts.not_active += 1;
    child.answered_not_active(true, now);
    follow(child, {}, now, out);
  });
}

Result<Actions> PickHealthy::use_credentials(Time now) {
  if (closed_) return closed_error();
  if (paused_) return replace_credentials(now);
  Actions out;
  credentials_ += 1;
  if (!active_) return out;
  replacing_ = true;
  calm();
  drop_backup(out);
  settle(now, out);
  return out;
}

Result<Actions> PickHealthy::replace_credentials(Time now) {
  if (closed_) return closed_error();
  Actions out;
  credentials_ += 1;
  paused_ = false;
  if (!started_) return out;
  drop_all(out);
  active_ = make_child({});
  active_->dial(now, out);
  settle(now, out);
  return out;
}

Actions PickHealthy::pause(Time now) {
  Actions out;
  if (closed_ || paused_) return out;
  paused_ = true;
  if (!active_) return out;
  drop_all(out);
  active_.reset();
  if (picked_ != 0) out.push_back(pick::Pick{0});
  picked_ = 0;
  if (!unusable_since_) unusable_since_ = now;
  proven_ = false;
  return out;
}

// What they were replaced for is over with them.
void PickHealthy::drop_all(Actions& out) {
  calm();
  replacing_ = false;
  replace_at_.reset();
  drop_backup(out);
  if (active_ && active_->connection() != 0) out.push_back(pick::Drop{active_->connection()});
}

Result<Actions> PickHealthy::set_addresses(std::vector<std::string> addresses, Time now) {
  if (closed_) return closed_error();
  if (addresses.empty()) return absl::InvalidArgumentError("there is at least one address");
  Actions out;
  addresses_ = std::move(addresses);
  if (!active_) return out;
  active_->set_addresses(addresses_);
  if (backup_) backup_->set_addresses(addresses_);
  const bool gone = std::ranges::find(addresses_, active_->address()) == addresses_.end();
  if (gone && active_->is_connected()) replacing_ = true;
  settle(now, out);
  return out;
}

Actions PickHealthy::set_reconnect_interval(Duration interval, Time now) {
  Actions out;
  if (closed_ || interval == shared_.options.reconnect_interval) return out;
  shared_.options.reconnect_interval = interval;
  replace_at_.reset();
  const bool counts = active_ && active_->is_connected() && interval > Duration::zero();
  if (counts) replace_at_ = now + shared_.rng.below(interval);
  return out;
}

Actions PickHealthy::on_tick(Time now) {
  Actions out;
  if (!active_) return out;
  active_->tick(now, out);
  if (backup_) backup_->tick(now, out);
  if (is_due(replace_at_, now)) {
    replace_at_.reset();
    replacing_ = true;
  }
  if (is_due(press_at_, now)) press(now, out);
  if (is_due(connect_at_, now) || is_due(reconnect_at_, now)) timer_fired(now, out);
  settle(now, out);
  return out;
}

std::optional<Time> PickHealthy::next_deadline() const {
  std::optional<Time> first;
  const auto consider = [&first](const std::optional<Time>& at) {
    if (at && (!first || *at < *first)) first = at;
  };
  if (active_) consider(active_->next_deadline());
  if (backup_) consider(backup_->next_deadline());
  consider(connect_at_);
  consider(reconnect_at_);
  consider(press_at_);
  consider(replace_at_);
  return first;
}

}  // namespace holdfast::rpc
