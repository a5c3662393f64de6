// Planned replacement in PickHealthy: new credentials, new addresses, periodic reconnects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "rpc/pick_healthy_harness.h"

namespace holdfast::rpc::pick {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Lt;
using testing::SizeIs;

auto pick_healthy_plan_between(Duration least, Duration most) {
  return AllOf(Ge(least), Lt(most));
}

void use_credentials(Harness& link) {
  link.take(*link.core.use_credentials(link.now));
}

TEST(PickHealthyPlan, NewCredentialsTakeOverWhenTheirConnectionIsReady) {
  Harness link;
  const uint64_t old = link.bring_up(kPickFirst);

  use_credentials(link);
  EXPECT_EQ(link.dials.back(), (Dial{link.last(), "lb:1", 1}));
  link.connect(link.last());
  EXPECT_EQ(link.core.picked(), old);
  link.tell(link.last(), kPickFirst);
  EXPECT_EQ(link.core.picked(), old) << "its health is not known yet";
  link.serve(link.last(), true);

  EXPECT_EQ(link.core.picked(), link.last());
  EXPECT_TRUE(link.has_dropped(old));
  EXPECT_EQ(link.core.oldest_credentials(), 1u);
  link.advance(1h);
  EXPECT_THAT(link.dials, SizeIs(2));
}

TEST(PickHealthyPlan, CredentialsThatAreRefusedAreTriedAgainAndTheOldOnesStay) {
  Harness link;
  const uint64_t old = link.bring_up(kPickFirst);
  use_credentials(link);

  for (const Duration backoff : {4s, 8s, 16s, 16s}) {
    link.connect(link.last());
    link.fail_discovery(link.last(), Discovery::Outcome::Failed);
    EXPECT_THAT(link.until_next_dial(), pick_healthy_plan_between(backoff, backoff + backoff / 2));
    EXPECT_EQ(link.core.picked(), old);
  }
  EXPECT_EQ(link.bring_up(kPickFirst), link.core.picked());
}

TEST(PickHealthyPlan, AServerWithoutDiscoveryAcceptsCredentials) {
  Harness link;
  link.bring_up(kPickFirst);
  use_credentials(link);
  link.connect(link.last());

  link.fail_discovery(link.last(), Discovery::Outcome::Unimplemented);

  EXPECT_EQ(link.core.picked(), link.last());
}

TEST(PickHealthyPlan, AnActiveThatIsLostRedialsWithWhatItHad) {
  Harness link;
  const uint64_t old = link.bring_up(kPickFirst);
  link.advance(1min);
  use_credentials(link);

  link.close(old);

  EXPECT_EQ(link.dials.back().credentials, 0u);
  EXPECT_EQ(link.core.oldest_credentials(), 0u);
}

TEST(PickHealthyPlan, WithEveryServerUnhealthyAcceptedCredentialsTakeOver) {
  Harness link;
  link.bring_up(kPickFirst, false);
  use_credentials(link);

  const uint64_t accepted = link.bring_up(kPickFirst, false);

  EXPECT_EQ(link.core.picked(), accepted);
}

TEST(PickHealthyPlan, AHealthyConnectionIsNotGivenUpForAnUnhealthyOne) {
  Harness link;
  const uint64_t old = link.bring_up(kPickFirst);
  use_credentials(link);

  link.bring_up(kPickFirst, false);

  EXPECT_EQ(link.core.picked(), old);
  EXPECT_THAT(link.until_next_dial(), pick_healthy_plan_between(4s, 6s));
}

TEST(PickHealthyPlan, NewerCredentialsReplaceABackupWithOlderOnes) {
  Harness link;
  link.bring_up(kPickFirst);
  use_credentials(link);
  const uint64_t older = link.last();

  use_credentials(link);

  EXPECT_TRUE(link.has_dropped(older));
  EXPECT_EQ(link.dials.back().credentials, 2u);
  EXPECT_EQ(link.core.children(), 2u);
}

TEST(PickHealthyPlan, CredentialsMayBeReplacedAtOnce) {
  Harness link;
  const uint64_t old = link.bring_up(kPickFirst);

  link.take(*link.core.replace_credentials(link.now));

  EXPECT_TRUE(link.has_dropped(old));
  EXPECT_EQ(link.core.picked(), 0u);
  EXPECT_EQ(link.core.children(), 1u);
  EXPECT_EQ(link.dials.back().credentials, 1u);
}

TEST(PickHealthyPlan, APauseDropsEverythingUntilThereAreNewCredentials) {
  Harness link({.reconnect_interval = 1h});
  const uint64_t active = link.bring_up(kReconnect);
  link.serve(active, false);
  link.until_next_dial();
  const uint64_t backup = link.last();
  const size_t dials = link.dials.size();

  link.take(link.core.pause(link.now));

  EXPECT_EQ(link.core.picked(), 0u);
  EXPECT_EQ(link.asked<Pick>().back(), Pick{0});
  EXPECT_TRUE(link.has_dropped(active));
  EXPECT_TRUE(link.has_dropped(backup));
  EXPECT_EQ(link.core.next_deadline(), std::nullopt);
  link.unanswered(0);
  link.close(active);
  link.take(*link.core.set_addresses({"b:1"}, link.now));
  link.advance(24h);
  EXPECT_THAT(link.dials, SizeIs(dials));
  link.take(*link.core.replace_credentials(link.now));
  EXPECT_EQ(link.dials.back(), (Dial{link.last(), "b:1", 1}));
  EXPECT_EQ(link.bring_up(kReconnect), link.core.picked());
}

TEST(PickHealthyPlan, CredentialsThatAreOnlyToBeUsedEndAPauseToo) {
  Harness link;
  link.bring_up(kPickFirst);
  link.take(link.core.pause(link.now));

  use_credentials(link);

  EXPECT_EQ(link.dials.back().credentials, 1u);
  EXPECT_EQ(link.bring_up(kPickFirst), link.core.picked());
}

TEST(PickHealthyPlan, APauseBeforeTheStartDialsNobody) {
  PickHealthy core({}, {"lb:1"}, 1);
  const Time now{1h};

  EXPECT_THAT(core.pause(now), SizeIs(0));
  EXPECT_THAT(core.start(now), SizeIs(0));

  EXPECT_THAT(*core.replace_credentials(now), SizeIs(1)) << "the dial";
}

TEST(PickHealthyPlan, AGoodConnectionIsReplacedEveryInterval) {
  Harness link({.reconnect_interval = 1h});
  uint64_t active = link.bring_up(kPickFirst);

  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(link.until_next_dial(2h), pick_healthy_plan_between(1h, 66min));
    const uint64_t next = link.bring_up(kPickFirst);
    EXPECT_EQ(link.core.picked(), next);
    EXPECT_TRUE(link.has_dropped(active));
    EXPECT_EQ(link.core.children(), 1u);
    active = next;
  }
}

TEST(PickHealthyPlan, AnIntervalThatIsSetLaterBeginsAnywhereWithinIt) {
  std::set<Duration> waits;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Harness link({}, {"lb:1"}, seed);
    link.bring_up(kPickFirst);

    link.take(link.core.set_reconnect_interval(1h, link.now));

    waits.insert(link.until_next_dial(2h));
    EXPECT_EQ(link.bring_up(kPickFirst), link.core.picked());
    EXPECT_THAT(link.until_next_dial(2h), pick_healthy_plan_between(1h, 66min)) << "from then on";
  }
  EXPECT_LT(*waits.begin(), 20min) << "a crowd that is told at once does not come at once";
  EXPECT_THAT(*waits.rbegin(), pick_healthy_plan_between(40min, 1h));
}

TEST(PickHealthyPlan, AnIntervalThatIsToldAgainChangesNothing) {
  Harness link({.reconnect_interval = 1h});
  link.bring_up(kPickFirst);
  const auto due = link.core.next_deadline();
  link.advance(30min);

  link.take(link.core.set_reconnect_interval(1h, link.now));

  EXPECT_EQ(link.core.next_deadline(), due);
}

TEST(PickHealthyPlan, AnIntervalOfZeroEndsTheReconnects) {
  Harness link({.reconnect_interval = 1h});
  const uint64_t active = link.bring_up(kPickFirst);

  link.take(link.core.set_reconnect_interval(0s, link.now));
  link.advance(24h);

  EXPECT_EQ(link.core.picked(), active);
  EXPECT_THAT(link.dials, SizeIs(1));
}

TEST(PickHealthyPlan, AnIntervalThatIsSetBeforeThereIsAConnectionCountsFromIt) {
  Harness link;
  link.take(link.core.set_reconnect_interval(1h, link.now));
  link.advance(10s);

  link.bring_up(kPickFirst);

  EXPECT_THAT(link.until_next_dial(2h), pick_healthy_plan_between(1h, 66min));
}

TEST(PickHealthyPlan, AnAddressThatIsGoneIsLeftOnceAnotherIsReady) {
  Harness link({}, {"a:1"});
  const uint64_t old = link.bring_up(kPickFirst);

  link.take(*link.core.set_addresses({"b:1"}, link.now));

  EXPECT_EQ(link.core.picked(), old);
  EXPECT_EQ(link.dials.back().address, "b:1");
  EXPECT_EQ(link.bring_up(kPickFirst), link.core.picked());
}

TEST(PickHealthyPlan, AnAddressThatIsKeptKeepsItsConnection) {
  Harness link({}, {"a:1"});
  const uint64_t old = link.bring_up(kPickFirst);

  link.take(*link.core.set_addresses({"b:1", "a:1"}, link.now));
  link.advance(1h);

  EXPECT_EQ(link.core.picked(), old);
  EXPECT_THAT(link.dials, SizeIs(1));
}

TEST(PickHealthyPlan, NoAddressIsNoSetting) {
  Harness link;

  EXPECT_EQ(link.core.set_addresses({}, link.now).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace holdfast::rpc::pick
