#include "ha/pair_chaos.h"

#include <fmt/format.h>

namespace holdfast::ha::sim {

using namespace std::chrono_literals;

Swarm Swarm::draw(Rng& rng) {
  Swarm swarm;
  for (bool* kind : {&swarm.crashes,
                     &swarm.machine_crashes,
                     &swarm.empty_disks,
                     &swarm.pauses,
                     &swarm.pair_cuts,
                     &swarm.one_way_cuts,
                     &swarm.isolations,
                     &swarm.control_cuts,
                     &swarm.client_cuts,
                     &swarm.witness_losses,
                     &swarm.witness_cuts,
                     &swarm.clogs,
                     &swarm.loss,
                     &swarm.duplicates,
                     &swarm.delays,
                     &swarm.slow_disks,
                     &swarm.switch_overs,
                     &swarm.compactions,
                     &swarm.old_schemas,
                     &swarm.clocks,
                     &swarm.wild_clocks,
                     &swarm.stranded_readers,
                     &swarm.disk_errors,
                     &swarm.witness_disk_errors,
                     &swarm.damaged_rows,
                     &swarm.flips,
                     &swarm.storms,
                     &swarm.swizzles,
                     &swarm.foreign_schemas,
                     &swarm.agent_crashes}) {
    *kind = rng.below(2) == 0;
  }
  swarm.pace = 300ms + rng.below(Duration(4s));
  return swarm;
}

bool Swarm::is_calm() const {
  return !loss && !delays && !slow_disks && !clocks && !clogs && !swizzles;
}

WorldOptions draw_options(const Swarm& swarm, Rng& rng, uint64_t seed) {
  WorldOptions options{.seed = seed};
  const uint64_t mode = rng.below(10);
  options.mode = mode < 6 ? Mode::Witness : mode < 8 ? Mode::Sync : Mode::BestEffort;
  for (double& rate : options.rate) {
    const double drawn = static_cast<double>(rng.below(1000)) / 1000;
    if (swarm.clocks) rate = swarm.wild_clocks ? 0.5 + 1.5 * drawn : 0.85 + 0.4 * drawn;
  }
  if (rng.below(3) == 0) options.timing.recovery = 10s;
  // Impatient clients vote while the active half may still have its lease.
  if (rng.below(2) == 0) options.client_timeout = 300ms;
  return options;
}

void Chaos::set_weather() {
  Rng& rng = world_.rng();
  Weather& weather = world_.weather();
  if (swarm_.loss) weather.loss_percent = rng.below(31);
  if (swarm_.duplicates) weather.duplicate_percent = rng.below(51);
  if (swarm_.delays) weather.delay = rng.below(Duration(100ms));
  if (swarm_.slow_disks) weather.disk_delay = rng.below(Duration(500ms));
  if (swarm_.flips) weather.flip_percent = rng.below(6);
  weather.storm = swarm_.storms;
}

Duration Chaos::strike() {
  struct Kind {
    bool on;
    Fault fault;
  };
  const Kind kinds[] = {
      {swarm_.crashes, &Chaos::crash},
      {swarm_.machine_crashes, &Chaos::machine_crash},
      {swarm_.empty_disks, &Chaos::empty_disk},
      {swarm_.pauses, &Chaos::pause},
      {swarm_.pair_cuts, &Chaos::cut_pair},
      {swarm_.one_way_cuts, &Chaos::cut_one_way},
      {swarm_.isolations, &Chaos::isolate},
      {swarm_.control_cuts, &Chaos::cut_control},
      {swarm_.client_cuts, &Chaos::cut_client},
      {swarm_.stranded_readers, &Chaos::strand_readers},
      {swarm_.stranded_readers, &Chaos::flap},
      {swarm_.stranded_readers, &Chaos::revive},
      {swarm_.stranded_readers, &Chaos::lose_answer},
      {swarm_.witness_losses, &Chaos::lose_witness},
      {swarm_.witness_cuts, &Chaos::cut_witness},
      {swarm_.clogs, &Chaos::clog},
      {swarm_.switch_overs, &Chaos::switch_over},
      {swarm_.compactions, &Chaos::compact},
      {swarm_.disk_errors, &Chaos::fail_disk},
      {swarm_.witness_disk_errors, &Chaos::fail_witness_disk},
      {swarm_.damaged_rows, &Chaos::damage_row},
      {swarm_.swizzles, &Chaos::swizzle},
      {swarm_.agent_crashes, &Chaos::crash_agent},
  };
  std::vector<Fault> on;
  for (const Kind& kind : kinds) {
    if (kind.on) on.push_back(kind.fault);
  }
  Rng& rng = world_.rng();
  if (!on.empty()) {
    const Fault fault = on[rng.below(on.size())];
    const Duration length = 100ms + rng.below(rng.below(2) == 0 ? Duration(1500ms) : Duration(10s));
    faults_ += 1;
    (this->*fault)(rng.below(2), length);
  }
  return rng.below(2 * swarm_.pace);
}

void Chaos::crash(size_t node, Duration length) {
  world_.crash(node, false);
  world_.later(length, [this, node] {
    draw_schema(node);
    world_.start(node);
  });
}

// Of the version before, or one that has nothing in common with it.
void Chaos::draw_schema(size_t node) {
  Node& mine = world_.node(node);
  if (mine.up) return;
  if (swarm_.old_schemas) mine.schema_max = 1 + static_cast<uint32_t>(world_.rng().below(2));
  if (!swarm_.foreign_schemas) return;
  mine.schema_min = world_.rng().below(3) == 0 ? 3 : 1;
  if (mine.schema_min > 1) mine.schema_max = 3;
  if (mine.schema_min == 1 && mine.schema_max == 3) mine.schema_max = 2;
}

void Chaos::machine_crash(size_t node, Duration length) {
  world_.crash(node, true);
  world_.later(length, [this, node] { world_.start(node); });
}

void Chaos::empty_disk(size_t node, Duration length) {
  world_.crash(node, world_.rng().below(2) == 0);
  world_.later(length, [this, node] {
    world_.wipe(node);
    world_.start(node);
  });
}

void Chaos::pause(size_t node, Duration length) {
  world_.pause(node);
  world_.later(length, [this, node] { world_.resume(node); });
}

void Chaos::cut(size_t from, size_t to, Duration length) {
  world_.say(fmt::format("cut from {} to {} for {}", from, to, to_short_string(length)));
  world_.cut(from, to, true);
  world_.later(length, [this, from, to] { world_.cut(from, to, false); });
}

void Chaos::cut_pair(size_t node, Duration length) {
  cut(node, 1 - node, length);
  cut(1 - node, node, length);
}

void Chaos::cut_one_way(size_t node, Duration length) {
  cut(node, 1 - node, length);
}

void Chaos::isolate(size_t node, Duration length) {
  for (size_t place = 0; place < kPlaces; ++place) {
    if (place == node) continue;
    cut(node, place, length);
    cut(place, node, length);
  }
}

void Chaos::cut_control(size_t node, Duration length) {
  for (const size_t place : {1 - node, kWitness}) {
    cut(node, place, length);
    // Sometimes it still hears the others, and they do not hear it.
    if (world_.rng().below(2) == 0) cut(place, node, length);
  }
}

void Chaos::cut_client(size_t node, Duration length) {
  const size_t client = 3 + world_.rng().below(kClients);
  cut(client, node, length);
  cut(node, client, length);
}

// Neither its peer nor the witness hears it, and it may hear them or not.
void Chaos::leave_alone(size_t node, Duration length) {
  const bool deaf = world_.rng().below(4) != 0;
  for (const size_t place : {1 - node, kWitness}) {
    cut(node, place, length);
    if (deaf) cut(place, node, length);
  }
}

// What its lease allows must be over before the other half acknowledges anything: readers stay with
// the active half, writers are at the other.
void Chaos::strand_readers(size_t node, Duration length) {
  const size_t old = world_.active().value_or(node);
  const Duration bounded = 2s + length / 4;
  world_.pin_clients(old);
  leave_alone(old, bounded);
  // Whoever is stopped meanwhile must not trust what it knew.
  if (world_.rng().below(3) == 0) pause(old, 1s + world_.rng().below(Duration(1s)));
  world_.later(bounded, [this] { world_.let_clients_go(); });
}

// The same, but the link is back for a moment while the other half already asks the witness.
void Chaos::flap(size_t node, Duration length) {
  const size_t old = world_.active().value_or(node);
  const Duration silence = 1s + world_.rng().below(Duration(200ms));
  const Duration moment = 50ms + world_.rng().below(Duration(400ms));
  world_.pin_clients(old);
  for (const auto& [from, to] : {std::pair(old, kWitness), std::pair(kWitness, old)}) {
    cut(from, to, silence + moment + 2s);
  }
  cut_pair(old, silence);
  world_.clog(1 - old, kWitness, world_.now() + silence + moment);
  world_.later(silence + moment, [this, old] { cut_pair(old, 2s); });
  world_.later(silence + moment + 2s + length / 8, [this] { world_.let_clients_go(); });
}

// The same, but who took over is restarted, and hears the half that it replaced before the witness.
void Chaos::revive(size_t node, Duration length) {
  const size_t old = world_.active().value_or(node);
  const size_t other = 1 - old;
  const Duration before = 1800ms + world_.rng().below(Duration(400ms));
  world_.pin_clients(old);
  for (const auto& [from, to] : {std::pair(old, kWitness), std::pair(kWitness, old)}) {
    cut(from, to, before + 1s);
  }
  cut_pair(old, before);
  world_.later(before, [this, other] {
    world_.crash(other, true);
    world_.clog(other, kWitness, world_.now() + 500ms);
    world_.later(100ms, [this, other] { world_.start(other); });
  });
  world_.later(before + 1s + length / 8, [this] { world_.let_clients_go(); });
}

// The same, but who took over is not told so: it hears the active half again, and learns of its own
// record when that one is silent once more.
void Chaos::lose_answer(size_t node, Duration length) {
  const size_t old = world_.active().value_or(node);
  const size_t other = 1 - old;
  const Duration silence = 1s + world_.rng().below(Duration(500ms));
  const Duration moment = 400ms + world_.rng().below(Duration(600ms));
  world_.pin_clients(old);
  for (const auto& [from, to] : {std::pair(old, kWitness), std::pair(kWitness, old)}) {
    cut(from, to, silence + moment + 3s);
  }
  cut_pair(old, silence);
  cut(kWitness, other, silence + moment / 2 + world_.rng().below(moment));
  world_.later(silence + moment, [this, old] { cut_pair(old, 3s); });
  world_.later(silence + moment + 3s + length / 8, [this] { world_.let_clients_go(); });
}

void Chaos::lose_witness(size_t /*node*/, Duration length) {
  world_.say("the witness is gone for " + to_short_string(length));
  world_.set_witness(false);
  world_.later(length, [this] { world_.set_witness(true); });
}

void Chaos::cut_witness(size_t node, Duration length) {
  if (world_.rng().below(2) == 0) cut(node, kWitness, length);
  cut(kWitness, node, length);
}

void Chaos::clog(size_t node, Duration length) {
  const Duration bounded = std::min(length, Duration(5s));
  const size_t to = world_.rng().below(3);
  if (to != node) world_.clog(node, to, world_.now() + bounded);
}

void Chaos::switch_over(size_t node, Duration /*length*/) {
  world_.switch_over(node);
}

void Chaos::compact(size_t node, Duration /*length*/) {
  world_.compact(node);
}

void Chaos::fail_disk(size_t node, Duration length) {
  Rng& rng = world_.rng();
  world_.set_disk(
      node, {.percent = rng.below(2) == 0 ? 100 : 5 + rng.below(90), .is_full = rng.below(2) == 0});
  world_.later(length, [this, node] { world_.set_disk(node, {}); });
  // What was not synced shows only after a crash.
  if (rng.below(3) == 0) {
    world_.later(rng.below(length), [this, node, length] { machine_crash(node, length / 4); });
  }
}

void Chaos::fail_witness_disk(size_t node, Duration length) {
  Rng& rng = world_.rng();
  world_.say("the witness's disk fails for " + to_short_string(length));
  world_.set_witness_disk(
      {.percent = rng.below(2) == 0 ? 100 : 5 + rng.below(90), .is_full = rng.below(2) == 0});
  world_.later(length, [this] { world_.set_witness_disk({}); });
  if (rng.below(2) == 0) {
    world_.later(rng.below(length), [this, node, length] { lose_witness(node, length / 4); });
  }
}

void Chaos::damage_row(size_t node, Duration /*length*/) {
  world_.rot(node);
}

// Some links are stopped one after the other, and go on in another order.
void Chaos::swizzle(size_t /*node*/, Duration length) {
  Rng& rng = world_.rng();
  const Duration step = std::min(length, Duration(5s)) / 16;
  for (size_t from = 0; from < kPlaces; ++from) {
    for (size_t to = 0; to < kPlaces; ++to) {
      if (from == to || rng.below(3) == 0) continue;
      const Duration begins = rng.below(8 * step);
      const Time ends = world_.now() + 8 * step + rng.below(8 * step);
      world_.later(begins, [this, from, to, ends] { world_.clog(from, to, ends); });
    }
  }
}

void Chaos::crash_agent(size_t /*node*/, Duration length) {
  world_.restart_agent(world_.rng().below(kAgents), length / 4);
}

}  // namespace holdfast::ha::sim
