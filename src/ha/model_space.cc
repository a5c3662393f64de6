#include "ha/model_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "ha/model_node.h"

namespace holdfast::ha::model {
namespace {

constexpr std::array kInputs = {
    Input::Start,           Input::StartWiped, Input::Crash,      Input::Vote,  Input::PeerLost,
    Input::Retry,           Input::Silent,     Input::Tenure,     Input::Write, Input::Beat,
    Input::TenureThenCrash, Input::Ship,       Input::SwitchOver, Input::Thaw};

}  // namespace

State Space::initial() {
  if (options_.steady) return steady();
  State state;
  for (const Member member : kMembers) {
    state.halves.at(static_cast<size_t>(member)) = nodes_.number({.me = member});
  }
  state.ledger = ledgers_.number({});
  return state;
}

// Both were started, found each other, and one beat of each has arrived since.
State Space::steady() {
  Options quiet = options_;
  quiet.steady = false;
  quiet.bug = Bug::None;
  Space calm(quiet);
  State state = calm.initial();
  const auto step = [&](Member half, Input input) {
    if (!may_happen(calm.node(state, half), input)) return;
    if (const auto next = calm.after(state, half, input, 0)) state = *next;
    for (int i = 0; i < 12 && state.messages.front() != kNone; ++i) {
      const uint32_t id = state.messages.front();
      const Message& message = calm.messages_[id];
      if (message.kind == Message::Kind::Question) {
        state = calm.answered(state, id);
        continue;
      }
      State rest = state;
      calm.remove(rest, id);
      state = calm.after(rest, message.half, Input::Deliver, id).value_or(rest);
    }
  };
  for (int round = 0; round < 12; ++round) {
    for (const Input input :
         {Input::Start, Input::Tenure, Input::Beat, Input::Tenure, Input::Retry, Input::Ship}) {
      for (const Member half : kMembers) step(half, input);
    }
  }
  State own;
  for (const Member member : kMembers) {
    own.halves.at(static_cast<size_t>(member)) = nodes_.number(calm.node(state, member));
  }
  own.ledger = ledgers_.number(calm.ledgers_[state.ledger]);
  first_record_ = calm.ledgers_[state.ledger].record;
  return own;
}

const Space::Known& Space::reaction(uint32_t node, Input input, uint32_t detail) {
  const uint64_t key =
      uint64_t{node} << 32U | uint64_t{detail} << 5U | static_cast<uint64_t>(input);
  const auto [it, is_new] = known_.try_emplace(key, static_cast<uint32_t>(reactions_.size()));
  if (!is_new) return reactions_[it->second];
  Occasion occasion{.input = input};
  if (input == Input::Write) occasion.write = static_cast<uint8_t>(detail);
  const bool delivers = input == Input::Deliver || input == Input::DeliverBehind;
  if (delivers) occasion.message = &messages_[detail];
  Reaction reaction = react(nodes_[node], occasion, options_);
  Known known{.asks_anew = reaction.asks_anew};
  for (Message& message : reaction.sends)
    known.sends.push_back(messages_.number(std::move(message)));
  known.node = nodes_.number(std::move(reaction.node));
  reactions_.push_back(std::move(known));
  return reactions_.back();
}

void Space::remove(State& state, uint32_t message) const {
  auto& all = state.messages;
  const auto found = std::ranges::find(all, message);
  HF_CHECK(found != all.end(), "what is removed is there");
  std::move(found + 1, all.end(), found);
  all.back() = kNone;
}

// What does not fit is lost.
void Space::add(State& state, uint32_t message) const {
  auto& all = state.messages;
  if (std::ranges::find(all, message) != all.end()) return;
  if (all.at(options_.in_flight - 1U) != kNone) return;
  all.at(options_.in_flight - 1U) = message;
  std::ranges::sort(all);
}

// Nobody waits for its answers any more. A wish may still come true.
void Space::outdate_questions(State& state, Member half) {
  if (options_.bug == Bug::OldAnswers) return;
  replace_if(state, [&](Message& message) {
    const bool question = message.kind == Message::Kind::Question;
    if (message.half != half || (!question && message.kind != Message::Kind::Answer)) return true;
    message.current = false;
    return question && message.change.has_value();
  });
}

// Its connections are gone: what it sent may still arrive, but nothing finds it any more.
void Space::cut_off(State& state, Member half) {
  replace_if(state, [&](Message& message) {
    if (message.kind == Message::Kind::Question) return true;
    if (message.kind == Message::Kind::Replicate) message.current = false;
    return message.half != half;
  });
}

// `change` says whether it stays.
void Space::replace_if(State& state, const std::function<bool(Message&)>& change) {
  const std::array all = state.messages;
  state.messages.fill(kNone);
  for (const uint32_t id : all) {
    if (id == kNone) break;
    Message message = messages_[id];
    if (change(message)) add(state, messages_.number(std::move(message)));
  }
}

// Without a witness nothing protects from a disk that forgot what it promised, if messages of
// before can still arrive. They cannot: replacing a disk takes longer than any connection lives.
void Space::lose_what_it_sent(State& state, Member half) {
  if (options_.mode == Mode::Witness) return;
  replace_if(state, [&](const Message& message) { return message.half == half; });
}

// What the half says is acknowledged now.
void Space::settle_accounts(State& state, Member half) {
  const Node& active = node(state, half);
  if (!active.is_active()) return;
  const auto acknowledged = static_cast<size_t>(active.protocol->acknowledged());
  Ledger ledger = ledgers_[state.ledger];
  bool changed = false;
  const Log& log = active.disk.log;
  for (size_t i = 0; i < log.size() && i + store::kFirstRevision < acknowledged; ++i) {
    uint8_t& acked_in = ledger.acked_in.at(log.write_at(i));
    if (acked_in != 0) continue;
    acked_in = static_cast<uint8_t>(active.protocol->epoch());
    changed = true;
  }
  if (changed) state.ledger = ledgers_.number(ledger);
}

std::optional<State> Space::after(const State& state, Member half, Input input, uint32_t detail) {
  const auto index = static_cast<size_t>(half);
  const uint32_t before = state.halves.at(index);
  const Known& known = reaction(before, input, detail);
  State next = state;
  next.halves.at(index) = known.node;
  const bool down = !nodes_[known.node].protocol.has_value();
  if (known.asks_anew || down) outdate_questions(next, half);
  if (down) cut_off(next, half);
  for (const uint32_t message : known.sends) add(next, message);
  settle_accounts(next, half);
  if (next == state) return std::nullopt;
  return next;
}

bool Space::is_within(const State& state) const {
  const Ledger& ledger = ledgers_[state.ledger];
  const Epoch highest = options_.max_epoch + ledger.forces * kForcedLeap;
  if (ledger.record.epoch > highest) return false;
  return std::ranges::all_of(kMembers, [&](Member member) {
    const Node& half = node(state, member);
    const bool tenure = !half.tenures.empty() && half.tenures.back() > highest;
    return half.disk.promised <= highest && !tenure && half.tenures.size() <= 2;
  });
}

bool Space::spend(Ledger& ledger, Input input) const {
  switch (input) {
    case Input::Write:
      return ledger.writes++ < options_.writes;
    case Input::Crash:
    case Input::TenureThenCrash:
      return ledger.crashes++ < options_.crashes;
    case Input::StartWiped:
      return ledger.wipes++ < options_.wipes;
    case Input::SwitchOver:
      return ledger.switches++ < options_.switches;
    default:
      return true;
  }
}

void Space::for_each_input(const State& state, Member half,
                           const std::function<void(const Move&, const State&)>& visit) {
  for (const Input input : kInputs) {
    if (!may_happen(node(state, half), input)) continue;
    if (input == Input::StartWiped && !has_copy(state, other(half))) continue;
    Ledger ledger = ledgers_[state.ledger];
    const uint32_t write = input == Input::Write ? ledger.writes : 0;
    if (!spend(ledger, input)) continue;
    State from = state;
    if (ledger != ledgers_[state.ledger]) from.ledger = ledgers_.number(ledger);
    if (input == Input::StartWiped) lose_what_it_sent(from, half);
    const std::optional<State> next = after(from, half, input, write);
    if (next && is_within(*next)) visit({.half = half, .input = input}, *next);
  }
}

State Space::answered(const State& state, uint32_t question) {
  const Message asked = messages_[question];
  Ledger ledger = ledgers_[state.ledger];
  Message reply = answer(asked, ledger.record, options_.bug);
  State next = state;
  remove(next, question);
  next.ledger = ledgers_.number(std::move(ledger));
  if (asked.current) add(next, messages_.number(std::move(reply)));
  return next;
}

void Space::for_each_message(const State& state,
                             const std::function<void(const Move&, const State&)>& visit) {
  const auto offer = [&](Move::Kind kind, uint32_t id, const State& next) {
    if (is_within(next)) visit({.kind = kind, .message = id}, next);
  };
  for (const uint32_t id : state.messages) {
    if (id == kNone) break;
    const Message message = messages_[id];
    State rest = state;
    remove(rest, id);
    State lost = rest;
    if (message.kind == Message::Kind::Question) {
      offer(Move::Kind::Answered, id, answered(state, id));
      if (options_.bug == Bug::FakeSuccess && message.change && message.current) {
        add(lost,
            messages_.number({.kind = Message::Kind::Answer,
                              .half = message.half,
                              .answer = {.accepted = true, .current = message.change->record}}));
      }
    } else if (node(state, message.half).protocol) {
      const auto next = after(rest, message.half, Input::Deliver, id);
      offer(Move::Kind::Arrives, id, next.value_or(rest));
      const bool history = message.kind == Message::Kind::Replicate;
      if (history && may_happen(node(state, message.half), Input::DeliverBehind)) {
        const auto behind = after(rest, message.half, Input::DeliverBehind, id);
        offer(Move::Kind::ArrivesBehind, id, behind.value_or(rest));
      }
      Ledger ledger = ledgers_[state.ledger];
      if (ledger.repeats++ < options_.repeats && message.kind != Message::Kind::Answer) {
        State kept = state;
        kept.ledger = ledgers_.number(ledger);
        const auto twice = after(kept, message.half, Input::Deliver, id);
        if (twice) offer(Move::Kind::ArrivesTwice, id, *twice);
      }
    }
    offer(Move::Kind::Lost, id, lost);
  }
}

void Space::for_each_next(const State& state,
                          const std::function<void(const Move&, const State&)>& visit) {
  for (const Member half : kMembers) for_each_input(state, half, visit);
  for_each_message(state, visit);
  for_each_intervention(state, visit);
  Ledger ledger = ledgers_[state.ledger];
  if (options_.bug != Bug::WitnessForgets || ledger.forgotten++ > 0) return;
  ledger.record = {};
  State next = state;
  next.ledger = ledgers_.number(std::move(ledger));
  visit({.kind = Move::Kind::WitnessForgets}, next);
}

}  // namespace holdfast::ha::model
