// Two halves and a witness that do everything at once, for tests of single rules. Histories are
// only their heads: what a half is sent it has, if it takes it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ha/protocol.h"

namespace holdfast::ha {

class PairRig {
 public:
  static constexpr Member kP = Member::Primary;
  static constexpr Member kB = Member::Backup;

  explicit PairRig(Mode mode) : mode_(mode) {
    halves_[0].durable.store_id = "p";
    halves_[1].durable.store_id = "b";
  }

  Protocol& at(Member member) { return *half(member).protocol; }
  bool is_up(Member member) { return half(member).protocol.has_value(); }
  Protocol::Durable& disk(Member member) { return half(member).durable; }
  const std::vector<AskWitness>& asked(Member member) { return half(member).asked; }

  void start(Member member) {
    half(member).protocol.emplace(Protocol::Config{.me = member, .mode = mode_},
                                  half(member).durable);
    run(member, at(member).start());
  }
  void crash(Member member) { half(member).protocol.reset(); }

  void run(Member member, const Actions& actions) {
    for (const Action& action : actions) {
      if (const auto* tenure = std::get_if<BeginTenure>(&action)) {
        half(member).durable.promised = tenure->epoch;
        if (tenures) run(member, at(member).on_tenure(tenure->epoch));
      } else {
        ask(member, std::get<AskWitness>(action));
      }
    }
  }

  // One beat; unheard if one of them is down.
  void beat(Member from) {
    if (!is_up(from) || !is_up(other(from))) return;
    run(other(from), at(other(from)).on_peer(at(from).facts(), true));
  }
  void vote(Member member) { run(member, at(member).on_client(!dead_peer).actions); }
  void lose_peer(Member member) { run(member, at(member).on_peer_lost()); }
  void retry(Member member) { run(member, at(member).on_retry()); }

  void write(Member member) {
    Head head = at(member).head();
    head = {.epoch = at(member).epoch(), .revision = head.revision + 1};
    disk(member).head = head;
    at(member).on_written(head);
  }
  // The other half gets all that this one has, if it takes it, and says so.
  Status ship(Member from) {
    const Member to = other(from);
    const Epoch epoch = at(from).epoch();
    TRY_OK(at(to).on_replicate(epoch));
    Head head = at(from).head();
    if (head.epoch == 0) head.epoch = epoch;  // the first tenure takes over what was there before
    disk(to).head = head;
    disk(to).promised = epoch;
    at(to).on_appended(epoch, head);
    run(from, at(from).on_acked(at(from).head(), disk(to).store_id));
    return absl::OkStatus();
  }

  // Both beat, retry and ship until nothing new comes of it.
  void settle() {
    for (int round = 0; round < 8; ++round) {
      for (const Member member : {kP, kB}) {
        beat(member);
      }
      for (const Member member : {kP, kB}) {
        if (!is_up(member)) continue;
        retry(member);
        const bool both = is_up(other(member));
        if (both && at(member).state() == State::Active) (void)ship(member);
      }
    }
  }

  // Witness mode: the primary is active, the backup in sync.
  void steady() {
    start(kP);
    start(kB);
    settle();
  }

  Record record{};            // the witness's
  bool witness = true;        // whether it answers
  bool changes_lost = false;  // it does what it is asked, but its answer is lost
  bool tenures = true;        // whether the store says that they have begun
  bool dead_peer = true;      // for votes

 private:
  struct HalfOfRig {
    Protocol::Durable durable{};
    std::optional<Protocol> protocol{};
    std::vector<AskWitness> asked{};
  };
  HalfOfRig& half(Member member) { return halves_[static_cast<size_t>(member)]; }

  void ask(Member member, const AskWitness& ask) {
    half(member).asked.push_back(ask);
    if (!witness) return run(member, at(member).on_witness_silent(ask.id));
    const bool accepted = ask.change && may_replace(record, *ask.change).ok();
    if (accepted) record = ask.change->record;
    if (changes_lost && ask.change) return run(member, at(member).on_witness_silent(ask.id));
    run(member, at(member).on_witness(ask.id, {.accepted = accepted, .current = record}));
  }

  Mode mode_;
  std::array<HalfOfRig, 2> halves_{};
};

}  // namespace holdfast::ha
