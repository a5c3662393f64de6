// One agent among proxies that fail in every way, in virtual time and from a seed:
//
// - while a proxy is healthy and reachable, the agent is not without a tunnel for long;
// - at most one claim of each proxy, and every lease belongs to a dial or a tunnel;
// - when all is well again, it has as many tunnels as desired and no more.
//
// HF_SIM_SEED=N runs one seed, HF_SIM_SEEDS=N the first N.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "support/seeds.h"
#include "tunnel/agent_pool_model.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;

// With most proxies frozen, the agent has to find the one that answers by waiting for the others.
constexpr Duration kLongestDark = 60s;
constexpr uint64_t kSeeds = 15;
// So many show whether everything happens; fewer may be without one thing or another.
constexpr uint64_t kManySeeds = 1'000;

struct Outcome {
  uint64_t hash = 0;
  Duration longest_dark{0};
  PoolStats stats;
};

Outcome run_pool(uint64_t seed) {
  Rng rng(seed * 7'919);
  const size_t proxies = 2 + rng.below(8);
  const auto count = static_cast<uint32_t>(rng.below(4));  // 0: a mesh
  PoolWorld world(seed, proxies, {.connection_count = count, .disconnect_threshold = 20s});
  world.run(10s);
  const int steps = 40;
  for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    world.disturb();
    world.run(rng.below(4) == 0 ? Duration(100ms) : rng.below(Duration(20s)));
  }
  world.mend_all();
  world.run(30s);
  world.mute_ours();
  world.run(1min);
  world.mend_all();
  world.run(10min);

  const size_t desired = count == 0 ? proxies : std::min<size_t>(proxies, count);
  EXPECT_EQ(world.view().tunnels.size(), desired) << "after all is well";
  EXPECT_EQ(world.live(), desired);
  EXPECT_EQ(world.view().inflight, 0u);
  EXPECT_LE(world.longest_dark(), kLongestDark);
  const PoolStats stats = world.view().stats;
  world.stop();
  world.run(30s);
  EXPECT_EQ(world.view().tunnels.size(), 0u);
  EXPECT_EQ(world.view().claimed + world.view().inflight, 0u);
  return {world.hash(), world.longest_dark(), stats};
}

TEST(AgentPoolSimulation, NeverDarkForLongAndWholeAgainAfterwards) {
  const test::Seeds seeds = test::seeds_from_environment(kSeeds);
  Outcome all;
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    SCOPED_TRACE("HF_SIM_SEED=" + std::to_string(seed));
    const Outcome one = run_pool(seed);
    if (testing::Test::HasFailure()) return;
    all.longest_dark = std::max(all.longest_dark, one.longest_dark);
    all.stats.refused += one.stats.refused;
    all.stats.failed += one.stats.failed;
    all.stats.lost += one.stats.lost;
    all.stats.already_claimed += one.stats.already_claimed;
    all.stats.drained_advised += one.stats.drained_advised;
    all.stats.drained_surplus += one.stats.drained_surplus;
    all.stats.advice_withdrawn += one.stats.advice_withdrawn;
    all.stats.overdue_dials += one.stats.overdue_dials;
  }
  fmt::print("longest without a tunnel while a proxy was healthy: {}\n",
             to_short_string(all.longest_dark));
  if (seeds.count < kManySeeds) return;
  const std::map<std::string, uint64_t> times = {{"refused", all.stats.refused},
                                                 {"failed", all.stats.failed},
                                                 {"lost", all.stats.lost},
                                                 {"already claimed", all.stats.already_claimed},
                                                 {"drained for advice", all.stats.drained_advised},
                                                 {"drained as surplus", all.stats.drained_surplus},
                                                 {"advice withdrawn", all.stats.advice_withdrawn},
                                                 {"overdue", all.stats.overdue_dials}};
  for (const auto& [what, count] : times) {
    EXPECT_GT(count, 50u) << "the simulation has become too tame: " << what;
  }
}

TEST(AgentPoolSimulation, ASeedGivesTheSameRunTwice) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const uint64_t hash = run_pool(seed).hash;
    EXPECT_EQ(run_pool(seed).hash, hash);
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 3u) << "different seeds give different runs";
}

}  // namespace
}  // namespace holdfast::tunnel
