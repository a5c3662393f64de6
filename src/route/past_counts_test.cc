// What holders have counted is told once, however often their pools leave and come back.
#include "route/past_counts.h"

#include <gtest/gtest.h>

#include "route/dealer.h"
#include "route/load_stats.h"

namespace holdfast::route {
namespace {

using namespace std::chrono_literals;

constexpr Time kPastCountsStart{1h};
const PoolKey kWeb{"web", "a"};

PoolReport opened(uint64_t count, uint64_t refused = 0) {
  return {.pool = kWeb, .opened = count, .closed = count, .failed = {.refused = refused}};
}

TEST(PastCountsTest, WhatIsKeptIsTakenOnce) {
  PastCounts past(2);
  past.keep("agent/one", kWeb, opened(3));

  EXPECT_FALSE(past.take("agent/two", kWeb));
  EXPECT_EQ(past.take("agent/one", kWeb)->opened, 3u);
  EXPECT_FALSE(past.take("agent/one", kWeb));
}

TEST(PastCountsTest, BeyondTheMostTheOldestIsForgotten) {
  PastCounts past(2);
  past.keep("one", kWeb, opened(1));
  past.keep("two", kWeb, opened(2));
  past.keep("one", kWeb, opened(3));
  EXPECT_EQ(past.forgotten(), 0u);
  past.keep("three", kWeb, opened(4));

  EXPECT_EQ(past.size(), 2u);
  EXPECT_EQ(past.forgotten(), 1u);
  EXPECT_FALSE(past.take("two", kWeb));
  EXPECT_EQ(past.take("one", kWeb)->opened, 3u);
  EXPECT_EQ(past.take("three", kWeb)->opened, 4u);
}

// An agent's kernel counts on, whatever the agent reports of it.
class CountedOnceTest : public testing::Test {
 protected:
  explicit CountedOnceTest(DealerOptions options = {}) : dealer_(options, kPastCountsStart) {
    set_capacity(100);
  }
  void set_capacity(uint64_t capacity) {
    dealer_.set_services({{"web", {.zones = {{"a", capacity}}}}});
  }
  void report(std::vector<PoolReport> pools) {
    ++report_.number;
    report_.pools = std::move(pools);
    dealer_.on_report(report_, now_ += 1s);
  }
  // Another life of the agent, of the same kernel.
  void restart() {
    ++report_.boot;
    report_.number = 0;
    report_.grant = 0;
  }
  uint64_t total() { return dealer_.rows(now_).empty() ? 0 : dealer_.rows(now_)[0].totals.opened; }
  uint64_t refused() { return dealer_.rows(now_).front().totals.failed.refused; }

  Time now_ = kPastCountsStart + 5s;
  LoadReport report_{.holder = "agent/one", .zone = "a", .boot = 1};
  Dealer dealer_;
};

TEST_F(CountedOnceTest, APoolThatLeavesAndComesBack) {
  report({opened(0)});
  report({opened(45, 4)});
  for (int i = 0; i < 3; ++i) {
    report({});
    report({});
    report({opened(45, 4)});
    EXPECT_EQ(total(), 45u);
    EXPECT_EQ(refused(), 4u);
  }

  report({opened(47, 5)});
  EXPECT_EQ(total(), 47u);
  EXPECT_EQ(refused(), 5u);
}

TEST_F(CountedOnceTest, APoolWithoutALimitToo) {
  dealer_.set_services({});
  report({opened(0)});
  report({opened(45)});
  report({});
  EXPECT_TRUE(dealer_.rows(now_).empty());
  report({opened(46)});

  EXPECT_EQ(total(), 46u) << "neither twice nor anew";
}

TEST_F(CountedOnceTest, AnAgentThatWasAway) {
  report({opened(0)});
  report({opened(85)});
  now_ += 40s;
  dealer_.on_tick(now_);
  ASSERT_EQ(dealer_.holder_count(), 0u);
  report({opened(98)});
  EXPECT_EQ(total(), 98u) << "with what was opened meanwhile";

  now_ += 40s;
  restart();
  report({opened(99)});
  EXPECT_EQ(total(), 99u) << "also if it began anew";
  restart();
  report({opened(100)});
  EXPECT_EQ(total(), 100u);
}

TEST_F(CountedOnceTest, WhatAHolderForgotBeginsFromNothing) {
  report({opened(0)});
  report({opened(45)});
  report({});
  report({opened(3)});

  EXPECT_EQ(total(), 48u);
}

TEST_F(CountedOnceTest, WhoIsNotKnownBringsWhatOthersCounted) {
  report({opened(45)});
  EXPECT_EQ(total(), 0u) << "a kernel that counted before this dealer began";
  report({opened(46)});
  EXPECT_EQ(total(), 1u);
}

TEST_F(CountedOnceTest, APartOfAPoolThatLeavesIsNoBeginning) {
  report({opened(0)});
  report({opened(45)});
  report({opened(20)});  // one of two ports
  EXPECT_EQ(total(), 45u);
  report({opened(21)});
  EXPECT_EQ(total(), 46u);
}

TEST_F(CountedOnceTest, OthersAreToldOnceToo) {
  LoadStats stats;
  stats.on_asked({.all = true, .interval = 1s}, dealer_.rows(now_), now_);
  uint64_t told = 0;
  const auto tell = [&] {
    for (const ClusterLoad& cluster : stats.make(dealer_.rows(now_), now_)) {
      for (const LocalityLoad& zone : cluster.localities) told += zone.opened;
    }
    stats.sent();
  };
  const auto come_and_go = [&](uint64_t count) {
    for (const uint64_t more : {0, 2}) {
      report({opened(count + more)});
      tell();
      report({});
      tell();
    }
  };
  report({});
  come_and_go(45);
  EXPECT_EQ(told, 47u);
  dealer_.set_services({});
  come_and_go(48);
  EXPECT_EQ(told, 50u) << "without a limit the pool itself is gone meanwhile";
}

class FewCountsTest : public CountedOnceTest {
 protected:
  FewCountsTest() : CountedOnceTest({.max_past_counts = 1}) {}
};

TEST_F(FewCountsTest, WhenTooManyAreKeptRatherTooLittleIsCounted) {
  PoolReport other = opened(0);
  other.pool.zone = "b";
  report({opened(0), other});
  report({opened(45), other});
  report({});
  EXPECT_EQ(dealer_.forgotten_counts(), 1u);
  report({opened(46), other});
  EXPECT_EQ(total(), 45u);
  report({opened(47), other});
  EXPECT_EQ(total(), 46u);
}

}  // namespace
}  // namespace holdfast::route
