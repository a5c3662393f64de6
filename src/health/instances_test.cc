#include "health/instances.h"

#include <gtest/gtest.h>

namespace holdfast::health {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTtl = 60s;
constexpr InstanceId kOld = 1'000;
constexpr InstanceId kNew = 2'000;

class InstancesTest : public testing::Test {
 protected:
  static Time at(Duration elapsed) { return Time(elapsed); }
  static Sighting seen(InstanceId instance, Duration elapsed) {
    return {instance, WallTime(std::chrono::duration_cast<WallTime::duration>(elapsed))};
  }
  void hear(InstanceId instance, Duration elapsed) {
    instances_.heard(seen(instance, elapsed), kTtl, at(elapsed));
  }

  Instances instances_;
};

TEST_F(InstancesTest, ARestartIsOneAfterTheOther) {
  hear(kOld, 1s);
  hear(kOld, 30s);
  EXPECT_EQ(instances_.other_than(kNew, at(40s)), 0);
  hear(kNew, 40s);
  hear(kNew, 70s);

  EXPECT_FALSE(instances_.are_two(at(70s)));
  EXPECT_EQ(instances_.other_than(kNew, at(71s)), 0);
  EXPECT_EQ(instances_.last(), kNew);
}

TEST_F(InstancesTest, WhoComesBackIsASecondOneUntilNoneHasForTwoTtls) {
  hear(kOld, 1s);
  hear(kNew, 10s);
  EXPECT_EQ(instances_.other_than(kOld, at(20s)), kNew);
  hear(kOld, 20s);

  EXPECT_TRUE(instances_.are_two(at(20s)));
  EXPECT_EQ(instances_.other_than(kOld, at(50s)), kNew);
  EXPECT_EQ(instances_.other_than(kNew, at(50s)), kOld);

  hear(kOld, 100s);
  EXPECT_TRUE(instances_.are_two(at(139s)));
  EXPECT_FALSE(instances_.are_two(at(140s)));
  EXPECT_EQ(instances_.other_than(kOld, at(140s)), 0);
}

TEST_F(InstancesTest, WhichStartedFirstDoesNotMatter) {
  hear(kNew, 1s);
  hear(kOld, 10s);
  EXPECT_FALSE(instances_.are_two(at(10s))) << "a restart on a machine whose clock is behind";
  hear(kNew, 20s);

  EXPECT_TRUE(instances_.are_two(at(20s)));
}

TEST_F(InstancesTest, FourThatTakeTurnsAreFound) {
  for (int turn = 0; turn < 4; ++turn) hear(1 + turn, 1s + turn * 1s);
  EXPECT_FALSE(instances_.are_two(at(4s)));
  hear(1, 5s);

  EXPECT_TRUE(instances_.are_two(at(5s)));
  EXPECT_EQ(instances_.last(), 1);
}

TEST_F(InstancesTest, ManyRestartsAreNoSecondOne) {
  for (int restart = 1; restart <= 100; ++restart) hear(restart, restart * 1s);

  EXPECT_FALSE(instances_.are_two(at(100s)));
  EXPECT_EQ(instances_.last(), 100);
}

TEST_F(InstancesTest, TheStoresEchoOfWhoWasReplacedIsNotItsReturn) {
  hear(kOld, 1s);
  hear(kNew, 2s);
  instances_.observed(seen(kOld, 1s), kTtl, at(3s));
  instances_.observed(seen(kNew, 2s), kTtl, at(3s));

  EXPECT_FALSE(instances_.are_two(at(3s)));
  EXPECT_EQ(instances_.last(), kNew);
}

TEST_F(InstancesTest, WhatAnotherControllerHeardCounts) {
  hear(kOld, 1s);
  instances_.observed(seen(kNew, 10s), kTtl, at(10s));
  instances_.observed(seen(kOld, 20s), kTtl, at(20s));

  EXPECT_TRUE(instances_.are_two(at(20s)));
}

TEST_F(InstancesTest, AClockThatIsSetBackHidesNoOneWhoIsHeard) {
  hear(kOld, 1000s);
  instances_.heard(seen(kNew, 5s), kTtl, at(1001s));

  EXPECT_EQ(instances_.last(), kNew);
}

TEST_F(InstancesTest, TheGoodbyeOfTheOnlyOneIsTheNodes) {
  hear(kOld, 1s);

  EXPECT_TRUE(instances_.leave(kOld, at(2s)));
}

TEST_F(InstancesTest, WhoeverWasReplacedTakesNobodyAway) {
  hear(kOld, 1s);
  hear(kNew, 10s);

  EXPECT_FALSE(instances_.leave(kOld, at(11s)));
  EXPECT_EQ(instances_.last(), kNew);
  EXPECT_TRUE(instances_.leave(kNew, at(12s))) << "the other one is known to be gone";
}

TEST_F(InstancesTest, ACopyThatWasHeardLastTakesNobodyAwayWhoMayBeThere) {
  hear(kOld, 1s);
  hear(kNew, 10s);

  EXPECT_FALSE(instances_.leave(kNew, at(11s)));
  EXPECT_EQ(instances_.last(), kOld);
  hear(kOld, 31s);
  EXPECT_FALSE(instances_.are_two(at(31s))) << "the other one has left";
  EXPECT_TRUE(instances_.leave(kOld, at(32s)));
}

TEST_F(InstancesTest, WhoeverFellSilentATtlAgoIsNotWaitedFor) {
  hear(kOld, 1s);
  hear(kNew, 10s);
  hear(kNew, 40s);

  EXPECT_TRUE(instances_.leave(kNew, at(61s)));
}

TEST_F(InstancesTest, AGoodbyeThatDoesNotSayWhoseIsTheNodes) {
  hear(kOld, 1s);
  hear(kNew, 10s);

  EXPECT_TRUE(instances_.leave(0, at(11s)));
  EXPECT_TRUE(Instances().leave(kOld, at(11s)));
}

TEST_F(InstancesTest, WhoDoesNotSayIsNobody) {
  hear(kOld, 1s);
  hear(0, 2s);
  hear(kOld, 3s);

  EXPECT_FALSE(instances_.are_two(at(3s)));
  EXPECT_EQ(instances_.other_than(0, at(3s)), 0);
  EXPECT_EQ(instances_.last(), kOld);
}

}  // namespace
}  // namespace holdfast::health
