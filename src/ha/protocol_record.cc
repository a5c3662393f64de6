// What one half makes of the witness's record: how it changes it, and what it learns from it.
#include <algorithm>
#include <utility>

#include "ha/protocol.h"

namespace holdfast::ha {
namespace {

// In this one the primary is alone. It admits nobody in it, so a primary that has seen no higher
// one was never followed by anyone.
constexpr Epoch kFirstEpoch = 1;

}  // namespace

bool Protocol::is_member(const Record& record) const {
  return record.in_sync.has(me_) && record.store_id(me_) == store_id_;
}

// Whoever was active later, by what we have followed, need not have asked it.
bool Protocol::is_outdated(const Record& record) const {
  return record.epoch < std::max(promised_, record_.epoch);
}

Actions Protocol::ask(Wish wish, std::optional<RecordChange> change) {
  wish_ = wish;
  asked_ += 1;
  return {AskWitness{.id = asked_, .change = std::move(change)}};
}

Record Protocol::record_for(Epoch epoch, Members in_sync) const {
  Record record{.epoch = epoch, .in_sync = in_sync};
  record.store_id(me_) = store_id_;
  if (in_sync == Members::both()) {
    record.store_id(other(me_)) =
        acked_store_.empty() ? record_.store_id(other(me_)) : acked_store_;
  }
  return record;
}

Actions Protocol::change_record(Wish wish, Epoch epoch, Members in_sync) {
  return ask(
      wish, RecordChange{
                .expected = record_.epoch, .record = record_for(epoch, in_sync), .force = forced_});
}

// None of the two is active, and both are there. Whom the record names goes on by itself, unless it
// came back with another disk. What we know of the record may be old.
Actions Protocol::claim_by_record(const PeerFacts& facts) {
  if (!with_witness() || facts.state == State::Active) return {};
  const Member peer = other(me_);
  const bool lost =
      record_.epoch != 0 && record_.active() == peer && record_.store_id(peer) != facts.store_id;
  if (lost && is_member(record_)) return claim();
  return wish_ == Wish::None && !beginning_ ? ask(Wish::Read) : Actions();
}

// The peer is not there: recorded first, not required after.
Actions Protocol::on_peer_lost() {
  if (!with_witness()) frozen_ = quiet_ = false;  // whom would it hand over to?
  const bool alone = required_ == Members::of(me_);
  if (state_ != State::Active || !with_witness() || alone || beginning_) return {};
  if (wish_ == Wish::Drop || record_.epoch == 0) return on_retry();
  if (frozen_ && wish_ == Wish::HandOver) return {};  // first we must know what became of it
  frozen_ = quiet_ = false;
  return change_record(Wish::Drop, next_epoch(highest(), me_), Members::of(me_));
}

// A peer that was left behind has caught up: required first, recorded after.
Actions Protocol::grow_back() {
  if (mode_ == Mode::BestEffort || beginning_ || acked_ == 0) return {};
  const bool recorded = !with_witness() || (record_.in_sync == Members::both() &&
                                            record_.store_id(other(me_)) == acked_store_);
  if (required_ == Members::both() && recorded) return {};
  if (with_witness() && (record_.epoch < epoch_ || wish_ != Wish::None)) return {};
  if (with_witness() && epoch_ == kFirstEpoch) {
    return change_record(Wish::Drop, next_epoch(highest(), me_), Members::of(me_));
  }
  if (head_.revision - acked_ > kNearby) return {};
  if (required_ != Members::both()) {
    required_ = Members::both();
    settled_ = raised_at_ = head_.revision;
  }
  if (!with_witness()) return {};
  if (raised_at_ == 0) raised_at_ = head_.revision;
  if (acked_ < raised_at_) return {};
  return change_record(Wish::Admit, next_epoch(highest(), me_), Members::both());
}

Actions Protocol::found() {
  const bool is_new = me_ == Member::Primary && promised_ == 0 && is_empty();
  if (!is_new || state_ == State::Active || beginning_) return {};
  wants_claim_ = false;
  wish_ = Wish::None;
  asked_ += 1;  // what the witness says later does not count
  return begin(kFirstEpoch, Members::of(me_));
}

Actions Protocol::on_retry() {
  if (!with_witness() || wish_ != Wish::None || beginning_) return {};
  const bool active = state_ == State::Active;
  const bool unknown = record_.epoch == 0 || (active && record_.epoch < epoch_);
  const bool named = !active && record_.active() == me_ && is_member(record_);
  if (unknown || named || (frozen_ && asked_to_hand_over_)) return ask(Wish::Read);
  if (frozen_) return try_hand_over();
  return active ? grow_back() : Actions();
}

Actions Protocol::doubt() {
  if (!with_witness() || wish_ != Wish::None || beginning_) return {};
  return ask(Wish::Read);
}

Actions Protocol::on_witness_silent(uint64_t id) {
  if (id != asked_) return {};
  asked_ += 1;  // what it says later does not count
  const Wish wish = std::exchange(wish_, Wish::None);
  const bool alone =
      me_ == Member::Primary && (promised_ == kFirstEpoch || (promised_ == 0 && first_of_pair_));
  const bool unknown = wish == Wish::Read && record_.epoch == 0 && state_ != State::Active;
  const bool wanted = std::exchange(wants_claim_, false);
  if (wanted && unknown && alone) return begin(kFirstEpoch, Members::of(me_));
  // Else nothing is known: the change may have been made.
  return {};
}

Actions Protocol::on_witness(uint64_t id, const WitnessAnswer& answer) {
  if (id != asked_) return {};
  const Wish wish = std::exchange(wish_, Wish::None);
  outdated_ = 0;
  if (answer.current.epoch == 0) return on_no_record();
  if (!answer.accepted) return learn(answer.current);
  record_ = answer.current;
  forced_ = false;
  return on_accepted(wish);
}

Actions Protocol::on_accepted(Wish wish) {
  switch (wish) {
    case Wish::Claim:
    case Wish::Drop:
      return begin(record_.epoch, Members::of(me_));
    case Wish::Admit:
      return begin(record_.epoch, Members::both());
    case Wish::Recreate:
      return begin(record_.epoch, record_.in_sync);
    case Wish::HandOver:
      follow();
      return {};
    case Wish::None:
    case Wish::Read:
    case Wish::Restore:
      break;
  }
  return {};
}

// The witness has no record: it is new, or it lost its disk.
Actions Protocol::on_no_record() {
  record_ = {};
  if (state_ == State::Active) {
    const bool certain = required_ == Members::of(me_) || acked_ >= head_.revision;
    if (!certain) return {};
    return change_record(Wish::Recreate, next_epoch(epoch_, me_), required_);
  }
  if (me_ != Member::Primary || promised_ > kFirstEpoch || beginning_) return {};
  return change_record(Wish::Claim, kFirstEpoch, Members::of(me_));
}

// What the record is now, if it is not what we asked for.
Actions Protocol::learn(const Record& record) {
  const bool claims = std::exchange(wants_claim_, false);
  if (state_ == State::Active) return learn_as_active(record);
  if (is_outdated(record)) {
    outdated_ = record.epoch;
    return {};
  }
  record_ = record;
  if (beginning_ || !is_member(record)) return {};
  if (record.active() != me_) return claims ? claim() : Actions();
  // As we were when we stopped, or handed over to us. It may be older than what we did since.
  return begin(record.epoch, Members::both());
}

Actions Protocol::learn_as_active(const Record& current) {
  // What we were let on by is not there any more: it is, in the epoch that it had. Whoever has been
  // let on since by the record that was lost has a higher one, and stays.
  const bool restores = !forced_ && current.epoch < epoch_ && record_.epoch == epoch_;
  if (restores) {
    outdated_ = current.epoch;
    return ask(Wish::Restore,
               RecordChange{.expected = current.epoch, .record = record_, .force = true});
  }
  record_ = current;
  if (forced_) {  // whatever was recorded while nobody told us
    return change_record(Wish::Recreate, next_epoch(highest(), me_), Members::of(me_));
  }
  // Another question was on its way when the switchover began.
  const bool unasked = frozen_ && !asked_to_hand_over_ && record_.epoch <= epoch_;
  if (unasked) return try_hand_over();
  frozen_ = quiet_ = asked_to_hand_over_ = false;
  if (record_.epoch <= epoch_) return {};
  if (record_.active() == me_) return begin(record_.epoch, Members::both());  // the answer was lost
  follow();
  return {};
}

}  // namespace holdfast::ha
