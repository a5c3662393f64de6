// The checker finds what it is there to find: with each of these mistakes around the protocol, some
// order of events breaks a promise. A mistake that is not found means that the checker is blind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ha/model_search.h"

namespace holdfast::ha::model {
namespace {

class SeededBug : public testing::TestWithParam<Options> {};

TEST_P(SeededBug, IsFound) {
  const Found found = search(GetParam(), {.max_states = 2'000'000, .heal = false});
  ASSERT_NE(found.wrong, "") << "not found in " << found.states << " states";
  fmt::print("{}: found in {} steps, {} states: {}\n", to_string(GetParam().bug),
             found.steps.size(), found.states, found.wrong);
}

TEST_P(SeededBug, IsWhatWasFound) {
  Options without = GetParam();
  without.bug = Bug::None;
  EXPECT_EQ(search(without, {.max_states = 20'000, .heal = false}).wrong, "");
}

Options witness(Bug bug) {
  return {.max_epoch = 8, .crashes = 0, .in_flight = 2, .bug = bug};
}
Options crashing(Bug bug) {
  Options options = witness(bug);
  options.crashes = 1;
  return options;
}
Options wiping(Bug bug) {
  Options options = crashing(bug);
  options.wipes = 1;
  return options;
}
Options repeating(Bug bug) {
  Options options = witness(bug);
  options.repeats = 1;
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    All, SeededBug,
    testing::Values(witness(Bug::OldEpochTaken), crashing(Bug::AckedBeforeDurable),
                    witness(Bug::AckedTooFar), witness(Bug::FakeSuccess), witness(Bug::OldAnswers),
                    witness(Bug::WitnessDoesNotCompare), witness(Bug::WitnessForgets),
                    crashing(Bug::WitnessTakesNonMembers), crashing(Bug::PromiseLost),
                    repeating(Bug::HistoryShortened), wiping(Bug::StoreIdReused),
                    crashing(Bug::RestartTrustsItIsAlone),
                    Options{.mode = Mode::BestEffort,
                            .max_epoch = 3,
                            .writes = 4,
                            .crashes = 0,
                            .in_flight = 1,
                            .bug = Bug::AppendedUnchecked}),
    [](const testing::TestParamInfo<Options>& info) {
      return std::string(to_string(info.param.bug));
    });

}  // namespace
}  // namespace holdfast::ha::model
