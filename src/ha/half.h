// One half of the pair, with a clock: the protocol's rules, who was heard when, who may serve until
// when. A service feeds it and carries out what it wants; so does the simulation.
//
//   beats in, link, clients, witness, store, ticks ─► Half ─► AskWitness, BeginTenure, SendBeat,
//                                                             Quiesce
//
// To hear a beat and to say so ("heard") is a promise: this half does not take over for
// Timing::take from then on, unless the peer's process is gone. The peer lives on that promise (its
// lease). So a half that is taking over says that it has heard nothing, and so does one that has
// promised a later epoch than the peer's: it has taken over before, and was restarted since. Who
// learns by the record that it is the active one keeps that promise, too: it goes on without the
// peer only when the time is over. What a former process of this half promised, nobody knows.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "ha/protocol.h"
#include "ha/timing.h"

namespace holdfast::ha {

// The last change of who is active, as a beat tells it: clocks differ.
struct SwitchNews {
  Member to = Member::Primary;
  std::string reason{};
  Duration took{0};
  Epoch epoch = 0;
  Duration ago{0};
  bool operator==(const SwitchNews&) const = default;
};

// What travels between the halves besides data.
struct Beat {
  uint64_t number = 0;  // of this process, from 1
  uint64_t heard = 0;   // the latest of `heard_process`; 0: none, or nothing is promised
  std::string process{};
  std::string heard_process{};  // the peer's, as this half knows it: a number means nothing else
  PeerFacts facts{};
  Mode mode = Mode::Witness;
  std::string name{};
  std::string address{};
  std::string version{};
  uint32_t schema_min = 1;
  uint32_t schema_max = 1;
  std::vector<store::Tenure> tenures{};  // the latest kMaxTenures
  store::Revision floor = 0;
  bool needs_copy = false;
  bool in_sync = false;     // of an active half: who hears it has all that is acknowledged
  bool disk_fails = false;  // for people to see
  std::optional<SwitchNews> last_switch{};  // the same, for a half that was restarted since
  // Its own Timing, to the millisecond; zero: it does not say.
  Duration lease{0};
  Duration take{0};
};
inline constexpr size_t kMaxTenures = 64;

struct HalfOptions {
  Protocol::Config pair{};
  Timing timing{};
  std::string process{};  // random, of this life
  std::string name{};
  std::string address{};
  std::string version{};
  uint32_t schema_min = 0;  // of the data, which this module does not know: both are to be set
  uint32_t schema_max = 0;
};

// To be sent at once, not only with the next regular beat: something changed.
struct SendBeat {
  bool operator==(const SendBeat&) const = default;
};
// Begin no write; say on_quiet() when none is on its way to the own disk any more.
struct Quiesce {
  bool operator==(const Quiesce&) const = default;
};
// An AskWitness is answered with on_witness() or on_witness_silent(); one that is not answered
// within Timing::witness_timeout counts as silent here by itself.
using HalfAction = std::variant<AskWitness, BeginTenure, SendBeat, Quiesce>;
using HalfActions = std::vector<HalfAction>;

// How the connection to the peer ended, as far as one can tell from here.
enum class LinkEnd : uint8_t {
  Silent,   // nothing is known
  Refused,  // its machine says that nobody listens there: it is dead, whatever its lease
};

// What a client's request meets.
struct Reception {
  enum class Kind : uint8_t {
    Serve,
    Wait,      // ask again when something changed, until vote_patience is over; then say `why`
    Redirect,  // at once, with `why`: HF4101 and the active's address, HF4106 or HF4113
  };
  Kind kind = Kind::Redirect;
  Status why{};
  std::string active{};  // its address; empty: unknown
  HalfActions actions{};
};

// The last change of who is active, for `holdfast ha status` and metrics.
struct Switch {
  Time at{};
  Member to = Member::Primary;
  std::string reason{};  // "the other half's process is gone", "switchover", "forced", ...
  Duration took{0};      // from the last sign of the former active to serving; 0: not known
  Epoch epoch = 0;
};

class Half {
 public:
  Half(HalfOptions options, Protocol::Durable durable, Time now);

  HalfActions start(Time now);
  // One of a former process of the peer, or older than the latest, is not counted.
  HalfActions on_beat(const Beat& beat, Time now);
  // `tried`: when the connection was begun. What was heard since then is newer than this.
  HalfActions on_link_end(LinkEnd end, Time tried, Time now);
  // Every entry point asks this first. A vote if the peer is dead, or turns out to be: nobody is
  // sent to an active half whose beats stay away.
  Reception on_client(Time now);
  // A client knows of `known`, which is later than what is promised here. Its word alone proves
  // nothing: the witness is asked at once, but not more often than beats are sent. Without a
  // witness an active half whose peer has confirmed it for Timing::take since then begins a later
  // one.
  HalfActions on_later_epoch(Epoch known, Time now);
  // At next_deadline(), or earlier. One that comes later than two beats does not trust what it has
  // not heard: silence starts anew, the lease is over until three beats were heard again.
  HalfActions on_tick(Time now);
  Time next_deadline() const;

  HalfActions on_witness(uint64_t id, const WitnessAnswer& answer, Time now);
  HalfActions on_witness_silent(uint64_t id, Time now);
  HalfActions on_tenure(Epoch epoch, Time now);
  HalfActions abandon(Time now);
  void on_written(const Head& head) { protocol_.on_written(head); }
  // One that says nothing new after on_not_taken() is not counted.
  HalfActions on_acked(const Head& head, const std::string& store_id, Time now);
  // What was sent to the peer is not on its disk, and it says, or shows by its silence, that it
  // will not be. One whose beats come and whose disk fails is as good as gone after Timing::drop.
  void on_not_taken(const Status& why, Time now);
  // OK makes this half passive; the actions are to be carried out in any case.
  Status on_replicate(Epoch epoch, Time now, HalfActions& actions);
  HalfActions on_appended(Epoch epoch, const Head& head, Time now);
  // It asked where we are, which is on disk as a promise: nothing was appended.
  HalfActions on_promised(Epoch epoch, Time now);
  // The chain of what came does not go on from ours, whatever the epochs say (kDataLoss of append):
  // said in beats until something was appended. A copy that comes then has nothing in common with
  // what we have: all of it goes into quarantine.
  void on_unfit() { needs_copy_ = true; }
  bool is_unfit() const { return needs_copy_; }
  // kFailedPrecondition HF4104.
  Result<HalfActions> switch_over(Time now);
  HalfActions on_quiet(Time now);
  HalfActions force(Time now);
  HalfActions found(Time now);

  // The beat to send now. `facts`: the own store's.
  Beat next_beat(Time now, const store::ReplicaFacts& facts);
  // The same for may_sync(): not numbered.
  Beat describe() const;

  bool is_active() const { return protocol_.state() == State::Active; }
  // OK, or why no client may read or write here now: HF4101, HF4105, HF4107 (the lease is over),
  // HF4108 (no writes: it is handing over), HF4109 (no writes in sync mode: the peer is not in
  // sync).
  Status may_read(Time now) const;
  Status may_write(Time now) const;
  // OK, or why an active half answers nobody, or no write. Requires: is_active().
  Status serves(Time now) const;
  // Writes up to here are acknowledged. Requires: is_active().
  store::Revision acknowledged() const { return protocol_.acknowledged(); }

  bool peer_alive(Time now) const;
  bool has_lease(Time now) const;
  const std::optional<Beat>& peer() const { return peer_; }
  Duration peer_silence(Time now) const { return now - silent_since_; }
  std::optional<Duration> witness_silence(Time now) const;
  // Every answer of the own witness, beside on_witness(): for people to see.
  void note_witness(const Result<WitnessAnswer>& said, Time now);
  // By its last answer; nothing before the first.
  const std::optional<Record>& witness_record() const { return witness_record_; }
  // Revisions that the peer lacks, by its last beat; 0 if this half is not active.
  store::Revision lag() const;
  // Whether the passive half has all that is acknowledged, as far as this one knows.
  bool in_sync(Time now) const;
  const std::optional<Switch>& last_switch() const { return last_switch_; }
  // "the backup takes over within 1.1 s, nothing is lost", and the like.
  std::string if_active_died(Time now) const;
  // Each with its code: HF4102, HF4106, HF4107 (active, and may not serve), HF4109, HF4111, HF4112,
  // HF4113, HF4117, HF4118, HF4127, HF4128, HF4206, HF4207; what the witness says (HF42nn).
  std::vector<Status> problems(Time now) const;
  uint64_t late_ticks() const { return late_ticks_; }
  const Protocol& protocol() const { return protocol_; }
  const HalfOptions& options() const { return options_; }

 private:
  struct Sent {
    uint64_t number;
    Time at;
  };
  // The peer's disk does not take what it is sent.
  struct Stalled {
    Status why{};
    Time since{};
    store::Revision acked = 0;  // and nothing after it since
  };
  static constexpr size_t kFormerProcesses = 8;

  bool is_late(Time now) const;
  bool peer_is_late(Time now) const;
  void wake(Time now);
  // What the protocol wants, with a SendBeat if the peer should know what it did.
  HalfActions carry(Actions actions, const PeerFacts& before, Time now);
  HalfActions paced(Actions actions, const PeerFacts& before, Time now);
  void note_switch(const PeerFacts& before, Time now);
  void note_peer(const Beat& beat, Time now);
  void learn_switch(const Beat& beat, Time now);
  bool take_process(const std::string& process, Time now);
  bool is_stalled(Time now) const;
  bool lacks_record() const;
  bool has_other_witness(Time now) const;
  void add_witness_problems(Time now, std::vector<Status>& problems) const;
  Status witness_error(Time now) const;
  void note_echo(const Beat& beat);
  void heard_sign(Time now) { silent_since_ = std::max(silent_since_, now); }
  bool may_ask(Time now) const { return now >= next_ask_; }
  void tick_drop(Time now, HalfActions& out);
  void tick_witness(Time now, HalfActions& out);
  void tick_recovery(Time now, HalfActions& out);
  void tick_frozen(Time now, HalfActions& out);
  bool recovery_is_due(Time now);
  std::string why_taken(Time now) const;
  Duration patience() const;
  Time expiry() const;
  Status not_active(Time now) const;
  Status peer_fits() const;
  // What is left of Timing::lease beside a peer that takes over sooner than this half would.
  Duration lease() const;
  // OK, or HF4128: the halves are configured with different timings.
  Status timings() const;
  Status mismatch() const;
  std::string if_peer_takes(Time now) const;

  HalfOptions options_;
  Protocol protocol_;
  Time started_;
  Time last_tick_;
  // The peer.
  std::optional<Beat> peer_{};
  std::array<std::string, kFormerProcesses> former_{};
  size_t next_former_ = 0;
  Time silent_since_;                  // the last sign of life, or since when silence counts
  bool heard_ever_ = false;            // in this life
  bool refused_ = false;               // its machine said that it is gone
  std::optional<Time> active_sign_{};  // the peer's last as an active half
  Member last_active_ = Member::Primary;
  Epoch last_active_epoch_ = 0;
  bool needs_copy_ = false;
  Time last_beat_{};           // of the peer's process
  store::Revision acked_ = 0;  // by the peer, in this life
  std::optional<Stalled> stalled_{};
  // The lease.
  uint64_t last_number_ = 0;
  std::deque<Sent> sent_{};  // own beats whose echo may still come, oldest first
  std::optional<Time> lease_from_{};
  int distrust_ = 0;  // beats to hear before a lease counts again
  Time lent_;         // when the last beat was heard that was confirmed to a peer who may be active
  uint64_t late_ticks_ = 0;
  // The witness.
  uint64_t open_id_ = 0;  // the latest question; 0: answered
  Time open_since_{};
  Time next_ask_{};
  int failures_ = 0;
  std::optional<Time> witness_heard_{};
  std::optional<Time> witness_silent_since_{};
  std::optional<Record> witness_record_{};
  std::optional<Time> witness_differs_{};  // since when its record is not the active half's
  Status witness_error_{};                 // and not only silence
  Time witness_error_at_{};
  uint64_t probes_ = 0;
  Time next_probe_{};
  // Votes, switches.
  std::optional<Time> voted_{};  // a client's request that waits for an outcome
  std::string cause_{};
  std::optional<Time> frozen_since_{};
  std::optional<Time> recovered_since_{};
  std::optional<Time> outdated_since_{};  // somebody knows of a later epoch, and the peer does not
  std::optional<Switch> last_switch_{};
};

}  // namespace holdfast::ha
