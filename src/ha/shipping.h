// What the active half sends to the passive one next: entries, a whole copy, or nothing. The seed's
// sequence numbers are the revisions; its "full" is a copy, sent only when the passive half says
// that its history does not lead into ours, never because an echo was late.
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
  store::Revision fork = 0;  // the last revision they have in common
};
Comparison compare(const Head& mine, const std::vector<store::Tenure>& my_tenures,
                   const Head& theirs, const std::vector<store::Tenure>& their_tenures);

// Whether data may flow between these two: their schema ranges meet.
bool may_sync(const Beat& a, const Beat& b);

// The active half's side.
struct Shipment {
  enum class Kind : uint8_t { Nothing, Entries, Copy };
  Kind kind = Kind::Nothing;
  Head after{};  // of Entries
};
class Shipping {
 public:
  // A tenure began, or the connection did: where the peer is will be known from its next beat or
  // answer.
  void restart();
  void on_beat(const Beat& beat);
  void on_answer(const Head& head, bool needs_copy);
  void on_failure();  // of what was sent: it is asked again after the next beat
  // What to send now; Nothing while something is on its way. `mine` is the own store's.
  Shipment next(const store::ReplicaFacts& mine);
  uint64_t copies() const { return copies_; }

 private:
  std::optional<Head> peer_head_{};
  std::vector<store::Tenure> peer_tenures_{};
  bool peer_needs_copy_ = false;
  bool in_flight_ = false;
  uint64_t copies_ = 0;
};

}  // namespace holdfast::ha
