// The part of PairService that operators meet: how it is, switching over, forcing.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/reason.h"
#include "ha/pair_service.h"
#include "ha/quarantine_loader.h"
#include "ha/wire.h"

namespace holdfast::ha {
namespace {

google::protobuf::Duration proto_duration(Duration duration) {
  google::protobuf::Duration out;
  out.set_seconds(duration.count() / 1'000'000'000);
  out.set_nanos(static_cast<int32_t>(duration.count() % 1'000'000'000));
  return out;
}

}  // namespace

v1::PairHalf PairService::describe_self() const {
  v1::PairHalf self;
  self.set_member(to_proto(options_.half.pair.me));
  self.set_state(to_proto(half_.protocol().state()));
  self.set_name(options_.half.name);
  self.set_address(options_.half.address);
  self.set_version(options_.half.version);
  self.set_epoch(epoch());
  *self.mutable_head() = to_proto(replica_.facts().head);
  self.set_connected(true);
  return self;
}

v1::PairHalf PairService::describe_peer() const {
  v1::PairHalf out;
  out.set_member(to_proto(other(options_.half.pair.me)));
  out.set_connected(link_.is_up());
  const std::optional<Beat> peer = half_.peer();
  if (!peer) {
    out.set_address(options_.peer.address);
    *out.mutable_silent() = proto_duration(half_.peer_silence(clock_.now()));
    return out;
  }
  out.set_member(to_proto(peer->facts.member));
  out.set_state(to_proto(peer->facts.state));
  out.set_name(peer->name);
  out.set_address(peer->address);
  out.set_version(peer->version);
  out.set_epoch(peer->facts.promised);
  *out.mutable_head() = to_proto(peer->facts.head);
  *out.mutable_silent() = proto_duration(half_.peer_silence(clock_.now()));
  return out;
}

store::Revision PairService::lag() const {
  if (half_.is_active()) return half_.lag();
  const std::optional<Beat>& peer = half_.peer();
  if (!peer) return 0;
  const store::Revision mine = replica_.facts().head.revision;
  return std::max<store::Revision>(0, peer->facts.head.revision - mine);
}

// A half that is not heard may be there, and not be let in: the link knows.
std::string PairService::with_cause(const Status& problem) const {
  std::string text(problem.message());
  const std::string_view code = split_reason(problem).code;
  if (code == "HF4102" && !link_.failure().ok()) {
    text += fmt::format("; the link to it: {}", std::string(link_.failure().message()));
  }
  if (!witness_) return text;
  if (code == "HF4111" && !witness_->failure().ok()) {
    text +=
        fmt::format("; at {}: {}", witness_->address(), std::string(witness_->failure().message()));
  }
  if (code == "HF4127") text += fmt::format(" It is {} here", witness_->address());
  return text;
}

// What keeps the own disk from being what the pair needs.
Status PairService::disk_obstacle() const {
  const Status taking = half_.is_active() ? absl::OkStatus() : intake_.obstacle();
  const bool is_own = replica_.disk().ok() || split_reason(taking).code == "HF4119";
  return is_own ? taking : replica_.disk();
}

void PairService::add_disk_problems(v1::PairStatus& status) const {
  const Time now = clock_.now();
  const auto add = [&](const std::string& name, const std::string& why, bool is_active) {
    std::string text = fmt::format("HF4126: the disk of {} takes no writes: {}", name, why);
    if (is_active && half_.in_sync(now)) {
      text += "; the other half is in sync: `holdfast ha switchover` makes it active";
    }
    status.add_problems(text);
  };
  const Status own = disk_obstacle();
  if (split_reason(own).code == "HF4119") {
    status.add_problems(std::string(own.message()));
  } else if (!own.ok()) {
    add(options_.half.name, std::string(own.message()), half_.is_active());
  }
  const std::optional<Beat>& peer = half_.peer();
  if (peer && peer->disk_fails && half_.peer_alive(now)) {
    add(peer->name, "it says so itself", peer->facts.state == State::Active);
  }
}

v1::PairStatus PairService::status() const {
  const Time now = clock_.now();
  v1::PairStatus out;
  out.set_paired(true);
  out.set_mode(to_proto(options_.half.pair.mode));
  *out.mutable_self() = describe_self();
  *out.mutable_peer() = describe_peer();
  out.set_in_sync(half_.in_sync(now));
  out.set_lag(lag());
  // What the active half says of it is not what the own witness says: that one decides here.
  *out.mutable_record() = to_proto(half_.witness_record().value_or(half_.protocol().record()));
  if (witness_) {
    out.set_witness(witness_->address());
    *out.mutable_witness_silent() = proto_duration(witness_->silence());
    out.set_witness_never_heard(!witness_->was_heard());
  }
  if (const std::optional<Switch>& last = half_.last_switch()) {
    v1::PairSwitch& made = *out.mutable_last_switch();
    const auto ago = std::chrono::duration_cast<WallTime::duration>(now - last->at);
    set_time(clock_.wall_now() - ago, *made.mutable_at());
    made.set_to(last->to == options_.half.pair.me ? options_.half.name : out.peer().name());
    made.set_reason(last->reason);
    *made.mutable_took() = proto_duration(last->took);
    made.set_epoch(last->epoch);
  }
  if (half_.is_active()) out.set_not_serving(std::string(half_.serves(now).message()));
  out.set_if_active_died(half_.if_active_died(now));
  const std::vector<Status> problems = half_.problems(now);
  for (const Status& problem : problems) out.add_problems(with_cause(problem));
  add_disk_problems(out);
  if (!options_.quarantine_folder.empty()) {
    out.set_quarantined(static_cast<uint32_t>(quarantine_files(options_.quarantine_folder).size()));
  }
  const Status obstacle = shipping_.core().obstacle();
  const bool known = std::ranges::find(problems, obstacle) != problems.end();
  if (!obstacle.ok() && !known && half_.peer_alive(now)) {
    out.add_problems(std::string(obstacle.message()));
  }
  return out;
}

// Who is told that both are in sync is not refused: the tenure in which they are may not have begun
// yet, or the witness was just asked whether it is there.
asio::awaitable<Status> PairService::begin_switch(Time deadline) {
  Result<HalfActions> actions = half_.switch_over(clock_.now());
  while (!actions.ok() && half_.is_active() && half_.in_sync(clock_.now())) {
    const bool changed = co_await wait_for_change(deadline);
    if (!changed) break;
    actions = half_.switch_over(clock_.now());
  }
  CO_TRY_OK(actions.status());
  log::info("switching over");
  act(*std::move(actions));
  co_return absl::OkStatus();
}

asio::awaitable<Result<v1::SwitchOverResponse>> PairService::switch_over() {
  const auto failed = [](std::string_view why) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF4104", why);
  };
  const Time began = clock_.now();
  const Time deadline = began + options_.switch_patience;
  const Passage refused = refusal();
  if (!half_.is_active() && !refused.active.empty()) {
    co_return failed(
        fmt::format("this half is not the active one: ask the one at {}", refused.active));
  }
  CO_TRY_OK(co_await begin_switch(deadline));
  for (;;) {
    const std::optional<Beat> peer = half_.peer();
    const bool taken = !half_.is_active() && peer && peer->facts.state == State::Active;
    if (taken) break;
    if (half_.is_active() && !half_.protocol().frozen()) {
      co_return failed("the other half did not take over; this one goes on");
    }
    const bool in_time = co_await wait_for_change(deadline);
    if (!in_time) co_return failed("the other half is not active yet; see `holdfast ha status`");
  }
  v1::SwitchOverResponse done;
  done.set_active(half_.peer()->name);
  done.set_epoch(half_.peer()->facts.promised);
  *done.mutable_took() = proto_duration(clock_.now() - began);
  log::info("switched over", {{"active", done.active()}, {"epoch", done.epoch()}});
  co_return done;
}

asio::awaitable<Status> PairService::may_promote() {
  const auto refuse = [](std::string_view code, std::string_view why) {
    return coded(absl::StatusCode::kFailedPrecondition, code, why);
  };
  if (half_.protocol().is_empty()) {
    co_return refuse("HF4124", "this half has nothing: it never had a copy of the pair's data");
  }
  if (!witness_) co_return absl::OkStatus();
  const Result<WitnessAnswer> answer = co_await witness_->ask(std::nullopt);
  // If it is lost too, what was heard of it last is still true of this half: it lacks what it did.
  const Record record = answer.ok() ? answer->current : half_.protocol().record();
  const Protocol& protocol = half_.protocol();
  // One that is older than what this half has followed says nothing about it.
  const bool counts = record.epoch != 0 && record.epoch >= protocol.promised();
  if (!counts || protocol.is_member(record)) co_return absl::OkStatus();
  co_return refuse("HF4125", fmt::format("by the witness's record of epoch {} this half is not in "
                                         "sync: it lacks acknowledged writes that the {} has",
                                         record.epoch, to_string(other(options_.half.pair.me))));
}

asio::awaitable<Result<v1::PromoteResponse>> PairService::promote(v1::PromoteRequest request) {
  if (!request.force()) {
    co_return absl::InvalidArgumentError(
        "force: must be set, since acknowledged writes of the other half may be lost");
  }
  if (!request.lose_other()) CO_TRY_OK(co_await may_promote());
  log::warn("promoted by force", {{"lose_other", request.lose_other()}});
  // One that was active already, and served nobody, is so in a later one.
  const Epoch before = half_.protocol().epoch();
  act(half_.force(clock_.now()));
  const Time deadline = clock_.now() + options_.switch_patience;
  while (!half_.is_active() || half_.protocol().epoch() == before) {
    const bool in_time = co_await wait_for_change(deadline);
    if (!in_time) {
      co_return coded(absl::StatusCode::kUnavailable, "HF4105", "this half is not active yet");
    }
  }
  v1::PromoteResponse done;
  done.set_epoch(epoch());
  co_return done;
}

asio::awaitable<Status> PairService::found() {
  if (half_.is_active() || link_.has_identity()) co_return absl::OkStatus();
  const auto refuse = [](std::string_view why) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF4123", why);
  };
  if (options_.half.pair.me == Member::Backup) {
    co_return refuse(
        "this is the backup: run `holdfast init` at the primary, then `holdfast join` here");
  }
  const bool there = co_await link_.answers();
  if (there) {
    co_return refuse(fmt::format(
        "the other half answers at {}, so the cluster exists: make a token of role controller "
        "there and run `holdfast join` here",
        options_.peer.address));
  }
  log::info("this half begins the pair");
  act(half_.found(clock_.now()));
  const Time deadline = clock_.now() + options_.switch_patience;
  while (!half_.is_active()) {
    const bool in_time = co_await wait_for_change(deadline);
    if (!in_time) break;  // as any other call, it is told why nobody is active
  }
  co_return absl::OkStatus();
}

}  // namespace holdfast::ha
