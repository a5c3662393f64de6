// The simulation finds what it is there to find: with each of these mistakes some of the first
// seeds fails. A mistake that is not found means that the simulation is blind.
#include "ha/pair_bugs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ha/pair_run.h"

namespace holdfast::ha::sim {
namespace {

constexpr uint64_t kMostSeeds = 600;

class PlantedBug : public testing::TestWithParam<Bug> {};

TEST_P(PlantedBug, IsFound) {
  Totals totals;
  for (uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    const auto result = run(seed, {.bug = GetParam()}, totals);
    if (result.failures.empty()) continue;
    fmt::print("{}: seed {}: {}\n", to_string(GetParam()), seed, result.failures.front());
    return;
  }
  ADD_FAILURE() << to_string(GetParam()) << " was not found in " << kMostSeeds << " seeds";
}

// Many seeds each: for `make nightly`.
INSTANTIATE_TEST_SUITE_P(
    Nightly, PlantedBug,
    testing::Values(Bug::LeaseTooLong, Bug::EchoWhileClaiming, Bug::EchoToTheReplaced,
                    Bug::ClockStops, Bug::ReadsUnacknowledged, Bug::AckedAlone,
                    Bug::AckedBeforeDurable, Bug::CopyTakenLate, Bug::WitnessForgets,
                    Bug::QuarantineForgotten, Bug::NeedlessCopies, Bug::FailureIgnored,
                    Bug::ChainUnchecked, Bug::AppliedTwice, Bug::FenceForgets),
    [](const testing::TestParamInfo<Bug>& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace holdfast::ha::sim
