#include "ha/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/reason.h"

namespace holdfast::ha {
namespace {

Histories compare(const Head& mine, const Head& peers) {
  if (mine.epoch == peers.epoch && mine.revision == peers.revision) return Histories::Equal;
  const bool ahead = std::pair(peers.epoch, peers.revision) > std::pair(mine.epoch, mine.revision);
  return ahead ? Histories::PeerAhead : Histories::PeerBehind;
}

}  // namespace

Protocol::Protocol(Config config, Durable durable)
    : me_(config.me),
      mode_(config.mode),
      forced_leap_(config.forced_leap),
      store_id_(std::move(durable.store_id)),
      state_(initial_state(config.me)),
      promised_(durable.promised),
      head_(durable.head),
      first_of_pair_(durable.first_of_pair) {}

PeerFacts Protocol::facts() const {
  return {.member = me_,
          .state = state_,
          .promised = promised_,
          .head = head_,
          .store_id = store_id_,
          .record = record_,
          .hands_over = hands_over_};
}

Epoch Protocol::highest() const {
  return std::max({promised_, record_.epoch, peer_promised_.value_or(0)});
}

store::Revision Protocol::acknowledged() const {
  if (required_ != Members::both()) return head_.revision;
  return std::max(settled_, std::min(head_.revision, acked_));
}

bool Protocol::peer_in_sync() const {
  if (state_ != State::Active) return false;
  const bool recorded = record_.epoch >= epoch_ && record_.in_sync == Members::both() &&
                        record_.store_id(other(me_)) == acked_store_;
  return (recorded || !with_witness()) && acked_ > 0 && acked_ >= acknowledged();
}

bool Protocol::peer_may_follow() const {
  if (mode_ != Mode::BestEffort) return peer_in_sync();
  return state_ == State::Active && acked_ > 0 && head_.revision - acked_ <= kNearby;
}

bool Protocol::may_write() const {
  if (state_ != State::Active || frozen_) return false;
  return mode_ != Mode::Sync || required_ != Members::both() || acked_ > 0;
}

Members Protocol::required_by_mode() const {
  return mode_ == Mode::BestEffort ? Members::of(me_) : Members::both();
}

Actions Protocol::begin(Epoch epoch, Members required) {
  beginning_ = Beginning{.epoch = epoch, .required = required};
  return {BeginTenure{.epoch = epoch}};
}

Actions Protocol::start() {
  return with_witness() ? ask(Wish::Read) : Actions();
}

// Becoming active: by the witness's leave, or without one by what was heard.
Actions Protocol::claim() {
  if (misconfigured_ || state_ == State::Active || beginning_) return {};
  if (!with_witness()) return begin(next_epoch(highest(), me_), required_by_mode());
  if (wish_ == Wish::Claim) return {};
  if (record_.epoch == 0 || record_.epoch < promised_ || !is_member(record_)) {
    wants_claim_ = true;
    return wish_ == Wish::Read ? Actions() : ask(Wish::Read);
  }
  return change_record(Wish::Claim, next_epoch(highest(), me_), Members::of(me_));
}

void Protocol::follow() {
  state_ = State::Passive;
  epoch_ = 0;
  required_ = {};
  acked_ = settled_ = raised_at_ = 0;
  // Whatever was asked for is not wanted any more.
  wish_ = Wish::None;
  asked_ += 1;
  beginning_.reset();
  wants_claim_ = false;
  hands_over_ = 0;
  frozen_ = quiet_ = asked_to_hand_over_ = forced_ = false;
}

void Protocol::give_way() {
  follow();
  state_ = initial_state(me_);
}

Actions Protocol::on_peer(const PeerFacts& facts, bool alive) {
  misconfigured_ = facts.member == me_;
  if (misconfigured_) return {};
  peer_promised_ = facts.promised;
  // It took what we handed over, or will not take it any more.
  if (facts.promised >= hands_over_) hands_over_ = 0;
  if (facts.state == State::Active) wants_claim_ = false;  // whoever wished it is served
  Actions actions = on_record_of_peer(facts);
  if (!actions.empty()) return actions;
  return on_outcome(decide({.me = me_,
                            .state = state_,
                            .event = event_of(facts.state),
                            .peer_alive = alive,
                            .histories = compare(head_, facts.head)}),
                    facts);
}

// What the peer knows of who should be active.
Actions Protocol::on_record_of_peer(const PeerFacts& facts) {
  if (!with_witness()) {
    const bool ours = facts.hands_over > promised_ && active_in(facts.hands_over) == me_;
    // A disk that lost everything is not the one that was handed over to.
    const bool lost = is_empty() && facts.head.epoch != 0;
    if (!ours || state_ == State::Active || beginning_ || lost) return {};
    return begin(facts.hands_over, required_by_mode());
  }
  if (facts.record.epoch <= record_.epoch || state_ == State::Active) return {};
  // An active peer knows who may follow it; one that handed over knows that it is us.
  if (facts.state != State::Active) {
    return is_outdated(facts.record) ? Actions() : learn(facts.record);
  }
  if (facts.record.active() != me_) {
    record_ = facts.record;
    outdated_ = 0;
  }
  return {};
}

Actions Protocol::on_outcome(Outcome outcome, const PeerFacts& facts) {
  switch (outcome) {
    case Outcome::Claim:
      return claim_beside(facts);
    case Outcome::Follow:
      follow();
      return {};
    case Outcome::Revert:
      if (with_witness()) return claim_beside(facts);
      if (hands_over_ == 0) state_ = initial_state(me_);
      return {};
    case Outcome::Resolve:
      if (gives_way_to(facts))
        give_way();
      else if (facts.promised > epoch_)
        follow();
      return {};
    case Outcome::Misconfigured:
      misconfigured_ = true;
      return {};
    case Outcome::Stay:
    case Outcome::Serve:
    case Outcome::Redirect:
      break;
  }
  return state_ == State::Active ? stay_active(facts) : claim_by_record(facts);
}

// The peer is not active.
Actions Protocol::stay_active(const PeerFacts& facts) {
  if (gives_way_to(facts)) {
    give_way();
    return {};
  }
  if (facts.promised <= epoch_ || beginning_) return {};
  // It takes nothing of our epoch any more: we need a higher one.
  const Epoch higher = next_epoch(highest(), me_);
  if (!with_witness()) return begin(higher, required_);
  return wish_ == Wish::None ? change_record(Wish::Drop, higher, Members::of(me_)) : Actions();
}

// Without a witness nobody told us that we have all there is. As long as we have added nothing, a
// peer that has more may have what was acknowledged.
bool Protocol::gives_way_to(const PeerFacts& facts) const {
  const bool untouched = head_.epoch < epoch_ && acked_ == 0;
  return untouched && !with_witness() && !forced_ &&
         compare(head_, facts.head) == Histories::PeerAhead;
}

// None of the two is active, and both are there.
Actions Protocol::claim_beside(const PeerFacts& facts) {
  if (with_witness()) return claim_by_record(facts);
  // Whom we handed over to had all that we have; if it has less, it came back with another disk.
  if (hands_over_ != 0 && compare(head_, facts.head) != Histories::PeerBehind) return {};
  hands_over_ = 0;
  return claim();
}

// Without a witness nobody knows whether an empty disk replaces one that was lost. It might take an
// epoch again that the lost one had, and nobody should take it for who has everything: what it
// begins alone would win over the data of the other half.
bool Protocol::may_have_lost() const {
  if (with_witness() || !is_empty()) return false;
  if (mode_ == Mode::Sync) return true;  // it could acknowledge nothing anyway
  // Written before there was a pair, or begun by an operator and not written to yet.
  const bool has_data = head_.revision > store::kFirstRevision;
  const bool founded = me_ == Member::Primary && promised_ == next_epoch(0, me_);
  return !has_data && !founded && !first_of_pair_;
}

Protocol::Verdict Protocol::on_client(bool alive) {
  Verdict verdict;
  if (misconfigured_ && state_ != State::Active) {
    verdict.outcome = Outcome::Misconfigured;
    return verdict;
  }
  verdict.outcome =
      decide({.me = me_, .state = state_, .event = Event::ClientRequest, .peer_alive = alive});
  if (!alive) hands_over_ = 0;
  if (verdict.outcome == Outcome::Claim && may_have_lost()) verdict.outcome = Outcome::Redirect;
  if (verdict.outcome == Outcome::Claim) verdict.actions = claim();
  return verdict;
}

Actions Protocol::on_tenure(Epoch epoch) {
  promised_ = std::max(promised_, epoch);  // also if it is not wanted any more
  if (!beginning_ || beginning_->epoch != epoch) return {};
  const Beginning begun = *std::exchange(beginning_, std::nullopt);
  if (state_ != State::Active) {
    acked_ = settled_ = raised_at_ = 0;
    acked_store_.clear();
  }
  state_ = State::Active;
  epoch_ = epoch;
  required_ = begun.required;
  // Who was left behind must be heard again before it is required again.
  if (required_ == Members::of(me_)) raised_at_ = acked_ = 0;
  wants_claim_ = false;
  return {};
}

void Protocol::abandon() {
  if (state_ == State::Active) return follow();
  beginning_.reset();
}

void Protocol::on_written(const Head& head) {
  HF_CHECK(head.revision >= head_.revision, "a history does not get shorter");
  head_ = head;
}

Actions Protocol::on_acked(const Head& head, const std::string& store_id) {
  if (state_ != State::Active) return {};
  if (store_id != acked_store_) {
    // Another disk: it must show anew that it has everything.
    settled_ = acknowledged();
    acked_ = raised_at_ = 0;
    acked_store_ = store_id;
  }
  acked_ = std::max(acked_, head.revision);
  return frozen_ ? try_hand_over() : grow_back();
}

Actions Protocol::outgrow(Epoch known) {
  const bool followed = state_ == State::Active && acked_ > 0 && peer_promised_ <= epoch_;
  const bool near = known > highest() && known - highest() <= 2 * forced_leap_;
  if (with_witness() || !followed || !near || beginning_ || frozen_) return {};
  return begin(next_epoch(known, me_), required_);
}

Status Protocol::on_replicate(Epoch epoch) {
  const bool below = epoch < promised_ || (state_ == State::Active && epoch <= epoch_) ||
                     (beginning_ && epoch < beginning_->epoch);
  if (epoch > store::kMaxEpoch) {
    return absl::InvalidArgumentError(fmt::format("no half was ever active in epoch {}", epoch));
  }
  if (below || active_in(epoch) == me_) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF4103",
                 fmt::format("epoch {} is over: this half has promised {}", epoch, promised_));
  }
  // What is on its way to become a tenure of ours is of a lower epoch.
  if (state_ != State::Passive || beginning_) follow();
  return absl::OkStatus();
}

void Protocol::on_appended(Epoch epoch, const Head& head) {
  // What was let in before a tenure of ours began is on disk after it.
  if (state_ == State::Active && epoch > epoch_) follow();
  promised_ = std::max(promised_, epoch);
  head_ = head;
}

Status Protocol::switch_over() {
  const auto refuse = [](std::string_view why) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF4104", why);
  };
  if (state_ != State::Active) return refuse("this half is not the active one");
  if (!peer_promised_ || !peer_may_follow() || beginning_) {
    return refuse("the other half is not in sync");
  }
  if (with_witness() && wish_ != Wish::None) return refuse("a change is on its way; try again");
  frozen_ = true;
  quiet_ = asked_to_hand_over_ = false;
  return absl::OkStatus();
}

Actions Protocol::on_quiet() {
  quiet_ = true;
  return try_hand_over();
}

// Whatever the witness was asked: if it has let the peer begin, the peer takes nothing of our epoch
// any more, and nothing is acknowledged without it.
void Protocol::thaw() {
  frozen_ = quiet_ = asked_to_hand_over_ = false;
}

Actions Protocol::try_hand_over() {
  const bool ready = frozen_ && quiet_ && state_ == State::Active && acked_ >= head_.revision;
  if (!ready || wish_ != Wish::None || beginning_) return {};
  const Epoch next = next_epoch(highest(), other(me_));
  if (with_witness()) {
    asked_to_hand_over_ = true;
    return change_record(Wish::HandOver, next, Members::both());
  }
  follow();
  hands_over_ = next;
  return {};
}

Actions Protocol::force() {
  forced_ = true;
  wants_claim_ = false;
  wish_ = Wish::None;
  asked_ += 1;
  hands_over_ = 0;
  frozen_ = quiet_ = false;
  return begin(next_epoch(highest() + forced_leap_, me_), Members::of(me_));
}

}  // namespace holdfast::ha
