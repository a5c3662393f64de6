// How one half of the model reacts: the real Protocol, and around it what a service and a store do.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ha/model.h"

namespace holdfast::ha::model {

inline constexpr std::array kMembers = {Member::Primary, Member::Backup};

enum class Input : uint8_t {
  Start,
  StartWiped,  // with an empty disk
  Crash,
  Vote,      // a client asks, and the peer is taken for dead
  PeerLost,  // the peer is taken for gone
  Retry,
  Silent,           // the witness does not answer
  Tenure,           // is durable
  TenureThenCrash,  // durable, and then it crashes
  Write,
  Beat,  // sends one
  Ship,  // sends its history
  SwitchOver,
  Thaw,  // the hand-over takes too long
  Deliver,
  Force,          // an operator insists
  DeliverBehind,  // of a history: it is let in, but the tenure was on its way to the disk before
};

struct Reaction {
  Node node{};
  std::vector<Message> sends{};
  bool asks_anew = false;  // earlier questions to the witness do not count any more
};

// Whether this can happen to it at all.
bool may_happen(const Node& node, Input input);
// `write`: of Write. `message`: of Deliver and DeliverBehind.
struct Occasion {
  Input input = Input::Start;
  uint8_t write = 0;
  const Message* message = nullptr;
};
Reaction react(const Node& node, const Occasion& occasion, const Options& options);

// What the witness answers; `record` is what it keeps.
Message answer(const Message& question, Record& record, Bug bug);

}  // namespace holdfast::ha::model
