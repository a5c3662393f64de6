// The pair's state machine, as one table: what a half does about what it hears.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ha/types.h"

namespace holdfast::ha {

enum class Event : uint8_t {
  PeerPrimary = 1,  // the state in the peer's beat, under the same number
  PeerBackup = 2,
  PeerActive = 3,
  PeerPassive = 4,
  ClientRequest = 5,
};
std::string_view to_string(Event event);
constexpr Event event_of(State peer) {
  return static_cast<Event>(peer);
}

// How the peer's history stands to the own one.
enum class Histories : uint8_t { Equal, PeerBehind, PeerAhead };

enum class Outcome : uint8_t {
  Stay,           // nothing changes
  Claim,          // become active, as soon as the mode allows
  Follow,         // become passive
  Revert,         // both are passive: back to the initial state, and decide anew
  Resolve,        // both are active: the higher epoch stays, the other follows
  Serve,          // the client's request
  Redirect,       // the client: to the active, or to wait until there is one
  Misconfigured,  // both are configured as the same half: who is not active yet never will be
};
std::string_view to_string(Outcome outcome);

struct Situation {
  Member me = Member::Primary;
  State state = State::Primary;
  Event event = Event::ClientRequest;
  bool peer_alive =
      true;  // heard lately; from the start on until it has been silent for long enough
  Histories histories = Histories::Equal;
};

// Pure, total: a state that this member cannot have is Misconfigured.
Outcome decide(const Situation& situation);

// The table as Markdown, for docs/pair.md; a test compares the two.
std::string fsm_table();

}  // namespace holdfast::ha
