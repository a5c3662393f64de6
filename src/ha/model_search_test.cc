// Every order of everything that can happen to a pair, within bounds: see README.md for what is
// modelled. HF_MODEL_STATES=N looks at so many states of each kind of run; `make model-pair`.
#include "ha/model_search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/clock.h"

namespace holdfast::ha::model {
namespace {

// Sanitizers are some twenty times slower.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr uint64_t kDivisor = 50;
#else
constexpr uint64_t kDivisor = 1;
#endif

struct Run {
  std::string name{};
  Options options{};
  uint64_t states = 0;
};

uint64_t states_of(const Run& run) {
  const char* text = std::getenv("HF_MODEL_STATES");
  return text == nullptr ? run.states / kDivisor : std::strtoull(text, nullptr, 10);
}

class EveryOrder : public testing::TestWithParam<Run> {};

TEST_P(EveryOrder, KeepsWhatWasAcknowledgedAndHeals) {
  const SystemClock clock;
  const Time begin = clock.now();
  const uint64_t states = states_of(GetParam());
  const Found found = search(GetParam().options, {.max_states = states});
  const std::chrono::duration<double> took = clock.now() - begin;
  fmt::print("{}: {} states, {} transitions, up to {} steps deep, {:.1f} s{}\n", GetParam().name,
             found.states, found.transitions, found.depth, took.count(),
             found.complete ? ", all there are within the bounds" : "");
  EXPECT_EQ(found.wrong, "") << fmt::format("{}", fmt::join(found.steps, "\n"));
  EXPECT_TRUE(found.complete || found.states >= states);
}

// What a search reaches only a few steps deep, far.
TEST_P(EveryOrder, HoldsFarFromTheStart) {
  Options options = GetParam().options;
  options.max_epoch += 20;
  options.crashes = 4;
  options.writes = 3;
  options.repeats += 2;
  options.switches += 2;
  options.in_flight = 5;
  const Walks walks{.seed = 1, .walks = static_cast<uint32_t>(2000 / kDivisor), .steps = 80};
  const Found found = walk(options, walks);
  fmt::print("{}: {} states on {} walks, up to {} steps\n", GetParam().name, found.states,
             walks.walks, found.depth);
  EXPECT_EQ(found.wrong, "") << fmt::format("{}", fmt::join(found.steps, "\n"));
  EXPECT_GE(found.states, walks.walks * 20U);
}

std::string name_of(const testing::TestParamInfo<Run>& info) {
  return info.param.name;
}

// Together more than a million. Three of them, and one of the sync runs, are complete.
INSTANTIATE_TEST_SUITE_P(
    Pair, EveryOrder,
    testing::Values(
        Run{.name = "WitnessOneMessageAtATime",
            .options = {.max_epoch = 7, .writes = 1, .crashes = 1, .in_flight = 1},
            .states = 500'000},
        Run{.name = "WitnessTwoMessages",
            .options = {.max_epoch = 7, .writes = 1, .crashes = 0, .in_flight = 2},
            .states = 1'000'000},
        // Small enough to be complete with a crash and with messages that overtake each other.
        Run{.name = "WitnessTwoMessagesAndACrash",
            .options = {.max_epoch = 5, .writes = 1, .crashes = 1, .in_flight = 2},
            .states = 3'000'000},
        Run{.name = "WitnessManyMessages",
            .options = {.max_epoch = 10, .writes = 3, .crashes = 2, .in_flight = 4},
            .states = 250'000},
        Run{.name = "WitnessEverything",
            .options = {.max_epoch = 10,
                        .crashes = 2,
                        .wipes = 1,
                        .switches = 1,
                        .repeats = 1,
                        .in_flight = 3},
            .states = 600'000},
        Run{.name = "WitnessFromEmptyDisks",
            .options = {.steady = false, .max_epoch = 8, .crashes = 2, .wipes = 1, .in_flight = 2},
            .states = 500'000},
        Run{.name = "WitnessForced",
            .options = {.max_epoch = 9, .writes = 1, .crashes = 1, .forces = 1, .in_flight = 1},
            .states = 400'000},
        Run{.name = "WitnessRolledBack",
            .options = {.max_epoch = 9,
                        .writes = 2,
                        .crashes = 1,
                        .switches = 1,
                        .rollbacks = 1,
                        .in_flight = 1},
            .states = 400'000},
        Run{.name = "WitnessForcedAndRolledBack",
            .options = {.max_epoch = 11,
                        .crashes = 1,
                        .switches = 1,
                        .forces = 1,
                        .rollbacks = 1,
                        .in_flight = 3},
            .states = 400'000},
        Run{.name = "SyncOneMessageAtATime",
            .options =
                {.mode = Mode::Sync, .max_epoch = 4, .writes = 1, .wipes = 1, .in_flight = 1},
            .states = 200'000},
        Run{.name = "SyncEverything",
            .options = {.mode = Mode::Sync,
                        .max_epoch = 7,
                        .crashes = 2,
                        .wipes = 1,
                        .switches = 1,
                        .repeats = 1,
                        .in_flight = 3},
            .states = 400'000},
        Run{.name = "BestEffort",
            .options = {.mode = Mode::BestEffort,
                        .max_epoch = 7,
                        .crashes = 2,
                        .switches = 1,
                        .repeats = 1,
                        .in_flight = 3},
            .states = 300'000}),
    name_of);

}  // namespace
}  // namespace holdfast::ha::model
