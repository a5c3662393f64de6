// The pair under everything that goes wrong: first chaos, while what must always hold is checked at
// every step (pair_checks.h); then all heals, and it must converge: one active half, the other in
// sync with the same chain, clients that write.
//
// HF_SIM_SEED=N runs one seed and prints what happens; HF_SIM_SEEDS=N is how many are run, from
// HF_SIM_FIRST on.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "ha/pair_run.h"
#include "support/seeds.h"

namespace holdfast::ha::sim {
namespace {

using namespace std::chrono_literals;

// Sanitizers are many times slower: fewer seeds then.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr uint64_t kSeeds = 10;
constexpr uint64_t kRounds = 2;
#else
constexpr uint64_t kSeeds = 200;
constexpr uint64_t kRounds = 30;
#endif

bool check_seed(uint64_t seed, bool verbose, Totals& totals) {
  const Run result = run(seed, {.verbose = verbose}, totals);
  for (const std::string& failure : result.failures) {
    ADD_FAILURE() << "seed " << seed << ": " << failure << "\nrepeat with HF_SIM_SEED=" << seed;
  }
  return result.failures.empty();
}

TEST(PairSimulation, EverySeedKeepsWhatWasAcknowledgedAndHeals) {
  Totals totals;
  const test::Seeds seeds = test::seeds_from_environment(kSeeds);
  int failed = 0;
  for (uint64_t seed = seeds.first; seed < seeds.end() && failed < 10; ++seed) {
    failed += check_seed(seed, seeds.alone, totals) ? 0 : 1;
  }
  if (seeds.alone) return;
  fmt::print(
      "{} seeds: {} faults, {} switches, {} writes acknowledged, {} reads, {} copies, {} writes in "
      "quarantine; longest until healed {}\n",
      seeds.count, totals.faults, totals.switches, totals.acks, totals.reads, totals.copies,
      totals.quarantined, to_short_string(totals.longest_heal));
  EXPECT_GT(totals.acks, seeds.count * 50) << "clients must have written";
  EXPECT_GT(totals.reads, seeds.count * 50) << "clients must have read";
}

TEST(PairSimulation, TheSameSeedIsTheSameRun) {
  Totals totals;
  for (uint64_t seed = 1; seed <= std::min<uint64_t>(kRounds, 5); ++seed) {
    EXPECT_EQ(run(seed, {}, totals).trace, run(seed, {}, totals).trace) << seed;
  }
}

// A steady pair on a good network, and one fault. How long clients had no write acknowledged.
template <typename Fault>
Duration gap_after(const WorldOptions& options, const Fault& fault) {
  World world(options);
  world.run_until(world.now() + 8s);
  EXPECT_TRUE(world.has_converged());
  const size_t active = world.node(0).half->is_active() ? 0 : 1;
  world.measure();
  fault(world, active);
  world.run_until(world.now() + 5s);
  for (const std::string& failure : world.checks().failures()) ADD_FAILURE() << failure;
  return world.longest_without_ack();
}

WorldOptions steady(uint64_t seed) {
  return {.client_timeout = 250ms, .seed = seed};
}

TEST(PairSimulation, ACrashOfTheActiveHalfIsOverWithin300Milliseconds) {
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    const Duration gap =
        gap_after(steady(seed), [](World& world, size_t active) { world.crash(active, false); });
    EXPECT_LE(gap, 300ms) << seed;
  }
}

TEST(PairSimulation, AFrozenOrIsolatedActiveHalfIsReplacedWithin1500Milliseconds) {
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    const Duration gap = gap_after(steady(seed), [](World& world, size_t active) {
      world.rng().below(2) == 0 ? world.pause(active) : world.crash(active, true);
    });
    EXPECT_LE(gap, 1500ms) << seed;
  }
}

TEST(PairSimulation, ACrashOfThePassiveHalfIsHardlyNoticed) {
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    const Duration gap = gap_after(
        steady(seed), [](World& world, size_t active) { world.crash(1 - active, false); });
    EXPECT_LE(gap, 200ms) << seed;
  }
}

// What it learns late is that it has won: whom it let read meanwhile may do so until its lease
// ends.
TEST(PairSimulation, WhoLearnsLateThatItWonLetsTheOtherReadOut) {
  for (uint64_t seed = 1; seed <= 2 * kRounds; ++seed) {
    WorldOptions options = steady(seed);
    options.rate = {seed % 2 == 0 ? 0.85 : 1.2, seed % 2 == 0 ? 1.2 : 0.85};
    World world(options);
    Chaos chaos(world, {});
    world.run_until(world.now() + 4s);
    for (int i = 0; i < 2; ++i) {
      chaos.lose_answer(0, 1s);
      world.run_until(world.now() + 8s);
    }
    for (const std::string& failure : world.checks().failures()) ADD_FAILURE() << failure;
  }
}

// Each file is good by itself, and nobody compares them: what a half may read by is what the other
// has promised.
TEST(PairSimulation, WhoseTimingsDifferReadsByWhatTheOtherPromised) {
  for (uint64_t seed = 1; seed <= 2 * kRounds; ++seed) {
    WorldOptions options = steady(seed);
    options.timing = {.lease = 6s, .drop = 7s, .take = 10s, .vote_patience = 11s};
    options.backups_timing = Timing{};
    ASSERT_TRUE(check(options.timing).ok());
    World world(options);
    Chaos chaos(world, {});
    world.run_until(world.now() + 15s);
    chaos.strand_readers(0, 4s);
    world.run_until(world.now() + 15s);
    for (const std::string& failure : world.checks().failures()) ADD_FAILURE() << failure;
  }
}

// A half leads alone for a while, agents hear of it, and then its disk is lost: nobody else knows
// of the epoch that they have seen.
TEST(PairSimulation, AgentsThatSawTheEpochOfALostDiskObeyAgain) {
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    WorldOptions options = steady(seed);
    options.mode = Mode::Sync;
    World world(options);
    world.run_until(world.now() + 4s);
    world.cut(0, 1, true);
    world.cut(1, 0, true);
    world.run_until(world.now() + 4s);
    const size_t later = *world.active();
    world.crash(later, false);
    world.set_clients(false);
    world.run_until(world.now() + 10s);
    EXPECT_TRUE(world.wipe(later)) << seed;
    world.heal();
    world.run_until(world.now() + 10s);
    EXPECT_TRUE(world.has_converged()) << seed << ": " << world.describe();
    EXPECT_TRUE(world.is_obeyed()) << seed << ": " << world.describe();
    for (const std::string& failure : world.checks().failures()) ADD_FAILURE() << failure;
  }
}

TEST(PairSimulation, ASwitchoverIsOverWithin200Milliseconds) {
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    const Duration gap = gap_after(steady(seed), [](World& world, size_t active) {
      world.switch_over(active);
      world.run_until(world.now() + 1s);
      EXPECT_TRUE(world.node(1 - active).half->is_active());
    });
    EXPECT_LE(gap, 200ms) << seed;
  }
}

TEST(PairSimulation, WhenOnlyTheLinkIsCutTheActiveHalfGoesOn) {
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    size_t before = 0;
    const Duration gap = gap_after(steady(seed), [&](World& world, size_t active) {
      before = active;
      world.cut(0, 1, true);
      world.cut(1, 0, true);
      world.run_until(world.now() + 4s);
      EXPECT_TRUE(world.node(active).half->is_active());
    });
    EXPECT_LE(gap, 1000ms) << seed;
  }
}

}  // namespace
}  // namespace holdfast::ha::sim
