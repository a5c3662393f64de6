// Our pair with a witness, its defaults, and a client that writes to whichever half serves.
#pragma once

#include <string>

#include "base/result.h"
#include "e2e/pair_door.h"
#include "e2e/pair_world.h"
#include "steady_writer.h"

namespace holdfast::bench {

// Each on a pair that is whole before every round.
class FailoverPair {
 public:
  FailoverPair();

  Gaps kill_active(int rounds);
  Gaps freeze_active(int rounds);
  Gaps isolate_active(int rounds);
  struct Switchovers {
    Gaps gaps{};
    size_t failed_calls = 0;
  };
  Switchovers switch_over(int rounds);

 private:
  Status write();
  void settle();
  static void switch_over_at(test::PairMember& active);

  test::PairWorld world_;
  test::FollowingDoor door_;
  uint64_t written_ = 0;
  SteadyWriter writer_;
};

// Acknowledged writes per second with many writers, each waiting for its answers, in one mode of
// the pair; "none": a single controller.
double writes_per_second(const std::string& mode, int writers, Duration duration);

}  // namespace holdfast::bench
