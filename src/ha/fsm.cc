#include "ha/fsm.h"

#include <fmt/format.h>

#include <array>

namespace holdfast::ha {
namespace {

// Two halves of which none is active: who has more history claims, the primary if they have the
// same. The other waits to hear that it did.
Outcome decide_between(const Situation& situation) {
  switch (situation.histories) {
    case Histories::PeerBehind:
      return Outcome::Claim;
    case Histories::PeerAhead:
      return Outcome::Stay;
    case Histories::Equal:
      break;
  }
  return situation.me == Member::Primary ? Outcome::Claim : Outcome::Stay;
}

Outcome on_client(const Situation& situation) {
  if (situation.state == State::Active) return Outcome::Serve;
  return situation.peer_alive ? Outcome::Redirect : Outcome::Claim;
}

Outcome on_peer(const Situation& situation) {
  const State peer = static_cast<State>(situation.event);
  if (situation.state == State::Active) {
    return peer == State::Active ? Outcome::Resolve : Outcome::Stay;
  }
  if (peer == initial_state(situation.me)) return Outcome::Misconfigured;
  if (peer == State::Active) {
    return situation.state == State::Passive ? Outcome::Stay : Outcome::Follow;
  }
  if (peer == State::Passive && situation.state == State::Passive) return Outcome::Revert;
  return decide_between(situation);
}

}  // namespace

std::string_view to_string(Member member) {
  return member == Member::Primary ? "primary" : "backup";
}

std::string_view to_string(State state) {
  constexpr std::array<std::string_view, 5> kNames = {"", "PRIMARY", "BACKUP", "ACTIVE", "PASSIVE"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view to_string(Mode mode) {
  constexpr std::array<std::string_view, 3> kNames = {"best-effort", "sync", "witness"};
  return kNames[static_cast<size_t>(mode)];
}

std::string_view to_string(Event event) {
  constexpr std::array<std::string_view, 6> kNames = {
      "", "PEER_PRIMARY", "PEER_BACKUP", "PEER_ACTIVE", "PEER_PASSIVE", "CLIENT_REQUEST"};
  return kNames[static_cast<size_t>(event)];
}

std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, 8> kNames = {
      "stay", "claim", "follow", "revert", "resolve", "serve", "redirect", "misconfigured"};
  return kNames[static_cast<size_t>(outcome)];
}

Outcome decide(const Situation& situation) {
  const State foreign = initial_state(other(situation.me));
  if (situation.state == foreign) return Outcome::Misconfigured;
  return situation.event == Event::ClientRequest ? on_client(situation) : on_peer(situation);
}

std::string fsm_table() {
  std::string text = "| half | state | event | peer alive | peer dead |\n|---|---|---|---|---|\n";
  for (const Member me : {Member::Primary, Member::Backup}) {
    for (int state = 1; state <= 4; ++state) {
      if (static_cast<State>(state) == initial_state(other(me))) continue;
      for (int event = 1; event <= 5; ++event) {
        Situation situation{
            .me = me, .state = static_cast<State>(state), .event = static_cast<Event>(event)};
        const Outcome alive = decide(situation);
        situation.peer_alive = false;
        text +=
            fmt::format("| {} | {} | {} | {} | {} |\n", to_string(me), to_string(situation.state),
                        to_string(situation.event), to_string(alive), to_string(decide(situation)));
      }
    }
  }
  return text;
}

}  // namespace holdfast::ha
