// The run that the control law is judged by: what one zone's holders offer goes from 60 % of the
// zone's capacity to 130 % and back to 80 %, a minute each, and everything is written down.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "route/lease_world.h"

namespace holdfast::route::sim {

inline constexpr std::array<double, 3> kLoads{0.6, 1.3, 0.8};
inline constexpr Duration kStep = std::chrono::seconds(60);

// Every half second, from the first step on.
struct Sample {
  double seconds = 0;
  double offered = 0;
  std::array<uint64_t, 3> active{};
  uint64_t leased = 0;  // of the zone whose load changes
  double local_share = 1;
};

struct Outcome {
  Tally all{};
  std::array<Tally, 3> steps{};
  // Of the local share: taken over ten seconds each; a turn counts if both ways are 10 points.
  std::array<size_t, 3> reversals{};
  double local_at_end = 0;  // the local share of the last 20 seconds
  uint64_t peak = 0;        // connections at once in the zone
  uint64_t most_leased = 0;
  double over_percent = 0;  // of the time: more connections than capacity
  double reports_a_second = 0;
  std::vector<Sample> samples{};
};

// `during` is called every second with the seconds since the first step began.
Outcome run_steps(World& world, const std::function<void(int second)>& during = {});

double percent(uint64_t part, uint64_t whole);
// "  leases        spilled 15.6 %  early  5.0 %  beyond 0.00 %  peak 98 %  ..."
std::string describe(const std::string& name, const Outcome& outcome, uint64_t capacity);
// The samples of several runs side by side, for tools/plot-route.
void write_samples(const std::string& path,
                   const std::vector<std::pair<std::string, Outcome>>& runs);

}  // namespace holdfast::route::sim
