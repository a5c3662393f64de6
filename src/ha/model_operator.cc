// What operators do in the model: a promotion by force without the witness, and a witness that
// comes back with an older record.
#include <algorithm>

#include "ha/model_node.h"
#include "ha/model_space.h"

namespace holdfast::ha::model {
namespace {}  // namespace

// The witness is away, and the half that is promoted has all that was acknowledged. The other has
// heard of it before anything else happens: one that does not know it may be let on by the witness,
// which is why an operator has to see that it is off.
std::optional<State> Space::forced(const State& state, Member half) {
  const Log& log = node(state, half).disk.log;
  const auto is_lost = [&](uint8_t write) {
    return ledgers_[state.ledger].acked_in.at(write) != 0 && !log.has(write);
  };
  for (uint8_t write = 0; write < Log::kMax; ++write) {
    if (is_lost(write)) return std::nullopt;
  }
  if (!node(state, half).protocol || !node(state, other(half)).protocol) return std::nullopt;
  State next = state;
  next.messages.fill(kNone);
  Ledger ledger = ledgers_[state.ledger];
  if (ledger.forces++ >= options_.forces) return std::nullopt;
  next.ledger = ledgers_.number(std::move(ledger));
  const Epoch before = node(state, half).disk.promised;
  const auto is_done = [&] {
    const Node& active = node(next, half);
    return active.is_active() && active.protocol->epoch() >= before + kForcedLeap;
  };
  // A tenure that was under way already is on the disk first.
  for (const Input input : {Input::Force, Input::Tenure, Input::Tenure}) {
    if (is_done()) break;
    const std::optional<State> after_it = after(next, half, input, 0);
    if (!after_it) return std::nullopt;
    next = *after_it;
    next.messages.fill(kNone);
  }
  const Node& active = node(next, half);
  if (!is_done() || active.disk.promised <= node(next, other(half)).disk.promised) {
    return std::nullopt;
  }
  const uint32_t history = messages_.number({.kind = Message::Kind::Replicate,
                                             .half = other(half),
                                             .epoch = active.protocol->epoch(),
                                             .log = active.disk.log});
  std::optional<State> followed = after(next, other(half), Input::Deliver, history);
  if (followed) followed->messages.fill(kNone);
  return followed;
}

// Both have followed what the record was last, or nobody could tell that it was another. What was
// asked of the process that ended is lost.
std::optional<State> Space::rolled_back(const State& state) {
  Ledger ledger = ledgers_[state.ledger];
  const Epoch last = ledger.record.epoch;
  const bool known = std::ranges::all_of(
      kMembers, [&](Member member) { return node(state, member).disk.promised >= last; });
  if (!known || last <= first_record_.epoch) return std::nullopt;
  if (ledger.forgotten++ >= options_.rollbacks) return std::nullopt;
  ledger.record = first_record_;
  State next = state;
  next.ledger = ledgers_.number(std::move(ledger));
  replace_if(next, [](const Message& message) { return message.kind != Message::Kind::Question; });
  return next;
}

void Space::for_each_intervention(const State& state,
                                  const std::function<void(const Move&, const State&)>& visit) {
  if (options_.rollbacks > 0) {
    if (const auto next = rolled_back(state)) {
      visit({.kind = Move::Kind::WitnessRollsBack}, *next);
    }
  }
  if (options_.forces == 0) return;
  for (const Member half : kMembers) {
    const std::optional<State> next = forced(state, half);
    if (next && is_within(*next)) visit({.kind = Move::Kind::Forced, .half = half}, *next);
  }
}

bool Space::needs_operator(const State& state) const {
  const Ledger& ledger = ledgers_[state.ledger];
  const bool stirred = ledger.forgotten > 0 || ledger.forces > 0;
  return stirred && std::ranges::all_of(kMembers, [&](Member member) {
           const Node& half = node(state, member);
           return !half.is_active() && half.disk.promised > ledger.record.epoch;
         });
}

}  // namespace holdfast::ha::model
