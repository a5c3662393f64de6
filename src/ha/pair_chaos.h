// What goes wrong in one run of the simulated pair: each kind of fault is on or off for the whole
// run (swarm), and how often it strikes is drawn from the seed.
#pragma once

#include <string>

#include "ha/pair_world.h"

namespace holdfast::ha::sim {

struct Swarm {
  bool crashes = false;
  bool machine_crashes = false;
  bool empty_disks = false;
  bool pauses = false;
  bool pair_cuts = false;
  bool one_way_cuts = false;
  bool isolations = false;
  bool control_cuts = false;  // clients still reach it; its peer and the witness do not
  bool client_cuts = false;
  bool stranded_readers = false;  // they hear only a half that nobody else hears
  bool witness_losses = false;
  bool witness_cuts = false;
  bool clogs = false;
  bool loss = false;
  bool duplicates = false;
  bool delays = false;
  bool slow_disks = false;
  bool switch_overs = false;
  bool compactions = false;
  bool old_schemas = false;
  bool clocks = false;
  bool wild_clocks = false;
  bool disk_errors = false;
  bool witness_disk_errors = false;
  bool damaged_rows = false;
  bool flips = false;  // on the way from the disk to the other half
  bool storms = false;
  bool swizzles = false;
  bool foreign_schemas = false;  // ranges that do not meet
  bool agent_crashes = false;
  Duration pace{};  // between faults, on average
  static Swarm draw(Rng& rng);
  // Whether messages come in time unless something was cut or stopped.
  bool is_calm() const;
};

WorldOptions draw_options(const Swarm& swarm, Rng& rng, uint64_t seed);

class Chaos {
 public:
  Chaos(World& world, const Swarm& swarm) : world_(world), swarm_(swarm) { set_weather(); }

  // Two kinds of fault by themselves.
  void strand_readers(size_t node, Duration length);
  void lose_answer(size_t node, Duration length);
  // One fault, which ends by itself; when the next one is due.
  Duration strike();
  uint64_t faults() const { return faults_; }

 private:
  using Fault = void (Chaos::*)(size_t node, Duration length);
  void set_weather();
  void crash(size_t node, Duration length);
  void machine_crash(size_t node, Duration length);
  void empty_disk(size_t node, Duration length);
  void pause(size_t node, Duration length);
  void cut_pair(size_t node, Duration length);
  void cut_one_way(size_t node, Duration length);
  void isolate(size_t node, Duration length);
  void cut_control(size_t node, Duration length);
  void cut_client(size_t node, Duration length);
  void flap(size_t node, Duration length);
  void revive(size_t node, Duration length);
  void lose_witness(size_t node, Duration length);
  void cut_witness(size_t node, Duration length);
  void clog(size_t node, Duration length);
  void switch_over(size_t node, Duration length);
  void compact(size_t node, Duration length);
  void fail_disk(size_t node, Duration length);
  void fail_witness_disk(size_t node, Duration length);
  void damage_row(size_t node, Duration length);
  void swizzle(size_t node, Duration length);
  void crash_agent(size_t node, Duration length);
  void draw_schema(size_t node);
  void cut(size_t from, size_t to, Duration length);
  void leave_alone(size_t node, Duration length);

  World& world_;
  Swarm swarm_;
  uint64_t faults_ = 0;
};

}  // namespace holdfast::ha::sim
