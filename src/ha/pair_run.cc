#include "ha/pair_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace holdfast::ha::sim {

using namespace std::chrono_literals;

namespace {

// Values that are in a quarantine of either half.
std::vector<uint64_t> quarantined(World& world) {
  std::vector<uint64_t> values;
  for (size_t i = 0; i < 2; ++i) {
    for (const Quarantine& quarantine : world.node(i).quarantines) {
      const Result<Quarantine> kept = parse_quarantine(to_text(quarantine));
      if (!kept.ok()) world.checks().fail(kept.status().ToString());
      if (!kept.ok()) continue;
      for (const store::Entry& entry : kept->entries) {
        values.push_back(std::strtoull(entry.changes[0].item.value.c_str(), nullptr, 10));
      }
    }
  }
  return values;
}

// A clock at half speed takes twice as long for everything.
Duration heal_bound(const World& world) {
  const double slowest = std::min(world.options().rate[0], world.options().rate[1]);
  return Duration(static_cast<int64_t>(static_cast<double>(Duration(10s).count()) / slowest));
}

}  // namespace

void heal(World& world, Totals& totals) {
  const uint64_t copies = world.node(0).copies + world.node(1).copies;
  world.heal();
  const Time healed = world.now();
  const Duration bound = heal_bound(world);
  while (world.now() < healed + bound) {
    world.run_until(world.now() + 50ms);
    if (world.has_converged() && world.last_ack() > healed) break;
  }
  totals.longest_heal = std::max(totals.longest_heal, world.now() - healed);
  if (!world.has_converged() || world.last_ack() <= healed) {
    world.checks().fail("it has not converged after all was healed: " + world.describe());
  }
  world.run_until(world.now() + 3s);
  world.set_clients(false);
  world.run_until(world.now() + 4s);
  // An automatic recovery may be under way.
  if (!world.has_converged() || !world.is_obeyed()) world.run_until(world.now() + 3s);
  if (!world.has_converged()) {
    world.checks().fail("it did not stay converged: " + world.describe());
  }
  if (!world.is_obeyed()) world.checks().fail("agents do not obey: " + world.describe());
  if (world.node(0).disk.head != world.node(1).disk.head) {
    world.checks().fail("the histories are not the same in the end");
  }
  const uint64_t after = world.node(0).copies + world.node(1).copies - copies;
  if (after > 2) world.checks().fail(fmt::format("{} copies after all was healed", after));
}

Run run(uint64_t seed, const RunOptions& how, Totals& totals) {
  Rng rng(seed * 7919);
  const Swarm swarm = Swarm::draw(rng);
  WorldOptions options = draw_options(swarm, rng, seed);
  options.verbose = how.verbose;
  options.bug = how.bug;
  World world(options);
  Chaos chaos(world, swarm);
  const Time end = world.now() + 25s + rng.below(Duration(20s));
  while (world.now() < end && world.checks().failures().empty()) {
    world.run_until(std::min(end, world.now() + chaos.strike()));
  }
  Checks& checks = world.checks();
  if (swarm.is_calm() && checks.switches() > 2 * chaos.faults() + 2) {
    checks.fail(fmt::format("{} switches for {} faults", checks.switches(), chaos.faults()));
  }
  if (checks.failures().empty()) heal(world, totals);
  const std::vector<uint64_t> kept = quarantined(world);
  if (checks.failures().empty()) checks.at_the_end(world.node(0).disk, kept);
  totals.acks += checks.acks();
  totals.reads += checks.reads();
  totals.switches += checks.switches();
  totals.faults += chaos.faults();
  totals.copies += world.node(0).copies + world.node(1).copies;
  totals.quarantined += kept.size();
  return {checks.failures(), world.trace()};
}

}  // namespace holdfast::ha::sim
