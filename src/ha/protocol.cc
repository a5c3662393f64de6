#include "ha/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/reason.h"

namespace holdfast::ha {
namespace {

// A peer that lacks no more than this is required again: the rest follows in a moment.
constexpr store::Revision kNearby = 128;
// A primary that never saw a higher epoch was never followed by anyone.
constexpr Epoch kFirstEpoch = 1;

Histories compare(const Head& mine, const Head& peers) {
  if (mine.epoch == peers.epoch && mine.revision == peers.revision) return Histories::Equal;
  const bool ahead = std::pair(peers.epoch, peers.revision) > std::pair(mine.epoch, mine.revision);
  return ahead ? Histories::PeerAhead : Histories::PeerBehind;
}

}  // namespace

Protocol::Protocol(Config config, Durable durable)
    : me_(config.me),
      mode_(config.mode),
      store_id_(std::move(durable.store_id)),
      state_(initial_state(config.me)),
      promised_(durable.promised),
      head_(durable.head) {}

PeerFacts Protocol::facts() const {
  return {.member = me_,
          .state = state_,
          .promised = promised_,
          .head = head_,
          .store_id = store_id_,
          .record = record_,
          .hands_over = hands_over_};
}

bool Protocol::is_member(const Record& record) const {
  return record.in_sync.has(me_) && record.store_id(me_) == store_id_;
}

Epoch Protocol::highest() const {
  const Epoch peers = peer_ ? peer_->promised : 0;
  return std::max({promised_, record_.epoch, peers});
}

store::Revision Protocol::acknowledged() const {
  return required_ == Members::both() ? std::min(head_.revision, acked_) : head_.revision;
}

bool Protocol::peer_in_sync() const {
  if (state_ != State::Active) return false;
  if (with_witness() && record_.in_sync != Members::both()) return false;
  return acked_ >= acknowledged() && acked_ > 0;
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
  if (!with_witness()) {
    const Members required = mode_ == Mode::Sync ? Members::both() : Members::of(me_);
    return begin(next_epoch(highest(), me_), required);
  }
  if (wish_ == Wish::Claim) return {};
  if (record_.epoch == 0 || !is_member(record_)) {
    wants_claim_ = true;
    return wish_ == Wish::Read ? Actions() : ask(Wish::Read);
  }
  return change_record(Wish::Claim, next_epoch(highest(), me_), Members::of(me_));
}

void Protocol::follow() {
  state_ = State::Passive;
  epoch_ = 0;
  required_ = {};
  acked_ = 0;
  raised_at_ = 0;
  // Whatever was asked for is not wanted any more.
  wish_ = Wish::None;
  asked_ += 1;
  beginning_.reset();
  wants_claim_ = false;
  hands_over_ = 0;
  frozen_ = false;
  quiet_ = false;
  forced_ = false;
}

Actions Protocol::on_peer(const PeerFacts& facts, bool alive) {
  misconfigured_ = facts.member == me_;
  if (misconfigured_) return {};
  peer_ = facts;
  if (facts.state == State::Active && facts.promised >= hands_over_) hands_over_ = 0;
  if (facts.state == State::Active) wants_claim_ = false;
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
    if (!ours || state_ == State::Active || beginning_) return {};
    return begin(facts.hands_over, mode_ == Mode::Sync ? Members::both() : Members::of(me_));
  }
  if (facts.record.epoch <= record_.epoch || state_ == State::Active) return {};
  // An active peer knows who may follow it; one that handed over knows that it is us.
  if (facts.state != State::Active) return learn(facts.record);
  if (facts.record.active() != me_) record_ = facts.record;
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
      if (!with_witness() && hands_over_ == 0) state_ = initial_state(me_);
      return {};
    case Outcome::Resolve:
      // The lower epoch gives way.
      if (facts.promised > epoch_) follow();
      return {};
    case Outcome::Misconfigured:
      misconfigured_ = true;
      return {};
    case Outcome::Stay:
    case Outcome::Serve:
    case Outcome::Redirect:
      break;
  }
  // It takes nothing of our epoch any more: we need a higher one.
  if (state_ != State::Active || facts.promised <= epoch_ || beginning_) return {};
  const Epoch higher = next_epoch(highest(), me_);
  if (!with_witness()) return begin(higher, required_);
  return wish_ == Wish::None ? change_record(Wish::Drop, higher, Members::of(me_)) : Actions();
}

// None of the two is active, and both are there.
Actions Protocol::claim_beside(const PeerFacts& facts) {
  if (hands_over_ != 0) return {};
  if (!with_witness() || record_.epoch == 0) return claim();
  // Whom the record names goes on by itself, unless it came back with another disk.
  const Member peer = other(me_);
  const bool lost = record_.active() == peer && facts.store_id != record_.store_id(peer);
  return lost ? claim() : Actions();
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
  if (verdict.outcome == Outcome::Claim) verdict.actions = claim();
  return verdict;
}

Actions Protocol::on_peer_lost() {
  const bool alone = required_ == Members::of(me_);
  if (state_ != State::Active || !with_witness() || alone || beginning_) return {};
  if (wish_ == Wish::Drop || record_.epoch == 0) return on_retry();
  if (frozen_ && wish_ == Wish::HandOver) return {};  // first we must know what became of it
  frozen_ = false;
  quiet_ = false;
  return change_record(Wish::Drop, next_epoch(highest(), me_), Members::of(me_));
}

Actions Protocol::on_retry() {
  if (!with_witness() || wish_ != Wish::None || beginning_) return {};
  const bool unknown = record_.epoch == 0 || (state_ == State::Active && record_.epoch < epoch_);
  const bool named = state_ != State::Active && record_.active() == me_ && is_member(record_);
  return unknown || named || frozen_ ? ask(Wish::Read) : Actions();
}

Actions Protocol::doubt() {
  if (!with_witness() || wish_ != Wish::None || beginning_) return {};
  return ask(Wish::Read);
}

Actions Protocol::on_witness_silent(uint64_t id) {
  if (id != asked_) return {};
  const Wish wish = std::exchange(wish_, Wish::None);
  // Nobody was ever in sync with a primary that saw no higher epoch: nobody else can be active.
  const bool first = wants_claim_ && wish == Wish::Read && record_.epoch == 0 &&
                     me_ == Member::Primary && promised_ <= kFirstEpoch;
  if (first) return begin(kFirstEpoch, Members::of(me_));
  // A record may name the peer by now: nothing is written until it is known.
  return {};
}

Actions Protocol::on_witness(uint64_t id, const WitnessAnswer& answer) {
  if (id != asked_) return {};
  const Wish wish = std::exchange(wish_, Wish::None);
  if (answer.current.epoch == 0) return on_no_record();
  if (!answer.accepted) return learn(answer.current);
  record_ = answer.current;
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
  if (me_ != Member::Primary || promised_ > kFirstEpoch) return {};
  return change_record(Wish::Claim, kFirstEpoch, Members::of(me_));
}

// What the witness's record is now, if it is not what we asked for.
Actions Protocol::learn(const Record& record) {
  record_ = record;
  const bool claims = std::exchange(wants_claim_, false);
  if (state_ == State::Active) {
    if (forced_ && record.epoch < epoch_) {
      return change_record(Wish::Recreate, next_epoch(epoch_, me_), Members::of(me_));
    }
    if (record.active() != me_ && record.epoch > epoch_) follow();
    const bool ours = record.active() == me_ && is_member(record);
    // A change of ours whose answer was lost. Both are required: it may be older than that.
    if (state_ == State::Active && ours && record.epoch > epoch_) {
      return begin(record.epoch, Members::both());
    }
    if (state_ == State::Active && frozen_) frozen_ = quiet_ = false;
    return {};
  }
  if (record.active() == me_ && is_member(record)) {
    if (beginning_) return {};
    // Someone was forced meanwhile: what is recorded is over.
    if (record.epoch < promised_) return claim();
    // As we were when we stopped, or handed over to us.
    return begin(record.epoch, Members::both());
  }
  return claims && is_member(record) ? claim() : Actions();
}

Actions Protocol::on_tenure(Epoch epoch) {
  if (!beginning_ || beginning_->epoch != epoch) return {};
  const Beginning begun = *std::exchange(beginning_, std::nullopt);
  if (state_ != State::Active) {
    acked_ = 0;
    acked_store_.clear();
    raised_at_ = 0;
  }
  state_ = State::Active;
  epoch_ = epoch;
  promised_ = std::max(promised_, epoch);
  required_ = begun.required;
  if (required_ == Members::of(me_)) raised_at_ = 0;
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
  if (store_id != acked_store_) acked_ = 0;
  acked_store_ = store_id;
  acked_ = std::max(acked_, head.revision);
  return frozen_ ? try_hand_over() : grow_back();
}

// A peer that was left behind has caught up: required first, recorded after.
Actions Protocol::grow_back() {
  if (mode_ == Mode::BestEffort || beginning_) return {};
  const bool recorded = !with_witness() || (record_.in_sync == Members::both() &&
                                            record_.store_id(other(me_)) == acked_store_);
  if (required_ == Members::both() && recorded) return {};
  if (with_witness() && (record_.epoch == 0 || wish_ != Wish::None)) return {};
  if (head_.revision - acked_ > kNearby) return {};
  if (required_ != Members::both()) {
    required_ = Members::both();
    raised_at_ = head_.revision;
  }
  if (!with_witness()) return {};
  if (raised_at_ == 0) raised_at_ = head_.revision;
  if (acked_ < raised_at_) return {};
  return change_record(Wish::Admit, next_epoch(highest(), me_), Members::both());
}

Status Protocol::on_replicate(Epoch epoch) {
  const bool below = epoch < promised_ || (state_ == State::Active && epoch <= epoch_);
  if (below || active_in(epoch) == me_) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF4103",
                 fmt::format("epoch {} is over: this half has promised {}", epoch, promised_));
  }
  if (state_ != State::Passive) follow();
  return absl::OkStatus();
}

void Protocol::on_appended(Epoch epoch, const Head& head) {
  promised_ = std::max(promised_, epoch);
  head_ = head;
}

Status Protocol::switch_over() {
  const auto refuse = [](std::string_view why) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF4104", why);
  };
  if (state_ != State::Active) return refuse("this half is not the active one");
  if (!peer_ || !peer_in_sync() || beginning_) return refuse("the other half is not in sync");
  if (with_witness() && wish_ != Wish::None) return refuse("a change is on its way; try again");
  frozen_ = true;
  quiet_ = false;
  return absl::OkStatus();
}

Actions Protocol::on_quiet() {
  quiet_ = true;
  return try_hand_over();
}

void Protocol::thaw() {
  const bool asked = with_witness() && quiet_ && acked_ >= head_.revision;
  if (!frozen_ || asked) return;
  frozen_ = quiet_ = false;
}

Actions Protocol::try_hand_over() {
  const bool ready = frozen_ && quiet_ && state_ == State::Active && acked_ >= head_.revision;
  if (!ready || wish_ != Wish::None || beginning_) return {};
  const Epoch next = next_epoch(highest(), other(me_));
  if (with_witness()) return change_record(Wish::HandOver, next, Members::both());
  follow();
  hands_over_ = next;
  return {};
}

Actions Protocol::force() {
  forced_ = true;
  wish_ = Wish::None;
  asked_ += 1;
  frozen_ = quiet_ = false;
  return begin(next_epoch(highest(), me_), Members::of(me_));
}

}  // namespace holdfast::ha
