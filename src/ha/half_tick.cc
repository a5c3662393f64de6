// What a half does when time passes: leaves a silent peer behind, asks the witness again, gives
// control back.
#include <algorithm>

#include "ha/half.h"

namespace holdfast::ha {
namespace {

// How often the witness is asked whether it is there, in beats.
constexpr int kProbeBeats = 20;

void add(HalfActions&& more, HalfActions& out) {
  out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

HalfActions Half::on_tick(Time now) {
  wake(now);
  last_tick_ = now;
  if (!is_active() || !has_lease(now)) outdated_since_.reset();
  HalfActions out;
  tick_drop(now, out);
  tick_witness(now, out);
  tick_frozen(now, out);
  tick_recovery(now, out);
  return out;
}

// The passive half's expiry is a little later at the backup.
Duration Half::patience() const {
  const bool later = !heard_ever_ || options_.pair.me == Member::Backup;
  return options_.timing.take + (later ? options_.timing.skew : Duration::zero());
}

Time Half::expiry() const {
  return silent_since_ + patience();
}

Time Half::next_deadline() const {
  Time next = last_tick_ + options_.timing.beat;
  const auto consider = [&](Time time) {
    if (time > last_tick_) next = std::min(next, time);
  };
  consider(silent_since_ + options_.timing.drop);
  consider(lent_ + options_.timing.take);
  consider(expiry());
  consider(next_ask_);
  if (open_id_ != 0) consider(open_since_ + options_.timing.witness_timeout);
  return next;
}

void Half::tick_drop(Time now, HalfActions& out) {
  const bool silent = refused_ || peer_silence(now) >= options_.timing.drop;
  // One that is there and may not be sent anything is as good as gone: it never acknowledges.
  const bool gone = silent || is_stalled(now) || !peer_fits().ok();
  // It may still answer readers by what we told it before we knew that we are the active one.
  const bool lent = !refused_ && now < lent_ + options_.timing.take;
  if (!is_active() || !gone || lent || !may_ask(now)) return;
  const PeerFacts before = protocol_.facts();
  add(paced(protocol_.on_peer_lost(), before, now), out);
}

void Half::tick_witness(Time now, HalfActions& out) {
  const Timing& timing = options_.timing;
  if (open_id_ != 0 && now >= open_since_ + timing.witness_timeout) {
    add(on_witness_silent(open_id_, now), out);
  }
  const bool witness = options_.pair.mode == Mode::Witness;
  if (witness && !may_ask(now)) return;
  const PeerFacts before = protocol_.facts();
  const bool voted = voted_ && now - *voted_ <= timing.vote_patience;
  if (voted && !is_active() && !peer_alive(now) && mismatch().ok()) {
    cause_ = why_taken(now);
    add(paced(protocol_.on_client(false).actions, before, now), out);
    return;
  }
  add(paced(protocol_.on_retry(), before, now), out);
  if (!witness || now < next_probe_) return;
  next_probe_ = now + kProbeBeats * timing.beat;
  out.emplace_back(AskWitness{.id = kProbeBit | ++probes_, .change = std::nullopt});
}

// A switch that does not come about must not stop writes for ever.
void Half::tick_frozen(Time now, HalfActions& out) {
  if (!frozen_since_ || now - *frozen_since_ < options_.timing.vote_patience) return;
  const PeerFacts before = protocol_.facts();
  protocol_.thaw();
  add(carry({}, before, now), out);
}

bool Half::recovery_is_due(Time now) {
  const bool equal =
      peer_ && peer_->schema_min == options_.schema_min && peer_->schema_max == options_.schema_max;
  const bool fine = options_.timing.recovery > Duration::zero() && is_active() &&
                    options_.pair.me == Member::Backup && equal && peer_alive(now) &&
                    mismatch().ok() && protocol_.peer_may_follow() && !protocol_.frozen();
  if (!fine) {
    recovered_since_.reset();
    return false;
  }
  if (!recovered_since_) recovered_since_ = now;
  return now - *recovered_since_ >= options_.timing.recovery;
}

void Half::tick_recovery(Time now, HalfActions& out) {
  if (!recovery_is_due(now)) return;
  Result<HalfActions> switched = switch_over(now);
  // Something is on its way: at the next tick.
  if (switched.ok()) add(*std::move(switched), out);
}

}  // namespace holdfast::ha
