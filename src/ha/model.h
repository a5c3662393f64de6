// What the model checker's world is made of: disks with short histories, two halves with the real
// Protocol in them, and messages. model_node.h says how a half reacts, model_space.h what can
// happen, model_search.h looks at all of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ha/protocol.h"

namespace holdfast::ha::model {

// Mistakes of what surrounds the protocol, each of which the checker must find. None is a flag of
// the protocol itself: they change what it is told, or what becomes of what it says.
enum class Bug : uint8_t {
  None,
  OldEpochTaken,           // what an old active sends is delivered as if it were of today
  AckedBeforeDurable,      // a crash takes the last entry with it, which was acknowledged
  AckedTooFar,             // an acknowledgement counts for everything that was written
  FakeSuccess,             // a question without an answer counts as accepted
  OldAnswers,              // an answer counts for the latest question, whichever it belongs to
  WitnessDoesNotCompare,   // it accepts a change of a record that is not the current one any more
  WitnessForgets,          // it restarts without its record
  WitnessTakesNonMembers,  // it does not look who is in sync
  PromiseLost,             // a restart forgets what was promised
  AppendedUnchecked,       // entries are appended wherever the history ends
  HistoryShortened,        // what was sent earlier replaces what was sent later
  StoreIdReused,           // an empty disk has the id of the one it replaces
  RestartTrustsItIsAlone,  // whoever resumes does not wait for its peer
};
std::string_view to_string(Bug bug);

struct Options {
  Mode mode = Mode::Witness;
  bool steady = true;  // starts with the primary active and both in sync; false: with empty disks
  Epoch max_epoch = 8;
  uint8_t writes = 2;  // at most 3
  uint8_t crashes = 1;
  uint8_t wipes = 0;      // a restart with an empty disk
  uint8_t switches = 0;   // planned
  uint8_t repeats = 0;    // messages that arrive twice
  uint8_t forces = 0;     // promotions by force while the witness is away, and the other follows
  uint8_t rollbacks = 0;  // the witness restarts with the record of the beginning
  uint8_t in_flight = 3;  // messages at once, at most 5; more are lost
  Bug bug = Bug::None;
};

// Of a promotion by force: small, as everything here, and more than is recorded unseen.
inline constexpr Epoch kForcedLeap = 8;

// The entries of a disk, oldest first. Each was written in an epoch, by one of the clients' writes.
class Log {
 public:
  static constexpr size_t kMax = 4;
  size_t size() const { return size_; }
  Epoch epoch_at(size_t i) const { return entries_.at(i) >> 2U; }
  uint8_t write_at(size_t i) const { return entries_.at(i) & 3U; }
  void push(Epoch epoch, uint8_t write);
  void pop();
  Head head() const;
  bool has(uint8_t write) const;
  bool has_point(const Head& head) const;
  bool begins_with(const Log& other) const;
  bool operator==(const Log&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Log& log) {
    return H::combine(std::move(h), log.entries_, log.size_);
  }

 private:
  std::array<uint8_t, kMax> entries_{};
  uint8_t size_ = 0;
};

struct Disk {
  Epoch promised = 0;
  Log log{};
  uint8_t generation = 0;  // 1: the empty one that replaced the first
  bool operator==(const Disk&) const = default;
};

// One process and its disk.
struct Node {
  Member me = Member::Primary;
  Disk disk{};
  std::optional<Protocol> protocol{};  // absent: it is down
  std::vector<Epoch> tenures{};        // to be made durable
  bool heard = false;                  // the peer, since it is active: it knows what to send
  bool resumed = false;                // its tenure is one of before its restart
  bool operator==(const Node&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Node& node) {
    h = H::combine(std::move(h), node.me, node.disk.promised, node.disk.log, node.disk.generation,
                   node.tenures.size(), node.heard);
    return node.protocol ? H::combine(std::move(h), *node.protocol) : std::move(h);
  }

  bool is_active() const { return protocol && protocol->state() == State::Active; }
};
std::string store_id(Member member, uint8_t generation);

struct Message {
  enum class Kind : uint8_t { Beat, Replicate, Ack, Question, Answer };
  Kind kind = Kind::Beat;
  Member half = Member::Primary;         // who gets it; of a question: who asks
  bool current = true;                   // of questions and answers: the half still waits for it
  PeerFacts facts{};                     // Beat
  Epoch epoch = 0;                       // Replicate
  Log log{};                             // Replicate
  Head head{};                           // Ack
  std::string store{};                   // Ack
  std::optional<RecordChange> change{};  // Question; absent: what is the record?
  WitnessAnswer answer{};                // Answer
  bool operator==(const Message&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Message& m) {
    h = H::combine(std::move(h), m.kind, m.half, m.current, m.facts.state, m.facts.promised,
                   m.facts.head.epoch, m.facts.head.revision, m.facts.record.epoch, m.epoch, m.log,
                   m.head.epoch, m.head.revision);
    return H::combine(std::move(h), m.answer.accepted, m.answer.current.epoch,
                      m.answer.current.in_sync.bits(), m.change ? m.change->record.epoch : 0,
                      m.change ? m.change->record.in_sync.bits() : 0);
  }
};
std::string describe(const Message& message);

// What only an observer knows: what was acknowledged, and how much has gone wrong already.
struct Ledger {
  Record record{};                            // the witness's
  std::array<uint8_t, Log::kMax> acked_in{};  // by write: the epoch; 0: not yet
  uint8_t writes = 0;
  uint8_t crashes = 0;
  uint8_t wipes = 0;
  uint8_t switches = 0;
  uint8_t repeats = 0;
  uint8_t forgotten = 0;  // the witness's record, or what came after its first
  uint8_t forces = 0;
  bool operator==(const Ledger&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Ledger& l) {
    return H::combine(std::move(h), l.record.epoch, l.record.in_sync.bits(), l.acked_in, l.writes,
                      l.crashes, l.wipes, l.switches, l.repeats, l.forgotten, l.forces);
  }
};

}  // namespace holdfast::ha::model
