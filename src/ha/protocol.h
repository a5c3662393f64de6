// The rules of the pair without time: what one half may do after what it has heard. Half adds the
// clock to it (who is silent, for how long, who may still serve); the model checker runs it in
// every order that messages, crashes and losses can have.
//
//             claim: a client asks and the peer is dead, or none of the two is active
//   initial ─────────────────────────► [witness: compare-and-set] ─► BeginTenure ─► ACTIVE
//      │  hears an active peer                                                        │
//      └──────────────► PASSIVE ◄──────── step down: a higher epoch, or handed over ──┘
//
// What is acknowledged is on the disks of everyone required. Required are both, until a record that
// names only one was accepted by the witness (or the mode is best-effort, or an operator forced
// it). It grows first and is recorded after; it is recorded first and shrinks after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ha/fsm.h"
#include "ha/types.h"
#include "ha/witness.h"

namespace holdfast::ha {

// What a half says of itself in a beat.
struct PeerFacts {
  Member member = Member::Backup;
  State state = State::Backup;
  Epoch promised = 0;  // of an active half: its epoch
  Head head{};         // durable
  std::string store_id{};
  Record record{};       // the newest it knows
  Epoch hands_over = 0;  // the peer's from now on, in modes without a witness; 0: none
  bool operator==(const PeerFacts&) const = default;
};

// To the witness. Each has a higher id; only the answer to the latest counts.
// Set in the id of a question that only probes whether the witness answers.
inline constexpr uint64_t kProbeBit = uint64_t{1} << 63;

struct AskWitness {
  uint64_t id = 0;
  std::optional<RecordChange> change{};  // absent: what is the record?
  bool operator==(const AskWitness&) const = default;
};
// Make it durable (Replica::begin_tenure), then say on_tenure().
struct BeginTenure {
  Epoch epoch = 0;
  bool operator==(const BeginTenure&) const = default;
};
using Action = std::variant<AskWitness, BeginTenure>;
using Actions = std::vector<Action>;

struct WitnessAnswer {
  bool accepted = false;  // the change; false after a question
  Record current{};       // epoch 0: there is none
  bool operator==(const WitnessAnswer&) const = default;
};

class Protocol {
 public:
  // A peer that lacks no more than this is as good as there: the rest follows in a moment.
  static constexpr store::Revision kNearby = 128;
  struct Config {
    Member me = Member::Primary;
    Mode mode = Mode::Witness;
    // How far a forced promotion leaps: above what may have been recorded unseen.
    Epoch forced_leap = 1000;
  };
  // What the store knows at the start.
  struct Durable {
    Epoch promised = 0;
    Head head{};
    std::string store_id{};
    // An operator says that this disk is the pair's first. Without that word an empty disk does not
    // begin alone without a witness that answers: it may be the replacement of a lost one.
    bool first_of_pair = false;
  };
  Protocol(Config config, Durable durable);

  // The first input.
  Actions start();
  // A beat. `alive`: whether it was heard lately, before this one.
  Actions on_peer(const PeerFacts& facts, bool alive);
  // A client asks something. `alive` as above, for the peer.
  struct Verdict {
    Outcome outcome = Outcome::Redirect;  // Serve, Redirect, or Claim: wait for what becomes of it
    Actions actions{};
  };
  Verdict on_client(bool alive);
  // The peer has been silent for long enough to go on without it. Only an active half cares.
  Actions on_peer_lost();
  // Something is to be asked of the witness again, if anything is open: now and then.
  Actions on_retry();
  // The witness was seen to have another record than is known here.
  Actions doubt();
  // Somebody knows of `known`, and the peer does not, although it follows us: it was of a disk that
  // was lost. Without a witness to remember it, a higher epoch than that is begun. Only if it is
  // near what is promised: who says so need not be right.
  Actions outgrow(Epoch known);

  Actions on_witness(uint64_t id, const WitnessAnswer& answer);
  Actions on_witness_silent(uint64_t id);
  // As BeginTenure asked. Not called if it failed: then abandon().
  Actions on_tenure(Epoch epoch);
  // The store could not make it durable.
  void abandon();

  // The own history grew, on our own disk.
  void on_written(const Head& head);
  // The peer has this on its disk. It must be a point of our own history.
  Actions on_acked(const Head& head, const std::string& store_id);

  // The passive side: an active one of `epoch` sends. OK, or kFailedPrecondition HF4103 with the
  // epoch that is promised. OK makes this half passive.
  Status on_replicate(Epoch epoch);
  // What it sent is on our disk.
  void on_appended(Epoch epoch, const Head& head);

  // kFailedPrecondition HF4104 with the reason if it is not active or the peer is not in sync.
  // Nothing may be written until it is over: stepping down, or frozen() is false again.
  Status switch_over();
  // Nothing is on its way to the own disk any more.
  Actions on_quiet();
  // It takes too long: writes go on, whatever becomes of it.
  void thaw();
  // An operator takes the risk: active from now on, alone.
  Actions force();
  // An operator begins the pair here: the first epoch, alone. Nothing unless this is the primary
  // and its disk is as new; if there was a pair before, the witness's record shows it later.
  Actions found();

  State state() const { return state_; }
  Epoch epoch() const { return epoch_; }        // of the own tenure; 0 unless active
  Epoch promised() const { return promised_; }  // nothing lower is taken any more
  const Head& head() const { return head_; }
  const Record& record() const { return record_; }
  // On whose disks a write must be before it is acknowledged. Requires: active.
  Members required() const { return required_; }
  // Everything up to here is acknowledged. Requires: active.
  store::Revision acknowledged() const;
  // Whether what was acknowledged would survive this half.
  bool peer_in_sync() const;
  // Whether control may be handed to the peer. Nothing waits for it in best-effort mode: under
  // writes it is always some of them behind, and catches up when they stop.
  bool peer_may_follow() const;
  bool frozen() const { return frozen_; }
  // Active by force, or alone at the beginning, and the witness does not know it yet.
  bool unconfirmed() const {
    return with_witness() && state_ == State::Active && record_.epoch < epoch_ && !beginning_;
  }
  // Of the witness's record, if it is older than what this half knows of: it was restored from an
  // old copy, or somebody was promoted without it. It lets nobody claim. 0: it is not.
  Epoch outdated_record() const { return outdated_; }
  // Whether the own history may grow. Not without leave: in sync mode not before the peer has said
  // in this tenure that its history leads into ours.
  bool may_write() const;
  bool misconfigured() const { return misconfigured_; }
  // What BeginTenure asks for is a tenure in which nobody else is required.
  bool begins_alone() const { return beginning_ && beginning_->required == Members::of(me_); }
  // On its way to be active, whatever is heard meanwhile.
  bool claiming() const { return wish_ == Wish::Claim || beginning_.has_value() || wants_claim_; }
  PeerFacts facts() const;
  // Whether this disk is one of those that have everything, by the record.
  bool is_member(const Record& record) const;
  bool is_empty() const { return head_.epoch == 0; }  // never had a tenure

  bool operator==(const Protocol&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Protocol& p) {
    h = H::combine(std::move(h), p.state_, p.epoch_, p.promised_, p.head_.epoch, p.head_.revision,
                   p.record_.epoch, p.record_.in_sync.bits(), p.required_.bits(), p.acked_,
                   p.settled_, p.raised_at_, p.wish_, p.asked_, p.frozen_, p.asked_to_hand_over_,
                   p.hands_over_, p.peer_promised_);
    return p.beginning_ ? H::combine(std::move(h), p.beginning_->epoch) : std::move(h);
  }

 private:
  // Lets the model checker forget how many questions there were.
  friend class ProtocolInspector;

  // What the latest question to the witness is for.
  enum class Wish : uint8_t { None, Read, Claim, Drop, Admit, HandOver, Recreate, Restore };
  struct Beginning {
    Epoch epoch = 0;
    Members required{};
    bool operator==(const Beginning&) const = default;
  };

  bool with_witness() const { return mode_ == Mode::Witness; }
  bool is_outdated(const Record& record) const;
  bool may_have_lost() const;
  Record record_for(Epoch epoch, Members in_sync) const;
  Actions ask(Wish wish, std::optional<RecordChange> change = std::nullopt);
  Actions change_record(Wish wish, Epoch epoch, Members in_sync);
  Actions begin(Epoch epoch, Members required);
  Actions claim();
  Actions learn(const Record& record);
  Actions learn_as_active(const Record& current);
  Actions on_accepted(Wish wish);
  Actions on_no_record();
  Actions grow_back();
  Actions on_record_of_peer(const PeerFacts& facts);
  Actions on_outcome(Outcome outcome, const PeerFacts& facts);
  Actions claim_beside(const PeerFacts& facts);
  Actions claim_by_record(const PeerFacts& facts);
  Actions stay_active(const PeerFacts& facts);
  Actions try_hand_over();
  void follow();
  void give_way();
  bool gives_way_to(const PeerFacts& facts) const;
  Members required_by_mode() const;
  Epoch highest() const;

  Member me_;
  Mode mode_;
  Epoch forced_leap_;
  std::string store_id_;
  State state_;
  Epoch epoch_ = 0;
  Epoch promised_;
  Head head_;
  Record record_{};
  Epoch outdated_ = 0;
  std::optional<Epoch> peer_promised_{};  // by its latest beat
  Members required_{};
  store::Revision acked_ = 0;      // the peer has it on its disk
  std::string acked_store_{};      // on that disk
  store::Revision settled_ = 0;    // acknowledged in this tenure, whatever the peer's disk has
  store::Revision raised_at_ = 0;  // what a peer must have to be in sync again; 0: not yet known
  Wish wish_ = Wish::None;
  uint64_t asked_ = 0;  // the latest id
  std::optional<Beginning> beginning_{};
  bool wants_claim_ = false;  // as soon as the record is known
  Epoch hands_over_ = 0;      // to the peer, until it has taken it
  bool frozen_ = false;
  bool quiet_ = false;
  bool asked_to_hand_over_ = false;  // the witness; what became of it may not be known
  bool forced_ = false;              // and the witness does not know it yet
  bool first_of_pair_ = false;
  bool misconfigured_ = false;
};

}  // namespace holdfast::ha
