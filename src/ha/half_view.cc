// What a half says of itself: to clients, to operators.
#include <fmt/format.h>

#include <algorithm>

#include "base/reason.h"
#include "ha/half.h"
#include "ha/shipping.h"

namespace holdfast::ha {
namespace {

using absl::StatusCode;

std::string_view other_name(Member me) {
  return to_string(other(me));
}

std::string lacks_text(store::Revision lacks) {
  if (lacks <= 0) return "it has not yet confirmed what was written last";
  return fmt::format("it lacks {} {}", lacks, lacks == 1 ? "revision" : "revisions");
}

}  // namespace

Beat Half::describe() const {
  Beat beat;
  beat.process = options_.process;
  beat.facts = protocol_.facts();
  beat.mode = options_.pair.mode;
  beat.name = options_.name;
  beat.address = options_.address;
  beat.version = options_.version;
  beat.schema_min = options_.schema_min;
  beat.schema_max = options_.schema_max;
  beat.needs_copy = needs_copy_;
  beat.in_sync = protocol_.peer_in_sync();
  beat.lease = std::chrono::floor<std::chrono::milliseconds>(options_.timing.lease);
  beat.take = std::chrono::floor<std::chrono::milliseconds>(options_.timing.take);
  return beat;
}

bool Half::peer_alive(Time now) const {
  return !refused_ && now < expiry();
}

bool Half::has_lease(Time now) const {
  const bool trusted = lease_from_ && distrust_ == 0 && !is_late(now);
  return trusted && now < *lease_from_ + lease();
}

// To hear us is the peer's promise not to take over for its own Timing::take.
Duration Half::lease() const {
  const Timing& timing = options_.timing;
  if (!peer_ || peer_->take == Duration::zero()) return timing.lease;
  const Duration held = peer_->take - peer_->take / 100 - 2 * timing.beat;
  return std::clamp(held, Duration::zero(), timing.lease);
}

Status Half::timings() const {
  const Beat mine = describe();
  const bool says = peer_ && peer_->take > Duration::zero();
  if (!says || (peer_->take == mine.take && peer_->lease == mine.lease)) return absl::OkStatus();
  return coded(
      StatusCode::kFailedPrecondition, "HF4128",
      fmt::format("ha.lease and ha.take are {} and {} here, {} and {} at {}",
                  to_short_string(mine.lease), to_short_string(mine.take),
                  to_short_string(peer_->lease), to_short_string(peer_->take), peer_->name));
}

std::optional<Duration> Half::witness_silence(Time now) const {
  if (!witness_silent_since_) return std::nullopt;
  return now - *witness_silent_since_;
}

store::Revision Half::lag() const {
  if (!is_active() || !peer_) return 0;
  return std::max<store::Revision>(0, protocol_.head().revision - peer_->facts.head.revision);
}

bool Half::in_sync(Time now) const {
  if (is_active()) return protocol_.peer_in_sync() && peer_alive(now);
  return peer_ && peer_->facts.state == State::Active && peer_->in_sync && peer_alive(now);
}

bool Half::is_stalled(Time now) const {
  return stalled_ && now - stalled_->since >= options_.timing.drop;
}

// Both were there before, and the witness knows nothing of it: neither can know whether it has
// everything.
bool Half::lacks_record() const {
  const bool heard = witness_heard_ && !witness_silent_since_;
  const bool first = options_.pair.me == Member::Primary && protocol_.promised() <= 1;
  return options_.pair.mode == Mode::Witness && heard && !is_active() && !first &&
         protocol_.head().epoch != 0 && protocol_.record().epoch == 0 &&
         protocol_.outdated_record() == 0;
}

Status Half::peer_fits() const {
  return peer_ ? may_sync(describe(), *peer_) : absl::OkStatus();
}

// Configured so that the two cannot be a pair. The schema is another matter: they may still decide
// who serves.
Status Half::mismatch() const {
  const Status status = peer_fits();
  return split_reason(status).code == "HF4112" ? absl::OkStatus() : status;
}

Status Half::not_active(Time now) const {
  if (const Status status = mismatch(); !status.ok()) {
    return {StatusCode::kUnavailable, status.message()};
  }
  const std::string_view state = to_string(protocol_.state());
  if (peer_ && peer_->facts.state == State::Active && peer_alive(now)) {
    return coded(StatusCode::kUnavailable, "HF4101",
                 fmt::format("this half is {}; the active one is {} at {}", state, peer_->name,
                             peer_->address));
  }
  return coded(StatusCode::kUnavailable, "HF4105",
               fmt::format("no half is active: this one is {}{}, the other {}", state,
                           protocol_.head().epoch == 0 ? " with an empty disk" : "",
                           peer_alive(now) ? "is not active either" : "is not there"));
}

Status Half::may_read(Time now) const {
  if (!is_active()) return not_active(now);
  if (options_.pair.mode == Mode::BestEffort) return absl::OkStatus();
  if (protocol_.required() == Members::of(options_.pair.me) || has_lease(now)) {
    return absl::OkStatus();
  }
  const std::string since =
      lease_from_ ? fmt::format("for {}", to_short_string(now - *lease_from_)) : "yet";
  return coded(StatusCode::kUnavailable, "HF4107",
               fmt::format("the {} has not confirmed {} that this half is the active one",
                           other_name(options_.pair.me), since));
}

Status Half::serves(Time now) const {
  if (const Status read = may_read(now); !read.ok()) return read;
  const Status fits = peer_alive(now) ? peer_fits() : absl::OkStatus();
  if (fits.ok() || protocol_.required() != Members::both()) return absl::OkStatus();
  return {StatusCode::kUnavailable,
          fmt::format("{}; writes wait for its disk: stop that half and correct its configuration",
                      std::string(fits.message()))};
}

Status Half::may_write(Time now) const {
  if (!is_active()) return not_active(now);
  if (protocol_.may_write()) return absl::OkStatus();
  if (!protocol_.frozen()) {
    return coded(StatusCode::kUnavailable, "HF4109",
                 fmt::format("the {} is not in sync: writes wait until it is",
                             other_name(options_.pair.me)));
  }
  return coded(StatusCode::kUnavailable, "HF4108",
               fmt::format("this half is handing over to the {}", other_name(options_.pair.me)));
}

std::string Half::if_peer_takes(Time now) const {
  const std::string_view passive =
      to_string(other(is_active() ? options_.pair.me : other(options_.pair.me)));
  const std::string soon =
      fmt::format("at once if its process ends, else after {} of silence",
                  to_short_string(options_.timing.take + options_.timing.skew));
  switch (options_.pair.mode) {
    case Mode::BestEffort:
      return fmt::format(
          "the {} takes over with the next request of a client, {}; what it has not got by then is "
          "lost ({} revisions now)",
          passive, soon, lag());
    case Mode::Sync:
      return fmt::format(
          "nobody serves until an operator runs `holdfast ha promote --force` at the {}; nothing "
          "acknowledged is lost",
          passive);
    case Mode::Witness:
      break;
  }
  if (!witness_error(now).ok()) {
    return fmt::format("the {} takes over when the witness can do what it is asked: {}", passive,
                       std::string(witness_error(now).message()));
  }
  if (witness_silent_since_) {
    return fmt::format("the {} takes over when the witness answers again (silent for {})", passive,
                       to_short_string(*witness_silence(now)));
  }
  return fmt::format(
      "the {} takes over with the next request of a client, {}; nothing acknowledged is lost",
      passive, soon);
}

std::string Half::if_active_died(Time now) const {
  const bool peer_active = peer_ && peer_->facts.state == State::Active && peer_alive(now);
  if (!is_active() && !peer_active) return "no half is active now";
  if (!mismatch().ok()) return "nobody takes over: the halves are not configured as a pair";
  const Member passive = is_active() ? other(options_.pair.me) : options_.pair.me;
  if (is_active() && !peer_alive(now)) {
    return fmt::format("nobody takes over: the {} is not there", to_string(passive));
  }
  if (has_other_witness(now)) {
    return fmt::format(
        "nobody takes over: the witness that the {} asks has another record than the active half's",
        to_string(passive));
  }
  // What an active half knows of its peer, or a passive one by the record of the active.
  const Record& record = protocol_.record();
  const bool witness = options_.pair.mode == Mode::Witness;
  const bool recorded = !witness || record.in_sync.has(passive);
  const bool synced = is_active() ? protocol_.peer_in_sync() : peer_->in_sync;
  if (options_.pair.mode != Mode::BestEffort && !(recorded && synced)) {
    return fmt::format("nobody takes over: the {} is not in sync and lacks acknowledged writes",
                       to_string(passive));
  }
  return if_peer_takes(now);
}

std::vector<Status> Half::problems(Time now) const {
  std::vector<Status> problems;
  const std::string_view peer = other_name(options_.pair.me);
  const auto add = [&](std::string_view code, std::string_view message) {
    problems.push_back(coded(StatusCode::kFailedPrecondition, code, message));
  };
  if (const Status read = may_read(now); is_active() && !read.ok()) {
    add("HF4107",
        fmt::format("this half is active and answers nobody: {}", split_reason(read).message));
  }
  if (!peer_alive(now)) {
    add("HF4102", refused_ ? fmt::format("the {}'s process is gone", peer)
                           : fmt::format("the {} has been silent for {}", peer,
                                         to_short_string(peer_silence(now))));
  } else if (peer_) {
    const Status sync = may_sync(describe(), *peer_);
    const bool waits = is_active() && may_read(now).ok() && !serves(now).ok();
    if (!sync.ok()) problems.push_back(waits ? serves(now) : sync);
    if (const Status same = timings(); !same.ok()) problems.push_back(same);
    if (sync.ok() && is_active() && !protocol_.peer_in_sync()) {
      add("HF4109", fmt::format("the {} is not in sync: {}", peer, lacks_text(lag())));
    }
    const bool passive = !is_active() && peer_->facts.state == State::Active;
    if (sync.ok() && passive && !peer_->in_sync) {
      const store::Revision lacks = peer_->facts.head.revision - protocol_.head().revision;
      add("HF4109", fmt::format("this half is not in sync: {}", lacks_text(lacks)));
    }
    if (is_stalled(now)) {
      add("HF4117", fmt::format("the {} does not take what it is sent: {}", peer,
                                std::string(stalled_->why.message())));
    }
  }
  add_witness_problems(now, problems);
  return problems;
}

void Half::add_witness_problems(Time now, std::vector<Status>& problems) const {
  const auto add = [&](std::string_view code, std::string_view message) {
    problems.push_back(coded(StatusCode::kFailedPrecondition, code, message));
  };
  if (const Status error = witness_error(now); !error.ok()) {
    problems.push_back(error);
  } else if (options_.pair.mode == Mode::Witness && witness_silent_since_) {
    add("HF4111",
        fmt::format("the witness has not answered for {}", to_short_string(*witness_silence(now))));
  }
  if (has_other_witness(now)) {
    const Epoch epoch = peer_->facts.record.epoch;
    const std::string mine = witness_record_->epoch == 0
                                 ? "no record"
                                 : fmt::format("a record of epoch {}", witness_record_->epoch);
    add("HF4127", fmt::format("this half's witness has {}, and the active half's one of epoch {}: "
                              "is ha.witness the same on both?",
                              mine, epoch));
  }
  if (protocol_.unconfirmed() && protocol_.epoch() > 1) {
    add("HF4118", fmt::format("the witness does not know of epoch {} yet: what is acknowledged now "
                              "is on this half's disk alone",
                              protocol_.epoch()));
  }
  const bool peer_active = peer_ && peer_->facts.state == State::Active && peer_alive(now);
  if (protocol_.outdated_record() != 0 && !is_active() && !peer_active) {
    add("HF4207", fmt::format("the witness's record is of epoch {}, and this half has followed {}: "
                              "by that record nobody may begin",
                              protocol_.outdated_record(), protocol_.promised()));
  }
  if (lacks_record() && !peer_active) {
    add("HF4206", "the witness has no record of this pair, so neither half may begin by itself");
  }
}

}  // namespace holdfast::ha
