// What must hold in every state of the model, and what must become of every state.
#include <fmt/format.h>

#include <algorithm>

#include "ha/model_node.h"
#include "ha/model_space.h"

namespace holdfast::ha::model {
namespace {

bool has_disk(const Record& record, const Node& half) {
  return record.in_sync.has(half.me) &&
         record.store_id(half.me) == store_id(half.me, half.disk.generation);
}

// A point that two histories share means that they share all before it.
bool agree(const Log& a, const Log& b) {
  for (size_t i = std::min(a.size(), b.size()); i-- > 0;) {
    if (a.epoch_at(i) != b.epoch_at(i)) continue;
    for (size_t j = 0; j <= i; ++j) {
      if (a.epoch_at(j) != b.epoch_at(j) || a.write_at(j) != b.write_at(j)) return false;
    }
  }
  return true;
}

bool goes_back(const Node& before, const Node& after) {
  if (before.disk.generation != after.disk.generation) return false;
  if (after.disk.promised < before.disk.promised) return true;
  const bool both = before.protocol && after.protocol;
  return both && after.protocol->promised() < before.protocol->promised();
}

// Writes that were acknowledged in an epoch up to `epoch` and are not in `log`.
bool lacks(const Log& log, const Ledger& ledger, Epoch epoch) {
  for (uint8_t write = 0; write < Log::kMax; ++write) {
    const Epoch acked_in = ledger.acked_in.at(write);
    if (acked_in != 0 && acked_in <= epoch && !log.has(write)) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> Space::wrong(const State& before, const State& state) const {
  const Node& primary = node(state, Member::Primary);
  const Node& backup = node(state, Member::Backup);
  const Ledger& ledger = ledgers_[state.ledger];
  const bool both = primary.is_active() && backup.is_active();
  if (both && primary.protocol->epoch() == backup.protocol->epoch()) {
    return "both are active in one epoch";
  }
  for (const Node* half : {&primary, &backup}) {
    // Its store takes no write of such an epoch.
    if (half->is_active() && half->disk.promised > half->protocol->epoch()) {
      return fmt::format("the {} is active in an epoch below what its disk has promised",
                         to_string(half->me));
    }
  }
  const auto alone = [](const Node& half) {
    return half.protocol->required() == Members::of(half.me);
  };
  const bool safe = options_.mode != Mode::BestEffort;
  if (safe && both && alone(primary) && alone(backup)) return "both acknowledge alone";
  if (!agree(primary.disk.log, backup.disk.log)) {
    return "the histories differ before a point that they share";
  }
  if (ledger.record.epoch < ledgers_[before.ledger].record.epoch && ledger.forgotten == 0) {
    return "the witness's epoch goes back";
  }
  for (const Member member : kMembers) {
    const Node& half = node(state, member);
    if (goes_back(node(before, member), half)) return "the epoch of a half goes back";
    if (!safe) continue;
    // A record of before what a half has followed says nothing about it.
    const bool over = ledger.record.epoch < half.disk.promised;
    const bool in_sync = options_.mode == Mode::Witness ? has_disk(ledger.record, half) && !over
                                                        : half.disk.generation == 0;
    if (in_sync && lacks(half.disk.log, ledger, UINT64_MAX)) {
      return fmt::format("the {} is in sync and lacks an acknowledged write", to_string(member));
    }
    const bool serves = half.is_active() && half.protocol->acknowledged() > 0;
    if (serves && lacks(half.disk.log, ledger, half.protocol->epoch())) {
      return fmt::format("the {} serves and lacks an acknowledged write", to_string(member));
    }
  }
  return std::nullopt;
}

bool Space::has_copy(const State& state, Member half) const {
  const Ledger& ledger = ledgers_[state.ledger];
  if (std::ranges::all_of(ledger.acked_in, [](uint8_t epoch) { return epoch == 0; })) return true;
  const bool counts = options_.mode != Mode::Witness || has_disk(ledger.record, node(state, half));
  return counts && !lacks(node(state, half).disk.log, ledger, UINT64_MAX);
}

// From here on nothing is lost: what was sent before is, then everything arrives at once.
class Space::Healing {
 public:
  Healing(Space& space, const State& state)
      : space_(space), halves_(state.halves), record_(space.ledgers_[state.ledger].record) {}

  bool run() {
    for (const Member half : kMembers) {
      if (!may(half, Input::Start)) try_feed(half, Input::Silent);
      try_feed(half, Input::Start);
    }
    for (int round = 0; round < kRounds; ++round) {
      for (const Input input : {Input::Beat, Input::Retry, Input::Ship}) {
        for (const Member half : kMembers) try_feed(half, input);
      }
      if (works(Member::Primary) || works(Member::Backup)) return true;
      for (const Member half : kMembers) {
        if (!node(half).disk.log.has(kExtra)) try_feed(half, Input::Write, kExtra);
      }
    }
    return false;
  }

 private:
  static constexpr int kRounds = 12;
  static constexpr uint8_t kExtra = 3;  // the write that must be acknowledged

  const Node& node(Member half) const {
    return space_.nodes_[halves_.at(static_cast<size_t>(half))];
  }
  bool may(Member half, Input input) const { return may_happen(node(half), input); }

  bool works(Member half) const {
    const Node& active = node(half);
    if (!active.is_active() || node(other(half)).is_active()) return false;
    return active.disk.log.has(kExtra) &&
           active.protocol->acknowledged() >= active.disk.log.head().revision;
  }

  void try_feed(Member half, Input input, uint32_t detail = 0) {
    if (may(half, input)) feed(half, input, detail);
  }

  void feed(Member half, Input input, uint32_t detail) {
    uint32_t& at = halves_.at(static_cast<size_t>(half));
    const Known& known = space_.reaction(at, input, detail);
    at = known.node;
    try_feed(half, Input::Tenure);
    for (const uint32_t id : known.sends) {
      const Message message = space_.messages_[id];
      if (message.kind != Message::Kind::Question) {
        try_feed(message.half, Input::Deliver, id);
        continue;
      }
      Message reply = answer(message, record_, space_.options_.bug);
      try_feed(half, Input::Deliver, space_.messages_.number(std::move(reply)));
    }
  }

  Space& space_;
  std::array<uint32_t, 2> halves_;
  Record record_;
};

bool Space::heals(const State& state) {
  const Ledger& ledger = ledgers_[state.ledger];
  // Without any disk that has all that was acknowledged, it needs an operator.
  const bool lost = ledger.wipes > 0 && ledger.record.epoch != 0 &&
                    std::ranges::none_of(kMembers, [&](Member member) {
                      return has_disk(ledger.record, node(state, member));
                    });
  if (lost || needs_operator(state)) return true;
  const std::array<uint32_t, 3> key = {state.halves[0], state.halves[1],
                                       ledgers_.number({.record = ledger.record})};
  if (const auto known = healed_.find(key); known != healed_.end()) return known->second;
  const bool heals = Healing(*this, state).run();
  healed_.emplace(key, heals);
  return heals;
}

}  // namespace holdfast::ha::model
