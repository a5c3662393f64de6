// What the active half sends to the passive one next: a question where it is, entries, a whole
// copy, or nothing. The seed's sequence numbers are the revisions; its "full" is a copy, sent only
// when the passive half's history does not lead into ours, never because an echo was late: where
// the peer is, only its answers say. A beat says that it is there, and what it can read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ha/half.h"
#include "store/replica.h"

namespace holdfast::ha {

// How a history stands to another, by their tenures.
enum class Relation : uint8_t {
  Same,
  Behind,    // a beginning of the other: entries are enough, if they are still kept
  Ahead,     // the other is a beginning of this one
  Diverged,  // they part at a fork
};
struct Comparison {
  Relation relation = Relation::Same;
  store::Revision fork = 0;  // the last revision they have in common; 0: none that is known
};
struct History {
  Head head{};
  std::vector<store::Tenure> tenures{};
};
Comparison compare(const History& mine, const History& theirs);
// Whether `point` is part of `history`: then entries after it lead to its head.
bool contains(const History& history, const Head& point);

// The passive half's side: a copy that was sent in `epoch` comes too late if entries of that epoch
// are here already up to its head, or further. To take it would take them back after they were
// acknowledged. To be asked in the moment in which the copy would replace what is there.
bool is_too_late(const Head& copy, Epoch epoch, const Head& mine);

// OK, or why no data flows between these two: HF4112, their schema ranges do not meet; HF4113, they
// are configured for different modes; HF4106, as the same half.
Status may_sync(const Beat& a, const Beat& b);

// What to send. `id` names it: its answer, or that it failed, comes with it.
struct Shipment {
  enum class Kind : uint8_t {
    Nothing,
    Ask,      // no entries: the answer says where the peer is
    Entries,  // those after `after`
    Copy,
  };
  Kind kind = Kind::Nothing;
  uint64_t id = 0;
  Head after{};
};

// The passive half's answer.
struct ShipmentAnswer {
  Head head{};              // on its disk
  bool needs_copy = false;  // it cannot go on from there, whatever comes
};

// The active half's side.
class Shipping {
 public:
  // A tenure began, or the connection did: where the peer is will be asked. What is on its way does
  // not count any more.
  void restart();
  // The peer is there. `mine` is the own beat, for may_sync().
  void on_beat(const Beat& beat, const Beat& mine);
  // True: the peer's disk has all of `mine` up to answer.head (tell the Half). An answer to what is
  // not on its way any more is not counted.
  bool on_answer(uint64_t id, const ShipmentAnswer& answer, const store::ReplicaFacts& mine);
  // Of what was sent. Where the peer is will be asked after its next beat.
  void on_failure(uint64_t id);
  // What to send now; Nothing while something is on its way.
  Shipment next(const store::ReplicaFacts& mine);

  uint64_t copies() const { return copies_; }
  // OK, or why nothing flows: that of may_sync(), or HF4114: the last copy did not help.
  Status obstacle() const;

 private:
  Shipment send(Shipment::Kind kind, const Head& after);

  std::string process_{};            // the peer's
  std::optional<Head> peer_head_{};  // by its last answer
  bool wants_copy_ = false;          // by its last answer
  bool present_ = false;             // a beat came since the last failure
  bool useless_copy_ = false;        // it was taken, and yet the peer's history does not fit
  Status may_sync_ = absl::OkStatus();
  uint64_t in_flight_ = 0;  // its id; 0: nothing
  bool copying_ = false;
  uint64_t last_id_ = 0;
  uint64_t copies_ = 0;
};

}  // namespace holdfast::ha
