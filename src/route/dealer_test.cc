#include "route/dealer.h"

#include <gtest/gtest.h>

namespace holdfast::route {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart{1h};
constexpr Time kWarm = kStart + 5s;

// A holder as the dealer hears it: it puts grants into force unless it is told to lose them.
class Peer {
 public:
  Peer(Dealer& dealer, std::string name, std::string zone, uint64_t boot = 1)
      : dealer_(&dealer),
        report_{.holder = std::move(name), .zone = std::move(zone), .boot = boot} {
    report_.pools = {{.pool = {"web", "a"}}};
  }

  LoadGrant report(Time now, bool hears = true) {
    ++report_.number;
    const LoadGrant grant = dealer_->on_report(report_, now);
    if (hears) put_into_force(grant);
    return grant;
  }
  void put_into_force(const LoadGrant& grant) {
    if (grant.number == 0) return;
    report_.grant = grant.number;
    pool().leased = false;
    for (const PoolGrant& granted : grant.pools) {
      pool().limit = granted.limit;
      pool().leased = true;
    }
  }
  // Connections that come: they run as far as there are places, others are turned away.
  void offer(uint64_t count) {
    const uint64_t free = pool().limit > pool().active ? pool().limit - pool().active : 0;
    const uint64_t taken = std::min(count, free);
    pool().active += taken;
    pool().opened += taken;
    pool().turned_away += count - taken;
  }
  PoolReport& pool() { return report_.pools.front(); }
  LoadReport& last() { return report_; }
  uint64_t limit() { return pool().limit; }

 private:
  Dealer* dealer_;
  LoadReport report_;
};

class DealerTest : public testing::Test {
 protected:
  DealerTest() { set_capacity(20); }
  void set_capacity(uint64_t capacity) {
    dealer_.set_services({{"web", {.zones = {{"a", capacity}}}}});
  }
  Dealer::PoolRow row(Time now) { return dealer_.rows(now).front(); }

  Dealer dealer_{{}, kStart};
};

TEST_F(DealerTest, WhoWantsMoreGetsItUntilThereIsNoMore) {
  Peer one(dealer_, "proxy/one", "a");
  Time now = kWarm;
  one.report(now);
  EXPECT_GE(one.limit(), 2u) << "in case that somebody comes";

  for (int i = 0; i < 40; ++i) {
    one.offer(5);
    one.report(now += 100ms);
  }

  EXPECT_EQ(one.limit(), 20u);
  EXPECT_EQ(one.pool().active, 20u);
}

TEST_F(DealerTest, ConnectionsThatWaitGetTheirPlacesWithTheNextGrant) {
  set_capacity(100);
  Peer one(dealer_, "proxy/one", "a");
  Peer two(dealer_, "proxy/two", "a");
  Time now = kWarm;
  one.report(now);
  two.report(now);
  ASSERT_LT(one.limit(), 5u);

  one.pool().waiting = 50;
  one.report(now += 20ms);

  EXPECT_GE(one.limit(), 50u);
  one.pool().waiting = 1'000'000'000;
  one.report(now += 20ms);
  two.pool().waiting = 30;
  two.report(now += 20ms);
  EXPECT_LE(one.limit() + two.limit(), 100u);
  for (int i = 0; i < 2; ++i) {
    one.report(now += 20ms);
    two.report(now += 20ms);
  }
  EXPECT_GE(two.limit(), 30u) << "a holder that asks for very much leaves others their part";
}

TEST_F(DealerTest, AllLeasesTogetherNeverExceedTheCapacity) {
  Peer one(dealer_, "proxy/one", "a");
  Peer two(dealer_, "proxy/two", "a");
  Time now = kWarm;
  for (int i = 0; i < 40; ++i) {
    one.offer(3);
    one.report(now += 50ms);
    two.offer(3);
    two.report(now += 50ms);
    ASSERT_LE(one.limit() + two.limit(), 20u);
  }

  EXPECT_EQ(one.pool().active + two.pool().active, 20u);
  EXPECT_GE(one.pool().active, 8u) << "fair among equals";
  EXPECT_GE(two.pool().active, 8u);
}

TEST_F(DealerTest, AShrunkLeaseIsFreeOnlyOnceItIsAcknowledged) {
  Peer one(dealer_, "proxy/one", "a");
  Peer two(dealer_, "proxy/two", "a");
  Time now = kWarm;
  for (int i = 0; i < 40; ++i) {
    one.offer(5);
    one.report(now += 100ms);
  }
  ASSERT_EQ(one.limit(), 20u);
  one.pool().active = 0;
  const LoadGrant shrunk = one.report(now += 100ms, false);
  ASSERT_LT(shrunk.pools.front().limit, 20u);

  two.pool().turned_away += 5;
  two.report(now += 10ms);
  EXPECT_EQ(two.limit(), 0u) << "the first may not have heard";
  one.put_into_force(shrunk);
  one.report(now += 10ms);
  two.pool().turned_away += 5;
  two.report(now += 10ms);
  EXPECT_GE(two.limit(), 2u);
}

TEST_F(DealerTest, AGrantThatIsNotAcknowledgedIsChargedHoweverOftenItIsReportedWithout) {
  Peer one(dealer_, "proxy/one", "a");
  one.report(kWarm);
  one.pool().active = 2;
  one.pool().turned_away = 4;
  const uint64_t granted = one.report(kWarm + 100ms, false).pools.front().limit;
  ASSERT_GT(granted, one.limit());
  one.pool().active = 0;
  one.report(kWarm + 200ms, false);
  one.report(kWarm + 300ms, false);

  EXPECT_GE(row(kWarm).charged, granted);
}

TEST_F(DealerTest, ALostShrinkIsFreeWhenTheLeaseHasRunOutButTheFixedShareIsHeld) {
  Peer one(dealer_, "proxy/one", "a");
  Peer two(dealer_, "proxy/two", "a");
  Time now = kWarm;
  two.report(now);
  for (int i = 0; i < 40; ++i) {
    one.offer(5);
    one.report(now += 100ms);
    two.report(now);
  }
  const Time silent = now;
  const uint64_t heard = one.report(now).pools.front().fixed;
  one.pool().active = 0;
  one.report(now += 1ms, false);  // and is not heard of again

  while (now < silent + 5s) {
    two.offer(3);
    two.report(now += 100ms);
    ASSERT_LE(two.limit(), 20u - 18u);
  }
  while (now < silent + 29s) {
    two.offer(3);
    two.report(now += 100ms);
    ASSERT_LE(two.limit(), 20u - heard);
  }
  EXPECT_EQ(two.limit(), 20u - heard);
  while (now < silent + 31s) {
    two.offer(3);
    two.report(now += 100ms);
  }
  EXPECT_EQ(two.limit(), 20u) << "forgotten";
  EXPECT_EQ(dealer_.holder_count(), 1u);
}

TEST_F(DealerTest, WhatRunsBeyondTheLeaseIsCharged) {
  Peer one(dealer_, "proxy/one", "a");
  Peer two(dealer_, "proxy/two", "a");
  one.pool().active = 18;  // by overflow, or from before
  Time now = kWarm;
  one.report(now);
  for (int i = 0; i < 20; ++i) {
    two.offer(3);
    two.report(now += 100ms);
    one.report(now);
    ASSERT_LE(two.limit(), 2u);
  }

  EXPECT_EQ(row(now).charged, 20u);
}

TEST_F(DealerTest, WhatRunsBeyondTheCapacityGivesWay) {
  Peer one(dealer_, "proxy/one", "a");
  Peer two(dealer_, "proxy/two", "a");
  one.pool().active = 30;
  two.pool().active = 10;
  one.report(kWarm);
  two.report(kWarm + 1ms);
  one.report(kWarm + 1s);
  two.report(kWarm + 1s);

  EXPECT_LE(one.limit() + two.limit(), 20u);
}

TEST_F(DealerTest, TheOwnZoneGoesBeforeOthers) {
  Peer near(dealer_, "proxy/near", "a");
  Peer far(dealer_, "proxy/far", "b");
  Time now = kWarm;
  for (int i = 0; i < 30; ++i) {
    near.offer(2);
    near.report(now += 50ms);
    if (near.pool().active > 0) --near.pool().active;
    far.offer(2);
    far.report(now += 50ms);
    if (far.pool().active > 0) --far.pool().active;
  }

  EXPECT_GT(near.pool().active, 2 * far.pool().active);
}

TEST_F(DealerTest, IdleHoldersDoNotKeepWhatOthersAreTurnedAwayFor) {
  set_capacity(4);
  Peer one(dealer_, "proxy/one", "a");
  Peer two(dealer_, "proxy/two", "a");
  Peer three(dealer_, "proxy/three", "a");
  Time now = kWarm;
  one.report(now);
  two.report(now);
  three.report(now);
  for (int i = 0; i < 20; ++i) {
    three.offer(1);
    three.report(now += 100ms);
    one.report(now);
    two.report(now);
  }

  EXPECT_EQ(three.pool().active, 4u);
}

TEST_F(DealerTest, ADealerThatStartsRaisesNobodyUntilItIsWarm) {
  Peer one(dealer_, "proxy/one", "a");
  Peer two(dealer_, "proxy/two", "a");
  Peer three(dealer_, "proxy/three", "a");
  one.last().grant = 41;  // by a dealer before
  one.pool().limit = 7;
  one.pool().leased = true;
  two.pool().limit = 3;  // its fixed share

  const LoadGrant first = one.report(kStart + 1s);
  EXPECT_EQ(first.number, 42u) << "goes on from what the holder has heard";
  ASSERT_EQ(first.pools.size(), 1u);
  EXPECT_EQ(first.pools.front().limit, 7u);
  EXPECT_EQ(first.pools.front().fixed, 0u) << "how many share is not known";
  EXPECT_TRUE(two.report(kStart + 1s).pools.empty()) << "stays with its fixed share";
  one.pool().turned_away += 9;
  one.report(kStart + 5s - 1ms);
  EXPECT_EQ(one.limit(), 7u);

  one.pool().turned_away += 9;
  one.pool().active = 7;
  one.report(kWarm);
  EXPECT_GT(one.limit(), 7u);
  three.report(kWarm);
  EXPECT_LE(one.limit() + 3 + three.limit(), 20u);
}

TEST_F(DealerTest, RepeatedAndLateReportsChangeNothing) {
  Peer one(dealer_, "proxy/one", "a");
  one.pool().active = 9;
  one.report(kWarm);
  const LoadReport early = one.last();
  one.pool().active = 1;
  one.report(kWarm + 1s);

  const LoadGrant answer = dealer_.on_report(early, kWarm + 2s);

  EXPECT_EQ(answer.number, 0u);
  EXPECT_EQ(answer.report, early.number);
  EXPECT_EQ(row(kWarm).active, 1u);
  EXPECT_EQ(dealer_.on_report(one.last(), kWarm + 2s).number, 0u);
}

TEST_F(DealerTest, ALateReportOfALifeThatIsOverIsRefusedForAWhile) {
  Peer before(dealer_, "proxy/one", "a", 1);
  before.pool().active = 9;
  before.report(kWarm);
  Peer after(dealer_, "proxy/one", "a", 2);
  after.report(kWarm + 1s);

  EXPECT_EQ(before.report(kWarm + 2s).number, 0u);
  EXPECT_EQ(row(kWarm).active, 0u);
  EXPECT_NE(after.report(kWarm + 3s).number, 0u);
  EXPECT_NE(before.report(kWarm + 7s).number, 0u) << "it may be that it was the other way round";
}

TEST_F(DealerTest, ARestartedHolderIsChargedForWhatItMayHaveHadUntilItAnswers) {
  Peer before(dealer_, "proxy/one", "a", 1);
  Time now = kWarm;
  for (int i = 0; i < 40; ++i) {
    before.offer(5);
    before.report(now += 100ms);
  }
  Peer after(dealer_, "proxy/one", "a", 2);
  after.report(now += 100ms);
  EXPECT_EQ(row(now).active, 0u);
  after.report(now += 100ms);

  EXPECT_LE(row(now).charged, 5u);
}

TEST_F(DealerTest, FixedSharesFollowUseAndAreNeverMoreThanThereIs) {
  set_capacity(100);
  Peer one(dealer_, "proxy/one", "a");
  Peer two(dealer_, "proxy/two", "a");
  Peer far(dealer_, "proxy/far", "b");
  one.pool().active = 40;
  two.pool().active = 10;
  uint64_t sum = 0;
  Time now = kWarm;
  for (int i = 0; i < 5; ++i) {
    sum = 0;
    now += 1s;
    for (Peer* peer : {&one, &two, &far}) sum += peer->report(now).pools.front().fixed;
  }

  EXPECT_LE(sum, 100u);
  EXPECT_GE(sum, 95u);
  const uint64_t first = one.report(now + 1s).pools.front().fixed;
  const uint64_t second = two.report(now + 1s).pools.front().fixed;
  const uint64_t third = far.report(now + 1s).pools.front().fixed;
  EXPECT_GT(first, 2 * second);
  EXPECT_GT(second, third);
  EXPECT_GE(third, 1u);
}

TEST_F(DealerTest, WhoJoinsDoesNotGetAFixedShareThatOthersStillHave) {
  Peer one(dealer_, "proxy/one", "a");
  one.pool().active = 5;
  const uint64_t alone = one.report(kWarm).pools.front().fixed;
  EXPECT_EQ(alone, 20u);
  Peer two(dealer_, "proxy/two", "a");

  EXPECT_EQ(two.report(kWarm + 1s).pools.front().fixed, 1u);
  one.report(kWarm + 2s);
  one.report(kWarm + 3s);
  EXPECT_GT(two.report(kWarm + 3s).pools.front().fixed, 1u);
}

TEST_F(DealerTest, PoolsWithoutALimitAreCountedAndNotDealt) {
  Peer one(dealer_, "proxy/one", "a");
  one.pool().pool = {"free", "a"};
  one.pool().active = 3;
  one.pool().limit = kNoLimit;

  EXPECT_TRUE(one.report(kWarm).pools.empty());
  EXPECT_EQ(row(kWarm).capacity, kNoLimit);
  EXPECT_EQ(row(kWarm).active, 3u);
}

TEST_F(DealerTest, TotalsCountOnceAndOutliveHolders) {
  Peer one(dealer_, "proxy/one", "a", 1);
  one.report(kWarm);
  one.pool().opened = 15;
  one.pool().failed.refused = 2;
  one.report(kWarm + 1s);
  Peer again(dealer_, "proxy/one", "a", 2);
  again.pool().opened = 4;
  again.report(kWarm + 2s);
  Peer known(dealer_, "proxy/known", "a");  // by a dealer before: what it counted is told already
  known.last().number = 60;
  known.pool().opened = 1000;
  known.report(kWarm + 2s);
  known.pool().opened = 1001;
  known.report(kWarm + 3s);
  EXPECT_EQ(row(kWarm).totals.opened, 20u);

  dealer_.on_tick(kWarm + 1min);

  EXPECT_EQ(dealer_.holder_count(), 0u);
  EXPECT_EQ(row(kWarm).totals.opened, 20u);
  EXPECT_EQ(row(kWarm).totals.failed.refused, 2u);
  EXPECT_EQ(row(kWarm).charged, 0u);
}

TEST_F(DealerTest, HoldersAndPoolsBeyondTheMostAreRefusedAndCounted) {
  Dealer dealer({.max_holders = 1, .max_pools_per_holder = 1}, kStart);
  Peer one(dealer, "proxy/one", "a");
  one.last().pools.push_back({.pool = {"web", "b"}});
  Peer two(dealer, "proxy/two", "a");

  EXPECT_NE(one.report(kWarm).number, 0u);
  EXPECT_EQ(dealer.refused_pools(), 1u);
  EXPECT_EQ(dealer.rows(kWarm).size(), 1u);
  EXPECT_EQ(two.report(kWarm).number, 0u);
  EXPECT_EQ(dealer.refused_holders(), 1u);
}

TEST_F(DealerTest, WhereThereIsPlentyAnUnusedLeaseStaysForAWhile) {
  set_capacity(1000);
  Peer one(dealer_, "proxy/one", "a");
  Time now = kWarm;
  for (int i = 0; i < 20; ++i) {
    one.offer(10);
    one.report(now += 100ms);
  }
  const uint64_t high = one.limit();
  one.pool().active = 0;

  one.report(now += 1s);
  EXPECT_EQ(one.limit(), high);
  for (int i = 0; i < 60; ++i) one.report(now += 1s);
  EXPECT_LE(one.limit(), 4u);
}

TEST_F(DealerTest, ScarcePlacesAreSaidToBeSoAndReportedMoreOften) {
  Peer one(dealer_, "proxy/one", "a");
  EXPECT_EQ(one.report(kWarm).report_every, 1s);
  one.pool().active = 19;

  const LoadGrant grant = one.report(kWarm + 1s);

  EXPECT_TRUE(grant.pools.front().scarce);
  EXPECT_EQ(grant.report_every, 100ms);
}

}  // namespace
}  // namespace holdfast::route
