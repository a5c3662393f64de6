// Fill, then spill, in virtual time with the real Places and Dealer: 20 holders (or 60, a third of
// them in each zone), zones of 200 places, connections of 2 s, 60 -> 130 -> 80 % offered in one
// zone. Beside it, in the same run of arrivals: one counter that all know at once, and "prefer
// close". HF_SIM_SEED=N is another run; HF_SIM_CSV=FILE writes what tools/plot-route draws.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "route/lease_steps.h"

namespace holdfast::route::sim {
namespace {

using namespace std::chrono_literals;

uint64_t seed() {
  const char* text = std::getenv("HF_SIM_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

WorldOptions thirds() {
  return {.seed = seed(), .holders_in = {20, 20, 20}};
}

void offer_elsewhere(World& world) {
  world.offer(1, 0.5);
  world.offer(2, 0.5);
}

Outcome run(const std::string& name, World& world, const std::function<void(int)>& during = {}) {
  const Outcome outcome = run_steps(world, during);
  std::puts(describe(name, outcome, world.options().capacity).c_str());
  return outcome;
}

Outcome run(const std::string& name, WorldOptions options) {
  options.seed = seed();
  World world(std::move(options));
  return run(name, world);
}

void expect_steady(const Outcome& outcome) {
  for (const size_t reversals : outcome.reversals) EXPECT_LE(reversals, 1u);
}

// Less than one in a hundred; `among` the connections of that zone's holders.
void expect_few_beyond(World& world) {
  for (size_t zone = 0; zone < 3; ++zone) {
    const Tally& tally = world.tally(zone);
    EXPECT_LT(percent(tally.beyond, tally.all), 1.0) << "holders of " << zone_name(zone);
  }
}

TEST(LeaseSimulationTest, TheOwnZoneIsFilledThenSpilledAndFilledAgain) {
  const Outcome leases = run("leases", WorldOptions{});
  const Outcome ideal = run("ideal: one counter", {.law = Law::Ideal});
  const Outcome close = run("prefer close", {.law = Law::PreferClose});

  EXPECT_EQ(leases.all.beyond, 0u);
  EXPECT_EQ(leases.all.refused, 0u);
  EXPECT_LE(leases.peak, 200u);
  EXPECT_LE(leases.most_leased, 200u);
  expect_steady(leases);
  const double more =
      percent(leases.all.spilled, leases.all.all) - percent(ideal.all.spilled, ideal.all.all);
  EXPECT_LT(more, 6.0);
  EXPECT_LT(percent(leases.all.early, leases.all.all), 8.0);
  EXPECT_LT(percent(leases.steps[0].spilled, leases.steps[0].all), 1.0);
  EXPECT_GT(leases.local_at_end, 0.92);
  EXPECT_GT(percent(close.all.beyond, close.all.all), 20.0);
  if (const char* path = std::getenv("HF_SIM_CSV")) {
    write_samples(path, {{"leases", leases}, {"ideal", ideal}, {"prefer close", close}});
  }
}

TEST(LeaseSimulationTest, ZonesWithLoadOfTheirOwnTakeTheSpill) {
  World world(thirds());
  offer_elsewhere(world);

  const Outcome outcome = run("leases, 60 holders, b and c at 50 %", world);

  expect_few_beyond(world);
  expect_steady(outcome);
  EXPECT_GT(outcome.local_at_end, 0.90);
  EXPECT_LE(outcome.most_leased, 200u);
}

TEST(LeaseSimulationTest, SlowReportsCostSpillButNeverPlaces) {
  const Outcome outcome =
      run("reports take 0.5 to 1.5 s each way",
          {.shortest_delay = 500ms, .longest_delay = 1500ms, .report_timeout = 4s});

  EXPECT_LT(percent(outcome.all.beyond, outcome.all.all), 1.0);
  EXPECT_LE(outcome.most_leased, 200u);
  expect_steady(outcome);
}

TEST(LeaseSimulationTest, LostAndRepeatedReportsNeverDealAPlaceTwice) {
  const Outcome outcome =
      run("a third of reports lost", {.lost_percent = 18, .repeated_percent = 20});

  EXPECT_LT(percent(outcome.all.beyond, outcome.all.all), 1.0);
  EXPECT_LE(outcome.most_leased, 200u);
  expect_steady(outcome);
}

TEST(LeaseSimulationTest, ADealerThatStartsAnewTakesLeasesOver) {
  World world({.seed = seed()});

  const Outcome outcome = run("dealer restarts at 130 %", world, [&](int second) {
    if (second == 80) world.stop_dealer();
    if (second == 82) world.start_dealer();
  });

  EXPECT_LT(percent(outcome.all.beyond, outcome.all.all), 1.0);
  EXPECT_LE(outcome.most_leased, 200u);
  expect_steady(outcome);
  EXPECT_GT(outcome.local_at_end, 0.92);
}

TEST(LeaseSimulationTest, WithoutADealerFixedSharesHold) {
  const Outcome outcome = run("no dealer, ever", {.has_dealer = false});

  EXPECT_LT(percent(outcome.all.beyond, outcome.all.all), 1.0);
  EXPECT_LE(outcome.peak, 202u);
  EXPECT_EQ(outcome.most_leased, 0u);
  expect_steady(outcome);
}

TEST(LeaseSimulationTest, ADealerThatDiesLeavesFixedShares) {
  World world(thirds());
  offer_elsewhere(world);

  const Outcome outcome = run("dealer dies at 130 %, 60 holders", world, [&](int second) {
    if (second == 80) world.stop_dealer();
  });

  expect_few_beyond(world);
  expect_steady(outcome);
}

TEST(LeaseSimulationTest, HoldersThatComeGoAndCrashLeaveNothingBehind) {
  World world(thirds());
  offer_elsewhere(world);

  const Outcome outcome = run("holders come, crash, are cut off", world, [&](int second) {
    if (second % 7 == 3) world.crash(static_cast<size_t>(second) % 20);
    if (second % 7 == 6) world.restart(static_cast<size_t>(second - 3) % 20);
    if (second % 30 == 10) world.join(static_cast<size_t>(second) % 3);
    if (second % 40 == 15) world.cut(30 + static_cast<size_t>(second) / 40, true);
    if (second % 40 == 35) world.cut(30 + static_cast<size_t>(second) / 40, false);
  });

  expect_few_beyond(world);
  expect_steady(outcome);
  EXPECT_LE(outcome.most_leased, 200u);
}

TEST(LeaseSimulationTest, WhenAllIsIdlePlacesComeBack) {
  World world(thirds());
  for (size_t zone = 0; zone < 3; ++zone) world.offer(zone, 0.9);
  world.run_for(30s);

  for (size_t zone = 0; zone < 3; ++zone) world.offer(zone, 0);
  world.run_for(60s);
  for (const auto& row : world.dealer()->rows(world.now())) {
    // Two places in the own zone and one in others, so that who comes first is not sent away.
    EXPECT_LE(row.charged, 20u * 2 + 40u) << row.pool.zone;
    EXPECT_EQ(row.active, 0u);
    EXPECT_EQ(row.totals.opened, row.totals.closed);
  }
  for (size_t holder = 0; holder < world.holder_count(); ++holder) world.crash(holder);
  world.run_for(60s);
  world.tick_dealer();
  EXPECT_EQ(world.dealer()->holder_count(), 0u);
  for (const auto& row : world.dealer()->rows(world.now())) EXPECT_EQ(row.charged, 0u);
}

}  // namespace
}  // namespace holdfast::route::sim
