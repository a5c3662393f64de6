// One half of the pair, with a clock: the protocol's rules, who was heard when, who may serve until
// when. A service feeds it and carries out what it wants; so does the simulation.
//
//   beats in, link, clients, witness, store, ticks ─► Half ─► AskWitness, BeginTenure, SendBeat
#pragma once

#include <cstdint>
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

// What travels between the halves besides data.
struct Beat {
  uint64_t number = 0;  // of this process, from 1
  uint64_t heard = 0;   // the latest of the peer's; 0: none of this life of the peer's process
  std::string process{};
  PeerFacts facts{};
  Mode mode = Mode::Witness;
  std::string name{};
  std::string address{};
  std::string version{};
  uint32_t schema_min = 1;
  uint32_t schema_max = 1;
  std::vector<store::Tenure> tenures{};
  store::Revision floor = 0;
  bool needs_copy = false;
};

struct HalfOptions {
  Protocol::Config pair{};
  Timing timing{};
  std::string process{};  // random, of this life
  std::string name{};
  std::string address{};
  std::string version{};
  uint32_t schema_min = 1;
  uint32_t schema_max = 1;
};

// To be sent at once, not only with the next regular beat: something changed.
struct SendBeat {};
using HalfAction = std::variant<AskWitness, BeginTenure, SendBeat>;
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
    Wait,      // ask again when something changed, until vote_patience is over
    Redirect,  // with `why`: HF4101 and the active's address, HF4105 nobody is active, HF4106 both
               // halves are configured alike
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
  std::string reason{};  // "the peer's process is gone", "switchover", "forced", ...
  Duration took{0};      // from the last sign of the former active to serving
  Epoch epoch = 0;
};

class Half {
 public:
  Half(HalfOptions options, Protocol::Durable durable, Time now);

  HalfActions start(Time now);
  HalfActions on_beat(const Beat& beat, Time now);
  HalfActions on_link_end(LinkEnd end, Time now);
  // Every entry point asks this first. A vote if the peer is dead.
  Reception on_client(Time now);
  // At next_deadline(), or earlier. One that comes later than two beats does not trust what it has
  // not heard: silence starts anew, the lease is over until three beats were heard again.
  HalfActions on_tick(Time now);
  Time next_deadline() const;

  HalfActions on_witness(uint64_t id, const WitnessAnswer& answer, Time now);
  HalfActions on_witness_silent(uint64_t id, Time now);
  HalfActions on_tenure(Epoch epoch, Time now);
  void abandon(Time now);
  void on_written(const Head& head);
  HalfActions on_acked(const Head& head, const std::string& store_id, Time now);
  Status on_replicate(Epoch epoch, Time now);  // also a sign of life
  void on_appended(Epoch epoch, const Head& head);
  Status switch_over(Time now);
  HalfActions on_quiet(Time now);
  HalfActions force(Time now);

  // The beat to send now.
  Beat next_beat(Time now, const store::ReplicaFacts& facts);

  bool is_active() const { return protocol_.state() == State::Active; }
  // OK, or why no client may read or write here now: HF4101, HF4105, HF4107 (the lease is over).
  Status may_read(Time now) const;
  Status may_write(Time now) const;
  // Writes up to here are acknowledged. Requires: is_active().
  store::Revision acknowledged() const { return protocol_.acknowledged(); }

  bool peer_alive(Time now) const;
  std::optional<Beat> peer() const { return peer_; }
  Duration peer_silence(Time now) const;
  const std::optional<Switch>& last_switch() const { return last_switch_; }
  // "the backup takes over within 1.1 s, nothing is lost", and the like.
  std::string if_active_died(Time now) const;
  // Each with its code: not in sync, versions that do not meet, misconfigured, no witness.
  std::vector<Status> problems(Time now) const;
  const Protocol& protocol() const { return protocol_; }

 private:
  HalfOptions options_;
  Protocol protocol_;
  std::optional<Beat> peer_{};
  std::optional<Switch> last_switch_{};
};

}  // namespace holdfast::ha
