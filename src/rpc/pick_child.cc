#include "rpc/pick_child.h"

#include <algorithm>
#include <utility>

namespace holdfast::rpc::pick {
namespace {

bool is_child_due(const std::optional<Time>& at, Time now) {
  return at && *at <= now;
}

// Fisher and Yates.
void shuffle(std::vector<std::string>& list, Rng& rng) {
  for (size_t left = list.size(); left > 1; --left) {
    std::swap(list[left - 1], list[rng.below(uint64_t{left})]);
  }
}

}  // namespace

Child::Child(Shared& shared, ChildSetup setup)
    : shared_(shared),
      setup_(std::move(setup)),
      redial_(shared.options.redial, shared.rng.next()),
      watch_retry_(shared.options.watch_retry, shared.rng.next()) {}

void Child::dial(Time now, Actions& out) {
  if (round_.empty()) {
    begin_round(now, out);
    return;
  }
  address_ = std::move(round_.back());
  round_.pop_back();
  connection_ = ++shared_.last_connection;
  shared_.counts.dialled += 1;
  out.push_back(Dial{connection_, address_, setup_.credentials});
}

void Child::begin_round(Time now, Actions& out) {
  round_ = setup_.addresses;
  shuffle(round_, shared_.rng);
  // The list is used up from its end, so what is to be dialled last goes to its front.
  const auto avoided = std::ranges::find(round_, std::exchange(setup_.avoided, {}));
  if (avoided != round_.end()) std::rotate(round_.begin(), avoided, avoided + 1);
  const std::string preferred = std::exchange(setup_.preferred, {});
  std::erase(round_, preferred);
  if (!preferred.empty()) round_.push_back(preferred);
  dial(now, out);
}

void Child::connected(Time now, Actions& out) {
  connected_at_ = now;
  impatient_ = false;
  if (shared_.options.ask_server) {
    out.push_back(Discover{connection_});
  } else {
    health_ = Health::Ready;
  }
}

void Child::closed(Time now, Actions& out) {
  out.push_back(Drop{connection_});
  const bool settled =
      connected_at_ && (answered_ || now - *connected_at_ >= shared_.options.settled_after);
  if (!connected_at_) shared_.counts.failed_dials += 1;
  forget_connection();
  if (settled) {
    redial_.reset();
    round_.clear();
  } else if (round_.empty()) {
    redial_at_ = now + redial_.next();
    return;
  }
  dial(now, out);
}

void Child::forget_connection() {
  connection_ = 0;
  connected_at_.reset();
  health_ = Health::Connecting;
  discovered_ = discovery_failed_ = refused_ = refuses_ = probing_ = silent_ = false;
  answered_ = paired_ = aside_ = fenced_ = false;
  beat_ = Duration::zero();
  doubted_until_.reset();
  missed_at_.reset();
  watch_at_.reset();
  probe_at_.reset();
  silent_at_.reset();
  watch_retry_.reset();
}

void Child::discovered(const Discovery& discovery, Actions& out) {
  if (discovered_) return;
  discovered_ = true;
  alive();
  using Outcome = Discovery::Outcome;
  if (discovery.outcome == Outcome::Answered) setup_.mode = discovery.mode;
  if (discovery.outcome == Outcome::Unimplemented) setup_.mode = Mode{};
  discovery_failed_ = discovery.outcome == Outcome::Failed;
  if (discovery.outcome == Outcome::NotActive) {
    // It may serve before another is found: its health tells.
    health_ = Health::Failing;
    out.push_back(WatchHealth{connection_, health_service()});
    return;
  }
  refused_ = discovery_failed_ && setup_.must_be_accepted;
  if (refused_) {
    health_ = Health::Failing;
  } else if (discovery.outcome == Outcome::Answered && discovery.mode.health_service) {
    out.push_back(WatchHealth{connection_, *discovery.mode.health_service});
  } else {
    health_ = Health::Ready;
  }
}

void Child::health(bool serving, Time now) {
  alive();
  watch_retry_.reset();
  if (serving && std::exchange(aside_, false) && !fenced_) doubted_until_.reset();
  health_ = serving ? Health::Ready : Health::Failing;
  if (beat_ > Duration::zero()) missed_at_ = now + beat_ * shared_.options.missed_beats;
}

void Child::expect_beats(Duration interval, Time now) {
  beat_ = interval;
  missed_at_ = now + beat_ * shared_.options.missed_beats;
}

void Child::watch_ended(WatchEnd end, Time now) {
  missed_at_.reset();
  if (end == WatchEnd::Unimplemented) {
    health_ = Health::Ready;
    return;
  }
  health_ = Health::Failing;
  watch_at_ = now + watch_retry_.next();
}

void Child::doubt() {
  fresh_doubt_ = true;
  shared_.counts.doubts += 1;
}

void Child::unanswered(Time now, Actions& out) {
  if (!is_connected()) {
    impatient_ = true;
    doubt();
  } else if (silent_) {
    doubt();
  } else if (health_ == Health::Failing) {
    answered_unavailable(now);   // it says so itself
    aside_ = aside_ || paired_;  // until it says otherwise
  } else if (!silent_at_ && shared_.options.ask_server) {
    silent_at_ = now + probe_timeout();
    if (!probing_) probe_at_ = now;
    tick(now, out);
  }
}

void Child::answered_unavailable(Time now) {
  doubted_until_ = now + shared_.options.doubted_for;
  doubt();
}

void Child::answered_refused(Time now) {
  answered_unavailable(now);
  refuses_ = true;
}

void Child::answered_not_active(bool fenced, Time now) {
  answered_unavailable(now);
  paired_ = true;
  aside_ = true;
  fenced_ = fenced_ || fenced;
}

// Who looks so late that another beat was due has been away itself, and gives it one more.
void Child::miss_beats(Time now) {
  const bool late = now - *missed_at_ > beat_;
  missed_at_.reset();
  if (late) {
    missed_at_ = now + beat_;
    return;
  }
  shared_.counts.missed_beats += 1;
  silent_ = true;
  silent_at_.reset();
  if (!probing_) probe_at_ = now;
  doubt();
}

void Child::probe_ended(bool answered, Time now) {
  probing_ = false;
  if (answered) {
    alive();
  } else if (silent_ || silent_at_) {
    probe_at_ = now + probe_timeout();
  }
}

void Child::alive() {
  silent_ = false;
  silent_at_.reset();
  probe_at_.reset();
}

void Child::answered() {
  alive();
  answered_ = true;
}

void Child::tick(Time now, Actions& out) {
  if (is_child_due(doubted_until_, now)) {
    doubted_until_.reset();
    refuses_ = aside_ = fenced_ = false;
  }
  if (is_child_due(missed_at_, now)) miss_beats(now);
  if (is_child_due(silent_at_, now)) {
    silent_at_.reset();
    silent_ = true;
    doubt();
  }
  if (is_child_due(probe_at_, now)) {
    probe_at_.reset();
    probing_ = true;
    out.push_back(Probe{connection_, health_service()});
  }
  if (is_child_due(watch_at_, now)) {
    watch_at_.reset();
    out.push_back(WatchHealth{connection_, health_service()});
  }
  if (is_child_due(redial_at_, now)) {
    redial_at_.reset();
    dial(now, out);
  }
}

std::string Child::health_service() const {
  return setup_.mode && setup_.mode->health_service ? *setup_.mode->health_service : "";
}

std::optional<Time> Child::next_deadline() const {
  std::optional<Time> first;
  for (const auto& at :
       {doubted_until_, silent_at_, missed_at_, probe_at_, watch_at_, redial_at_}) {
    if (at && (!first || *at < *first)) first = at;
  }
  return first;
}

ChildState Child::state() const {
  if (!is_connected()) return ChildState::Connecting;
  if (is_doubted()) return ChildState::Unhealthy;
  if (health_ == Health::Connecting) return ChildState::Connecting;
  return health_ == Health::Ready ? ChildState::Ready : ChildState::Unhealthy;
}

bool Child::is_stuck(Time now) const {
  return connected_at_ && health_ == Health::Connecting &&
         now - *connected_at_ >= shared_.options.connect_timeout;
}

}  // namespace holdfast::rpc::pick
