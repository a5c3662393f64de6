#include "ha/half.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/reason.h"

namespace holdfast::ha {
namespace {

// Beats to hear before a lease counts again, after a tick that was late.
constexpr int kTrustedBeats = 3;
// A tick is late if it comes so many beats after its time; so is the peer.
constexpr int kLateBeats = 2;
// Own beats whose echo may still come: more than fit into any lease.
constexpr size_t kMaxSent = 256;
// Ids of questions that are only to see whether the witness is there.
constexpr int kLongestBackoff = 4;

bool is_news(const PeerFacts& before, const PeerFacts& after) {
  return before.state != after.state || before.promised != after.promised ||
         before.record != after.record || before.hands_over != after.hands_over;
}

}  // namespace

Half::Half(HalfOptions options, Protocol::Durable durable, Time now)
    : options_(std::move(options)),
      protocol_(options_.pair, std::move(durable)),
      started_(now),
      last_tick_(now),
      silent_since_(now),
      lent_(now),
      next_ask_(now),
      next_probe_(now) {}

HalfActions Half::start(Time now) {
  started_ = last_tick_ = silent_since_ = lent_ = now;
  const PeerFacts before = protocol_.facts();
  return carry(protocol_.start(), before, now);
}

// Deadlines are never more than a beat after the tick before.
bool Half::is_late(Time now) const {
  return now - last_tick_ > (1 + kLateBeats) * options_.timing.beat;
}

bool Half::peer_is_late(Time now) const {
  return peer_silence(now) > (1 + kLateBeats) * options_.timing.beat;
}

// The process was stopped, or its machine was: nobody was silent, we were not listening.
void Half::wake(Time now) {
  if (!is_late(now)) return;
  late_ticks_ += 1;
  last_tick_ = now;
  silent_since_ = now;
  sent_.clear();
  lease_from_.reset();
  distrust_ = kTrustedBeats;
  recovered_since_.reset();
}

HalfActions Half::carry(Actions actions, const PeerFacts& before, Time now) {
  HalfActions out;
  for (Action& action : actions) {
    if (const auto* ask = std::get_if<AskWitness>(&action)) {
      open_id_ = ask->id;
      open_since_ = now;
    }
    std::visit([&](auto& one) { out.emplace_back(std::move(one)); }, action);
  }
  note_switch(before, now);
  if (!protocol_.frozen()) frozen_since_.reset();
  if (is_news(before, protocol_.facts())) out.emplace_back(SendBeat{});
  return out;
}

// The same for what is tried again and again until it works: not more often than beats are sent.
HalfActions Half::paced(Actions actions, const PeerFacts& before, Time now) {
  if (!actions.empty()) next_ask_ = std::max(next_ask_, now + options_.timing.beat);
  return carry(std::move(actions), before, now);
}

void Half::note_switch(const PeerFacts& before, Time now) {
  if (before.state == State::Active && !is_active()) {
    stalled_.reset();
    acked_ = 0;
    active_sign_ = now;
    cause_ = frozen_since_ ? "switchover" : "";
  }
  if (before.state == State::Active || !is_active()) return;
  needs_copy_ = false;  // what we have is what the other is to have
  const Duration took = active_sign_ ? now - *active_sign_ : Duration::zero();
  if (cause_.empty()) cause_ = last_active_epoch_ == 0 ? "start" : "the record names this half";
  last_switch_ = {.at = now,
                  .to = options_.pair.me,
                  .reason = std::exchange(cause_, {}),
                  .took = took,
                  .epoch = protocol_.epoch()};
  last_active_ = options_.pair.me;
  last_active_epoch_ = protocol_.epoch();
  voted_.reset();
}

// False: it is one that the peer has left behind. If it is there when its successor is not, then
// there were two at once, as when a machine was copied: an echo in it is too old for any lease.
bool Half::take_process(const std::string& process, Time now) {
  if (!peer_ || peer_->process == process) return true;
  const auto former = std::ranges::find(former_, process);
  const bool alone = now - last_beat_ >= options_.timing.take;
  if (former != former_.end() && !alone) return false;
  if (former != former_.end()) former->clear();
  former_[next_former_] = peer_->process;
  next_former_ = (next_former_ + 1) % kFormerProcesses;
  peer_.reset();
  return true;
}

void Half::note_echo(const Beat& beat) {
  if (beat.heard_process != options_.process) return;
  while (!sent_.empty() && sent_.front().number < beat.heard) sent_.pop_front();
  if (sent_.empty() || sent_.front().number != beat.heard) return;
  lease_from_ = std::max(lease_from_.value_or(sent_.front().at), sent_.front().at);
}

// Who was restarted is told by the other half what it has missed.
void Half::learn_switch(const Beat& beat, Time now) {
  const std::optional<SwitchNews>& told = beat.last_switch;
  const bool news = told && (!last_switch_ || last_switch_->epoch < told->epoch);
  if (!news || beat.facts.member == options_.pair.me) return;
  last_switch_ = {.at = now - told->ago,
                  .to = told->to,
                  .reason = told->reason,
                  .took = told->took,
                  .epoch = told->epoch};
}

void Half::note_peer(const Beat& beat, Time now) {
  const Member peer = other(options_.pair.me);
  heard_sign(now);
  heard_ever_ = true;
  last_beat_ = now;
  refused_ = false;
  distrust_ = std::max(0, distrust_ - 1);
  note_echo(beat);
  peer_ = beat;
  learn_switch(beat, now);
  if (beat.facts.state != State::Active || beat.facts.member != peer) return;
  if (beat.facts.promised > last_active_epoch_) {
    if (last_active_epoch_ != 0 && last_active_ != peer) {
      const bool planned = frozen_since_ || cause_ == "switchover";
      last_switch_ = {.at = now,
                      .to = peer,
                      .reason = planned ? "switchover" : "the other half took over",
                      // Who was active until now does not know since when it served nobody.
                      .took = active_sign_ && !is_active() ? now - *active_sign_ : Duration::zero(),
                      .epoch = beat.facts.promised};
      cause_.clear();
    }
    last_active_ = peer;
    last_active_epoch_ = beat.facts.promised;
  }
  active_sign_ = now;
}

HalfActions Half::on_beat(const Beat& beat, Time now) {
  wake(now);
  if (beat.process.empty() || beat.process == options_.process) return {};
  if (!take_process(beat.process, now)) return {};
  if (peer_ && beat.number <= peer_->number) return {};
  const bool alive = peer_alive(now);
  const PeerFacts before = protocol_.facts();
  note_peer(beat, now);
  // Who follows other rules is there, and that is all it says.
  if (beat.mode != options_.pair.mode) return {};
  Actions actions = protocol_.on_peer(beat.facts, alive);
  const bool begins = std::ranges::any_of(actions, [](const Action& a) { return a.index() == 1; });
  if (begins && !is_active()) cause_ = beat.facts.state == State::Passive ? "switchover" : "start";
  return carry(std::move(actions), before, now);
}

HalfActions Half::on_link_end(LinkEnd end, Time tried, Time now) {
  wake(now);
  // One that was never heard may be starting, as we are: it has its time.
  if (end != LinkEnd::Refused || !heard_ever_ || silent_since_ >= tried) return {};
  refused_ = true;
  HalfActions out;
  tick_drop(now, out);
  return out;
}

std::string Half::why_taken(Time now) const {
  if (refused_) return "the other half's process is gone";
  return fmt::format("the other half was silent for {}", to_short_string(peer_silence(now)));
}

Reception Half::on_client(Time now) {
  wake(now);
  Reception reception;
  if (is_active()) {
    const bool handing = protocol_.frozen();
    reception.kind = handing ? Reception::Kind::Wait : Reception::Kind::Serve;
    if (handing) reception.why = may_write(now);
    return reception;
  }
  const bool alive = peer_alive(now);
  const bool gated = options_.pair.mode == Mode::Witness && !may_ask(now);
  const PeerFacts before = protocol_.facts();
  if (mismatch().ok()) {
    Protocol::Verdict verdict = protocol_.on_client(alive || gated);
    if (!verdict.actions.empty()) cause_ = why_taken(now);
    reception.actions = paced(std::move(verdict.actions), before, now);
  }
  reception.why = not_active(now);
  const Reason reason = split_reason(reception.why);
  // Whoever comes while the active half's beats stay away was there before, and in vain: either it
  // is heard again, or this half takes over.
  const bool named = reason.code == "HF4101";
  const bool decides = reason.code == "HF4105" || (named && peer_is_late(now));
  reception.kind = decides ? Reception::Kind::Wait : Reception::Kind::Redirect;
  if (named) reception.active = peer_->address;
  if (reception.kind == Reception::Kind::Wait) voted_ = now;
  return reception;
}

HalfActions Half::on_later_epoch(Epoch known, Time now) {
  wake(now);
  if (known <= protocol_.promised() || !may_ask(now)) return {};
  const PeerFacts before = protocol_.facts();
  if (options_.pair.mode == Mode::Witness) return paced(protocol_.doubt(), before, now);
  if (!has_lease(now)) return {};  // the next tick forgets what was heard before
  if (!outdated_since_) outdated_since_ = now;
  if (now - *outdated_since_ < options_.timing.take) return {};
  outdated_since_.reset();
  return paced(protocol_.outgrow(known), before, now);
}

HalfActions Half::on_witness(uint64_t id, const WitnessAnswer& answer, Time now) {
  wake(now);
  witness_heard_ = now;
  witness_silent_since_.reset();
  failures_ = 0;
  const PeerFacts before = protocol_.facts();
  if ((id & kProbeBit) != 0) {
    if (answer.current == protocol_.record() || !may_ask(now)) return {};
    return carry(protocol_.doubt(), before, now);
  }
  if (id == open_id_) open_id_ = 0;
  return carry(protocol_.on_witness(id, answer), before, now);
}

HalfActions Half::on_witness_silent(uint64_t id, Time now) {
  wake(now);
  if (!witness_silent_since_) witness_silent_since_ = witness_heard_.value_or(started_);
  if ((id & kProbeBit) != 0 || id != open_id_) return {};
  open_id_ = 0;
  failures_ = std::min(failures_ + 1, kLongestBackoff);
  next_ask_ = std::max(next_ask_, now + failures_ * options_.timing.beat);
  const PeerFacts before = protocol_.facts();
  return carry(protocol_.on_witness_silent(id), before, now);
}

HalfActions Half::on_tenure(Epoch epoch, Time now) {
  wake(now);
  const PeerFacts before = protocol_.facts();
  return carry(protocol_.on_tenure(epoch), before, now);
}

HalfActions Half::abandon(Time now) {
  const PeerFacts before = protocol_.facts();
  protocol_.abandon();
  return carry({}, before, now);
}

HalfActions Half::on_acked(const Head& head, const std::string& store_id, Time now) {
  wake(now);
  heard_sign(now);
  const bool lacks = head.revision < protocol_.head().revision;
  if (stalled_ && lacks && head.revision <= stalled_->acked) return {};
  stalled_.reset();
  acked_ = head.revision;
  const PeerFacts before = protocol_.facts();
  return carry(protocol_.on_acked(head, store_id), before, now);
}

void Half::on_not_taken(const Status& why, Time now) {
  if (!is_active()) return;
  if (!stalled_) stalled_ = {.why = why, .since = now, .acked = acked_};
  stalled_->why = why;
}

Status Half::on_replicate(Epoch epoch, Time now, HalfActions& actions) {
  wake(now);
  const PeerFacts before = protocol_.facts();
  const Status status = protocol_.on_replicate(epoch);
  if (status.ok()) {
    heard_sign(now);
    refused_ = false;
    active_sign_ = now;
  }
  actions = carry({}, before, now);
  return status;
}

HalfActions Half::on_appended(Epoch epoch, const Head& head, Time now) {
  needs_copy_ = false;
  const PeerFacts before = protocol_.facts();
  protocol_.on_appended(epoch, head);
  return carry({}, before, now);
}

HalfActions Half::on_promised(Epoch epoch, Time now) {
  const PeerFacts before = protocol_.facts();
  protocol_.on_appended(epoch, protocol_.head());
  return carry({}, before, now);
}

Result<HalfActions> Half::switch_over(Time now) {
  wake(now);
  const PeerFacts before = protocol_.facts();
  // Only modes with a witness have one that is silent. Who would tell what became of the change?
  if (witness_silent_since_ && is_active()) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF4104",
                 fmt::format("the witness has not answered for {}: nothing was changed",
                             to_short_string(*witness_silence(now))));
  }
  TRY_OK(protocol_.switch_over());
  frozen_since_ = now;
  HalfActions actions = carry({}, before, now);
  actions.emplace_back(Quiesce{});
  return actions;
}

HalfActions Half::on_quiet(Time now) {
  const PeerFacts before = protocol_.facts();
  return carry(protocol_.on_quiet(), before, now);
}

HalfActions Half::force(Time now) {
  wake(now);
  const PeerFacts before = protocol_.facts();
  cause_ = "forced by an operator";
  open_id_ = 0;
  return carry(protocol_.force(), before, now);
}

HalfActions Half::found(Time now) {
  wake(now);
  const PeerFacts before = protocol_.facts();
  cause_ = "start";
  open_id_ = 0;
  return carry(protocol_.found(), before, now);
}

Beat Half::next_beat(Time now, const store::ReplicaFacts& facts) {
  Beat beat = describe();
  beat.number = ++last_number_;
  if (peer_) {
    beat.heard_process = peer_->process;
    // An active half of an epoch that is over here gets no lease: others may have been told more.
    const bool over = peer_->facts.promised < protocol_.promised();
    beat.heard = protocol_.claiming() || over ? 0 : peer_->number;
    if (beat.heard != 0 && !is_active()) lent_ = last_beat_;
  }
  const size_t skip = facts.tenures.size() - std::min(facts.tenures.size(), kMaxTenures);
  beat.tenures.assign(facts.tenures.begin() + static_cast<ptrdiff_t>(skip), facts.tenures.end());
  beat.floor = facts.floor;
  if (last_switch_) {
    beat.last_switch = {.to = last_switch_->to,
                        .reason = last_switch_->reason,
                        .took = last_switch_->took,
                        .epoch = last_switch_->epoch,
                        .ago = now - last_switch_->at};
  }
  sent_.push_back({.number = beat.number, .at = now});
  if (sent_.size() > kMaxSent) sent_.pop_front();
  return beat;
}

}  // namespace holdfast::ha
