// A pair of real controllers and their witness, each on a node of its own, under faults.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/rng.h"
#include "e2e/pair_crowd.h"
#include "e2e/pair_faults.h"
#include "e2e/pair_world.h"
#include "support/eventually.h"
#include "support/netns.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using namespace pair_faults;
using testing::IsEmpty;
using Meanwhile = PairFault::Meanwhile;

class Pair : public testing::Test {
 protected:
  void SetUp() override {
    const Status entered = enter_own_network();
    if (!entered.ok()) GTEST_SKIP() << entered;
  }

  static void survive(PairWorld& world, PairFault fault, Meanwhile meanwhile) {
    fault.meanwhile = meanwhile;
    survive(world, fault);
  }
  static void survive(PairWorld& world, const PairFault& fault) {
    SCOPED_TRACE(fault.name);
    for (const std::string& wrong : live_through(world, fault)) ADD_FAILURE() << wrong;
  }

  // As often as HF_PAIR_ROUNDS says, else `few`.
  static int rounds(int few) {
    const char* given = std::getenv("HF_PAIR_ROUNDS");
    return given == nullptr ? few : std::atoi(given);
  }
};

TEST_F(Pair, WithAWitnessLivesThroughDeathAndSilence) {
  PairWorld world({.mode = "witness"});
  survive(world, kill_active());
  survive(world, freeze_active());
  survive(world, pause_active_briefly());
  survive(world, kill_passive());
  survive(world, active_loses_its_disk());
}

TEST_F(Pair, WithAWitnessLivesThroughCuts) {
  PairWorld world({.mode = "witness"});
  survive(world, isolate_active(), Meanwhile::ServedByOther);
  survive(world, cut_pair(), Meanwhile::ServedBySame);
  survive(world, lose_from_active());
  survive(world, lose_to_active());
}

TEST_F(Pair, WithoutItsWitnessWritesGoOnButNobodyTakesOver) {
  PairWorld world({.mode = "witness"});
  survive(world, kill_witness(), Meanwhile::ServedBySame);
  PairFault both = kill_active();
  both.name = "kill-witness-and-active";
  both.strike = [](PairWorld& struck, PairMember& active) {
    struck.witness().kill();
    active.kill();
  };
  survive(world, both, Meanwhile::Nothing);
}

TEST_F(Pair, WithAWitnessLivesThroughFullDisks) {
  PairWorld world({.mode = "witness", .small_disks = true});
  survive(world, fill_passive());
  survive(world, fill_active());
}

// What the other half has is worth more than an empty disk, whichever of the two is active.
class FounderWithAnEmptyDisk : public Pair, public testing::WithParamInterface<const char*> {
 protected:
  // In sync nobody writes beside an empty half, and so nobody makes a token for it.
  static bool goes_on_alone() { return std::string_view(GetParam()) == "witness"; }
  static PairFault fault() { return founder_loses_its_disk(!goes_on_alone()); }
  static void empty(PairMember& half) {
    half.kill();
    half.lose_data();
    half.start();
  }
  static void expect_nothing_aside(PairWorld& world) {
    for (PairMember* half : {&world.primary(), &world.backup()}) {
      const Result<v1::PairStatus> status = half->status();
      ASSERT_TRUE(status.ok()) << status.status();
      EXPECT_EQ(status->quarantined(), 0U) << world.describe();
    }
  }
};

TEST_P(FounderWithAnEmptyDisk, JoinsAgainAfterItWasActive) {
  PairWorld world({.mode = GetParam()});
  ASSERT_EQ(&world.active(), &world.primary());

  survive(world, fault(), Meanwhile::ServedByOther);

  EXPECT_EQ(&world.active(), &world.backup());
  expect_nothing_aside(world);
  const Result<v1::SwitchOverResponse> back = world.backup().switch_over();
  EXPECT_TRUE(back.ok()) << back.status() << world.describe();
}

TEST_P(FounderWithAnEmptyDisk, JoinsAgainAfterItWasPassive) {
  PairWorld world({.mode = GetParam()});
  ASSERT_TRUE(world.primary().switch_over().ok()) << world.describe();
  ASSERT_TRUE(world.becomes_whole()) << world.describe();

  survive(world, fault(), Meanwhile::ServedBySame);

  expect_nothing_aside(world);
}

// Before it has joined: nobody is served there, nobody can make it begin anew beside the other.
TEST_P(FounderWithAnEmptyDisk, BeginsNothingByItself) {
  PairWorld world({.mode = GetParam()});
  PairMember& founder = world.primary();
  empty(founder);

  const ProgramOutcome read = founder.cli({"get", "services"});
  EXPECT_NE(read.exit_code, 0) << read.output;
  const ProgramOutcome begun = founder.cli({"init"});
  EXPECT_NE(begun.exit_code, 0) << begun.output;
  EXPECT_THAT(begun.error, testing::HasSubstr("HF4123")) << world.describe();
  const Result<v1::PromoteResponse> promoted = founder.promote();
  EXPECT_THAT(promoted.status().message(), testing::HasSubstr("HF4124"));
  EXPECT_NE(founder.status()->self().state(), v1::PAIR_STATE_ACTIVE);
  // The half that is left takes over by itself, or waits for an operator.
  const ProgramOutcome token =
      world.backup().cli({"token", "create", "--role", "controller", "--name", "primary"});
  EXPECT_EQ(token.exit_code == 0, goes_on_alone()) << token.error << world.describe();
}

// An operator begins anew there while the other half is down, which nothing can refuse.
TEST_P(FounderWithAnEmptyDisk, OverwritesNobodyAsANewCluster) {
  PairWorld world({.mode = GetParam()});
  const ProgramOutcome written = world.primary().cli(
      {"apply", "-f", "-"},
      "kind: service\nmetadata: {name: web}\nspec: {ports: [{port: 80, protocol: http}]}\n");
  ASSERT_EQ(written.exit_code, 0) << written.error;
  ASSERT_TRUE(world.becomes_equal()) << world.describe();
  world.primary().kill();  // first: it acknowledges nothing alone
  world.backup().kill();
  empty(world.primary());
  const ProgramOutcome begun = world.primary().cli({"init"});
  ASSERT_EQ(begun.exit_code, 0) << begun.error << world.describe();

  world.backup().start();
  const auto refused = [&] {
    const Result<v1::PairStatus> status = world.primary().status();
    return status.ok() && std::ranges::any_of(status->problems(), [](const std::string& problem) {
             return problem.contains("HF4102") && problem.contains("the link to it: ");
           });
  };
  EXPECT_TRUE(eventually(refused, 20s)) << world.describe();
  if (!goes_on_alone()) EXPECT_TRUE(world.backup().promote().ok()) << world.describe();

  EXPECT_EQ(world.backup().cli({"get", "service", "web"}).exit_code, 0) << world.describe();
  EXPECT_NE(world.primary().cli({"get", "service", "web"}).exit_code, 0);
  EXPECT_EQ(world.backup().status()->quarantined(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Modes, FounderWithAnEmptyDisk, testing::Values("witness", "sync"),
                         [](const auto& info) { return std::string(info.param); });

// Both halves say what is wrong with the disk of one, and the way out works.
TEST_F(Pair, AHalfWhoseDiskIsFullSaysSoAndHandsOver) {
  PairWorld world({.mode = "witness", .small_disks = true});
  const auto complains = [](const PairMember& half, std::string_view of) {
    const Result<v1::PairStatus> status = half.status();
    return status.ok() && std::ranges::any_of(status->problems(), [&](const std::string& problem) {
             return problem.contains(of);
           });
  };
  int port = 80;
  const auto write = [&port](const PairMember& half) {
    const std::string yaml = fmt::format(
        "kind: service\nmetadata: {{name: web}}\nspec: {{ports: [{{port: {}, protocol: http}}]}}\n",
        ++port);
    return half.cli({"apply", "-f", "-"}, yaml);
  };
  PairMember& active = world.active();
  active.fill_disk();
  const auto said = [&] {
    write(active);
    return complains(active, "HF4126") && complains(active, "ha switchover");
  };
  EXPECT_TRUE(eventually(said, 20s)) << world.describe();
  EXPECT_EQ(active.cli({"ha", "status"}).exit_code, 2);
  const auto told = [&] {
    return complains(world.other(active), "HF4126") &&
           complains(world.other(active), "ha switchover");
  };
  EXPECT_TRUE(eventually(told, 20s)) << world.describe();
  const Result<v1::SwitchOverResponse> switched = active.switch_over();
  EXPECT_TRUE(switched.ok()) << switched.status() << world.describe();
  EXPECT_TRUE(eventually([&] { return write(world.other(active)).exit_code == 0; }, 20s))
      << world.describe();
  EXPECT_TRUE(eventually([&] { return complains(active, "HF4126"); }, 20s)) << world.describe();
  EXPECT_TRUE(eventually([&] { return complains(active, "HF4109"); }, 20s)) << world.describe();
  active.free_disk();
  EXPECT_TRUE(world.becomes_whole()) << world.describe();
}

TEST_F(Pair, InSyncModeNothingIsAcknowledgedByOneAlone) {
  PairWorld world({.mode = "sync"});
  survive(world, kill_active(), Meanwhile::Nothing);
  survive(world, kill_passive(), Meanwhile::Nothing);
  survive(world, cut_pair(), Meanwhile::Nothing);
  survive(world, isolate_active(), Meanwhile::Nothing);
}

TEST_F(Pair, InSyncModeNothingIsAcknowledgedBesideASilentHalf) {
  PairWorld world({.mode = "sync"});
  survive(world, freeze_active(), Meanwhile::Nothing);
  survive(world, lose_from_active(), Meanwhile::Nothing);
}

// What still fits is acknowledged, and what does not is not.
TEST_F(Pair, InSyncModeAFullDiskLosesNothing) {
  PairWorld world({.mode = "sync", .small_disks = true});
  survive(world, fill_passive());
  survive(world, fill_active());
}

TEST_F(Pair, InSyncModeAnOperatorMayForceTheHalfThatIsLeft) {
  PairWorld world({.mode = "sync"});
  PairFault forced = kill_active();
  forced.name = "promote";
  forced.strike = [](PairWorld& struck, PairMember& active) {
    active.kill();
    const Result<v1::PromoteResponse> promoted = struck.other(active).promote();
    EXPECT_TRUE(promoted.ok()) << promoted.status();
  };
  survive(world, forced, Meanwhile::ServedByOther);
}

TEST_F(Pair, ASwitchoverUnderLoadFailsNoCall) {
  for (const char* mode : {"witness", "sync", "best-effort"}) {
    SCOPED_TRACE(mode);
    PairWorld world({.mode = mode});
    PairCrowd crowd(world, {.name = "switchover"});
    ASSERT_TRUE(crowd.goes_on(30)) << crowd.last_failure() << world.describe();
    for (int round = 0; round < 4; ++round) {
      PairMember& before = world.active();
      const Result<v1::SwitchOverResponse> switched = before.switch_over();
      ASSERT_TRUE(switched.ok()) << switched.status() << world.describe();
      EXPECT_NE(&world.active(), &before);
      ASSERT_TRUE(crowd.goes_on(30)) << crowd.last_failure() << world.describe();
      ASSERT_TRUE(world.becomes_whole()) << world.describe();
    }
    crowd.stop();
    EXPECT_EQ(crowd.failed_calls(), 0U) << crowd.last_failure();
    EXPECT_THAT(crowd.judge(), IsEmpty());
  }
}

// Lossy by choice, but it must come together again, and what was lost is kept to be looked at.
TEST_F(Pair, InBestEffortModeItSplitsAndComesTogetherAgain) {
  PairWorld world({.mode = "best-effort"});
  PairCrowd crowd(world, {.name = "split"});
  ASSERT_TRUE(crowd.goes_on(30)) << crowd.last_failure() << world.describe();
  world.network().cut("primary", "backup");
  const auto both_active = [&] { return world.actives().size() == 2; };
  ASSERT_TRUE(eventually(both_active, 20s)) << world.describe();
  ASSERT_TRUE(crowd.goes_on(60)) << crowd.last_failure();
  world.mend();
  EXPECT_TRUE(world.becomes_whole()) << world.describe();
  EXPECT_TRUE(crowd.goes_on(30)) << crowd.last_failure();
  crowd.stop();
  EXPECT_TRUE(world.becomes_equal()) << world.describe();
  uint32_t quarantined = 0;
  for (PairMember* half : {&world.primary(), &world.backup()}) {
    const Result<v1::PairStatus> status = half->status();
    ASSERT_TRUE(status.ok()) << status.status();
    quarantined += status->quarantined();
  }
  EXPECT_EQ(quarantined, 1U);
}

TEST_F(Pair, LivesThroughManyFailoversInARow) {
  PairWorld world({.mode = "witness"});
  PairCrowd crowd(world, {.name = "row"});
  const int count = rounds(3);
  for (int round = 0; round < count; ++round) {
    ASSERT_TRUE(crowd.goes_on(20)) << crowd.last_failure() << world.describe();
    PairMember& before = world.active();
    before.kill();
    ASSERT_TRUE(crowd.goes_on(20)) << crowd.last_failure() << world.describe();
    EXPECT_NE(&world.active(), &before);
    world.mend();
    ASSERT_TRUE(world.becomes_whole()) << "round " << round << world.describe();
  }
  crowd.stop();
  EXPECT_THAT(crowd.judge(), IsEmpty());
  std::printf("pair: %d failovers in a row, %zu calls\n", count, crowd.history().calls().size());
}

TEST_F(Pair, LivesThroughRandomFaults) {
  const char* given = std::getenv("HF_PAIR_SEED");
  const uint64_t seed = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  Rng rng(seed);
  PairWorld world({.mode = "witness"});
  const std::vector<PairFault> kinds = of_all_kinds();
  const int count = rounds(2);
  for (int round = 0; round < count; ++round) {
    PairFault fault = kinds[rng.below(kinds.size())];
    fault.name += fmt::format("-{}", round);
    SCOPED_TRACE(fmt::format("HF_PAIR_SEED={}, {}", seed, fault.name));
    for (const std::string& wrong : live_through(world, fault, seed)) ADD_FAILURE() << wrong;
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace holdfast::test
