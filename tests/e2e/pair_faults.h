// What can happen to a pair, and the trial of living through it: clients at work all the time, the
// fault, what is expected meanwhile, mending; then the pair is whole again and nothing that the
// clients saw is wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "e2e/pair_crowd.h"
#include "e2e/pair_world.h"

namespace holdfast::test {

struct PairFault {
  enum class Meanwhile : uint8_t {
    Served,         // writes are acknowledged, by whichever half
    ServedBySame,   // by the half that was active
    ServedByOther,  // by the other one
    Nothing,        // nothing is acknowledged until it is mended
    Either,         // one or the other
  };
  std::string name{};
  // Given the half that is active.
  std::function<void(PairWorld&, PairMember&)> strike{};
  Meanwhile meanwhile = Meanwhile::Served;
  // Before everybody is started, woken and connected again.
  std::function<void(PairWorld&, PairMember&)> mend = [](PairWorld&, PairMember&) {};
};

// In words what went wrong; empty: nothing.
std::vector<std::string> live_through(PairWorld& world, const PairFault& fault, uint64_t seed = 1);

namespace pair_faults {

PairFault kill_active();
PairFault freeze_active();
PairFault pause_active_briefly();
PairFault isolate_active();
PairFault cut_pair();
PairFault lose_from_active();
PairFault lose_to_active();
PairFault kill_passive();
PairFault freeze_passive();
PairFault kill_witness();
PairFault fill_active();   // needs small disks
PairFault fill_passive();  // the same
PairFault active_loses_its_disk();
// The half that the cluster was made on has its certificate in its store alone. It is started on
// its empty disk, as a service manager does; then an operator follows docs/pair-operations.md.
PairFault founder_loses_its_disk(bool promote_other);

// With their outcome in a pair with a witness. Those on disks are not among them.
std::vector<PairFault> of_all_kinds();

}  // namespace pair_faults

}  // namespace holdfast::test
