// Everybody who uses a pair in a test: clients that follow whichever half serves, and clients that
// ask one half only, whatever it is. And the judgement of what they saw.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "e2e/pair_client.h"
#include "e2e/pair_door.h"
#include "e2e/pair_history.h"
#include "e2e/pair_world.h"

namespace holdfast::test {

struct PairCrowdOptions {
  std::string name{};  // registers of this name are theirs alone
  uint64_t seed = 1;
};

class PairCrowd {
 public:
  // At work from now on: four that follow, two at each half.
  explicit PairCrowd(PairWorld& world, const PairCrowdOptions& options);

  // Whether so many more writes are acknowledged within `patience`.
  bool goes_on(size_t writes, Duration patience = std::chrono::seconds(20));
  // Everybody finishes; then one that follows reads every register.
  void stop();
  // Of those who follow.
  size_t failed_calls() const;
  std::string last_failure() const;

  const PairHistory& history() const { return history_; }
  // What is wrong with it, in words; empty: nothing. Requires: stopped.
  std::vector<std::string> judge() const;

 private:
  PairHistory history_;
  FollowingDoor following_;
  HalfDoor at_primary_;
  HalfDoor at_backup_;
  std::vector<std::unique_ptr<PairClient>> clients_;
};

}  // namespace holdfast::test
