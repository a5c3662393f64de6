#include "ha/model_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/rng.h"

namespace holdfast::ha::model {
namespace {

// The states seen, in the order in which they were, each with the one it was reached from.
class Seen {
 public:
  explicit Seen(uint64_t max) : slots_(1U << 16U, kNone) {
    states_.reserve(max + kSlack);
    parents_.reserve(max + kSlack);
  }

  uint32_t size() const { return static_cast<uint32_t>(states_.size()); }
  const State& operator[](uint32_t index) const { return states_[index]; }
  uint32_t parent(uint32_t index) const { return parents_[index]; }

  // Whether it is new.
  bool insert(const State& state, uint32_t parent) {
    if (states_.size() * 2 >= slots_.size()) grow();
    uint32_t& slot = slot_of(state);
    if (slot != kNone) return false;
    slot = size();
    states_.push_back(state);
    parents_.push_back(parent);
    return true;
  }

 private:
  static constexpr uint64_t kSlack = 1'000;  // the last one that is expanded may have so many

  static uint64_t hash(const State& state) {
    uint64_t h = 0x9E3779B97F4A7C15U;
    const auto mix = [&](uint64_t value) {
      h = (h ^ value) * 0xFF51AFD7ED558CCDU;
      h ^= h >> 32U;
    };
    mix(uint64_t{state.halves[0]} << 32U | state.halves[1]);
    mix(uint64_t{state.ledger} << 32U | state.messages[0]);
    mix(uint64_t{state.messages[1]} << 32U | state.messages[2]);
    mix(uint64_t{state.messages[3]} << 32U | state.messages[4]);
    return h;
  }
  // Where it is, or would be.
  uint32_t& slot_of(const State& state) {
    const size_t mask = slots_.size() - 1;
    size_t at = hash(state) & mask;
    while (slots_[at] != kNone && states_[slots_[at]] != state) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    slots_.assign(slots_.size() * 2, kNone);
    for (uint32_t i = 0; i < size(); ++i) slot_of(states_[i]) = i;
  }

  std::vector<State> states_{};
  std::vector<uint32_t> parents_{};
  std::vector<uint32_t> slots_;
};

class Searching {
 public:
  Searching(const Options& options, const Limits& limits)
      : space_(options), limits_(limits), seen_(limits.max_states) {}

  Found run() {
    const State start = space_.initial();
    seen_.insert(start, kNone);
    check(start, start);
    uint32_t end_of_depth = 1;
    uint32_t next = 0;
    for (; next < seen_.size() && seen_.size() < limits_.max_states && found_.wrong.empty();
         ++next) {
      if (next == end_of_depth) {
        found_.depth += 1;
        end_of_depth = seen_.size();
      }
      expand(next);
    }
    found_.states = seen_.size();
    found_.complete = next == seen_.size();
    return std::move(found_);
  }

 private:
  void expand(uint32_t index) {
    const State state = seen_[index];
    space_.for_each_next(state, [&](const Move&, const State& next) {
      if (!found_.wrong.empty()) return;
      found_.transitions += 1;
      if (seen_.insert(next, index)) check(state, next);
    });
  }

  void check(const State& before, const State& state) {
    std::optional<std::string> wrong = space_.wrong(before, state);
    if (!wrong && limits_.heal && !space_.heals(state)) wrong = "it never works again";
    if (!wrong) return;
    found_.wrong = std::move(*wrong);
    tell(seen_.size() - 1);
  }

  // The way to a state, in words.
  void tell(uint32_t index) {
    std::vector<uint32_t> way;
    for (uint32_t at = index; at != kNone; at = seen_.parent(at)) way.push_back(at);
    std::ranges::reverse(way);
    for (size_t i = 1; i < way.size(); ++i) {
      const State target = seen_[way[i]];
      std::string step;
      space_.for_each_next(seen_[way[i - 1]], [&](const Move& move, const State& next) {
        if (step.empty() && next == target) step = space_.describe(move);
      });
      found_.steps.push_back(fmt::format("{:2}. {}\n      {}", i, step, space_.describe(target)));
    }
  }

  Space space_;
  Limits limits_;
  Seen seen_;
  Found found_{};
};

}  // namespace

Found search(const Options& options, const Limits& limits) {
  return Searching(options, limits).run();
}

Found walk(const Options& options, const Walks& walks) {
  Space space(options);
  Rng rng(walks.seed);
  Found found;
  for (uint32_t number = 0; number < walks.walks; ++number) {
    State state = space.initial();
    std::vector<std::string> steps;
    for (uint32_t step = 0; step < walks.steps; ++step) {
      std::vector<std::pair<Move, State>> ways;
      space.for_each_next(
          state, [&](const Move& move, const State& next) { ways.emplace_back(move, next); });
      if (ways.empty()) break;
      const auto& [move, next] = ways[rng.below(ways.size())];
      steps.push_back(
          fmt::format("{:2}. {}\n      {}", step + 1, space.describe(move), space.describe(next)));
      found.states += 1;
      found.depth = std::max(found.depth, step + 1);
      std::optional<std::string> wrong = space.wrong(state, next);
      if (!wrong && !space.heals(next)) wrong = "it never works again";
      state = next;
      if (!wrong) continue;
      found.wrong = std::move(*wrong);
      found.steps = std::move(steps);
      return found;
    }
  }
  return found;
}

}  // namespace holdfast::ha::model
