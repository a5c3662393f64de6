// Everything that can happen to two halves, a witness, the messages between them and their clients,
// one step at a time, with each state in 32 bytes: halves, messages and ledgers are kept once and
// named by numbers.
#pragma once

#include <absl/hash/hash.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ha/model.h"
#include "ha/model_node.h"

// The standard containers: those of Abseil have another layout under ASan than in the system's own
// library, and crash there on Debian 13.
namespace holdfast::ha::model {

template <typename T>
class Numbered {
 public:
  uint32_t number(T value) {
    const auto [it, is_new] =
        numbers_.try_emplace(std::move(value), static_cast<uint32_t>(values_.size()));
    if (is_new) values_.push_back(&it->first);
    return it->second;
  }
  const T& operator[](uint32_t number) const { return *values_[number]; }
  size_t size() const { return values_.size(); }

 private:
  std::unordered_map<T, uint32_t, absl::Hash<T>> numbers_{};
  std::vector<const T*> values_{};
};

inline constexpr uint32_t kNone = UINT32_MAX;

struct State {
  std::array<uint32_t, 2> halves{};
  uint32_t ledger = 0;
  std::array<uint32_t, 5> messages{kNone, kNone, kNone, kNone, kNone};  // in order
  bool operator==(const State&) const = default;
};

// What happened between one state and the next.
struct Move {
  enum class Kind : uint8_t {
    Half,
    Arrives,
    ArrivesTwice,
    ArrivesBehind,
    Lost,
    Answered,
    WitnessForgets,
    WitnessRollsBack,
    Forced
  };
  Kind kind = Kind::Half;
  Member half = Member::Primary;
  Input input = Input::Start;  // of Half
  uint32_t message = kNone;    // of the others
};

class Space {
 public:
  explicit Space(const Options& options) : options_(options) {}

  State initial();
  void for_each_next(const State& state,
                     const std::function<void(const Move&, const State&)>& visit);
  // What must never be, in words.
  std::optional<std::string> wrong(const State& before, const State& state) const;
  // Whether the pair works again when nothing more goes wrong: both up, all that is sent arrives.
  bool heals(const State& state);
  std::string describe(const Move& move) const;
  std::string describe(const State& state) const;

  size_t halves() const { return nodes_.size(); }
  size_t messages() const { return messages_.size(); }

 private:
  struct Known {  // a reaction
    uint32_t node = 0;
    std::vector<uint32_t> sends{};
    bool asks_anew = false;
  };
  class Healing;

  const Node& node(const State& state, Member member) const {
    return nodes_[state.halves.at(static_cast<size_t>(member))];
  }
  const Known& reaction(uint32_t node, Input input, uint32_t detail);
  // Every half that is too far for the bounds ends the search there.
  bool is_within(const State& state) const;
  std::optional<State> after(const State& state, Member half, Input input, uint32_t detail);
  void settle_accounts(State& state, Member half);
  void for_each_input(const State& state, Member half,
                      const std::function<void(const Move&, const State&)>& visit);
  void for_each_message(const State& state,
                        const std::function<void(const Move&, const State&)>& visit);
  // The last copy of what was acknowledged is never destroyed: that would be no fault of ours.
  bool has_copy(const State& state, Member half) const;
  bool spend(Ledger& ledger, Input input) const;
  void remove(State& state, uint32_t message) const;
  void add(State& state, uint32_t message) const;
  void outdate_questions(State& state, Member half);
  void cut_off(State& state, Member half);
  void lose_what_it_sent(State& state, Member half);
  void replace_if(State& state, const std::function<bool(Message&)>& change);
  State answered(const State& state, uint32_t question);
  // What an operator does about a half, or about the witness's disk (model_operator.cc).
  void for_each_intervention(const State& state,
                             const std::function<void(const Move&, const State&)>& visit);
  std::optional<State> forced(const State& state, Member half);
  std::optional<State> rolled_back(const State& state);
  // No record lets anybody go on, and nobody is active to mend it.
  bool needs_operator(const State& state) const;
  State steady();

  Options options_;
  Record first_record_{};  // of the beginning
  Numbered<Node> nodes_{};
  Numbered<Message> messages_{};
  Numbered<Ledger> ledgers_{};
  std::unordered_map<uint64_t, uint32_t> known_{};  // node, input and detail
  std::deque<Known> reactions_{};
  using HealedKey = std::array<uint32_t, 3>;
  std::unordered_map<HealedKey, bool, absl::Hash<HealedKey>> healed_{};
};

}  // namespace holdfast::ha::model
