#include "node/identity_keeper.h"

#include <gtest/gtest.h>

namespace holdfast::node {
namespace {

using namespace std::chrono_literals;
using Action = IdentityKeeper::Action;

constexpr WallTime kStart(std::chrono::milliseconds(1'700'000'000'000));
constexpr identity::Validity kDay{.not_before = kStart - 5min, .not_after = kStart + 24h};

class IdentityKeeperTest : public testing::Test {
 protected:
  IdentityKeeperTest() {
    keeper_.hold(kDay, kStart);
    keeper_.set_present(true);
  }
  // Until it wants to renew.
  WallTime renewal() {
    const WallTime due = keeper_.next_deadline().value();
    EXPECT_EQ(keeper_.on_tick(due - 1ms), Action::None);
    EXPECT_EQ(keeper_.on_tick(due), Action::Renew);
    return due;
  }

  IdentityKeeper keeper_{{}, 1};
};

TEST_F(IdentityKeeperTest, RenewsByTwoThirdsOfTheLifeAndNotAllAtOnce) {
  std::set<WallTime> times;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    IdentityKeeper keeper({}, seed);
    keeper.hold(kDay, kStart);
    keeper.set_present(true);
    const WallTime due = keeper.next_deadline().value();
    EXPECT_LE(due, kStart + 16h);
    EXPECT_GT(due, kStart + 16h - 145min);
    times.insert(due);
  }
  EXPECT_GT(times.size(), 15U);
}

TEST_F(IdentityKeeperTest, OfACertificateReadFromDiskTheLifeBeginsWithItsValidity) {
  keeper_.hold(kDay, WallTime());
  const WallTime due = keeper_.next_deadline().value();
  EXPECT_LE(due, kStart - 5min + (24h + 5min) * 2 / 3);
  EXPECT_GT(due, kStart + 13h);
}

TEST_F(IdentityKeeperTest, TheValidityBeforeItWasReceivedIsNotPartOfTheLife) {
  keeper_.hold({.not_before = kStart - 5min, .not_after = kStart + 8s}, kStart);

  EXPECT_GT(keeper_.next_deadline().value(), kStart + 4s);
  EXPECT_LE(keeper_.next_deadline().value(), kStart + 5334ms);
}

TEST_F(IdentityKeeperTest, AsksOnceAndWaitsForTheOutcome) {
  const WallTime due = renewal();

  EXPECT_EQ(keeper_.on_tick(due + 1h), Action::None);
  keeper_.hold({.not_before = due - 5min, .not_after = due + 24h}, due);

  EXPECT_EQ(keeper_.on_tick(due + 1h), Action::None);
  EXPECT_GT(keeper_.next_deadline().value(), due + 13h);
}

TEST_F(IdentityKeeperTest, RenewsAtOnceWhenTold) {
  keeper_.told_to_renew(kStart + 1min);

  EXPECT_EQ(keeper_.on_tick(kStart + 1min), Action::Renew);
}

TEST_F(IdentityKeeperTest, WaitsUntilAnAnnouncementWasTaken) {
  keeper_.set_present(false);
  keeper_.told_to_renew(kStart);
  EXPECT_EQ(keeper_.on_tick(kStart + 20h), Action::None);
  EXPECT_EQ(keeper_.next_deadline(), kStart + 24h);

  keeper_.set_present(true);

  EXPECT_EQ(keeper_.on_tick(kStart + 20h), Action::Renew);
}

TEST_F(IdentityKeeperTest, TriesAgainLaterAndLaterUpToALimit) {
  WallTime now = renewal();
  Duration longest{0};
  for (int i = 0; i < 20; ++i) {
    keeper_.failed(now);
    const WallTime next = keeper_.next_deadline().value();
    EXPECT_GE(next, now + 500ms);
    longest = std::max<Duration>(longest, next - now);
    EXPECT_EQ(keeper_.on_tick(next), Action::Renew);
    now = next;
  }
  EXPECT_GT(longest, 2min);
  EXPECT_LE(longest, 5min);
}

TEST_F(IdentityKeeperTest, BeingToldAgainDoesNotCutABackoff) {
  const WallTime due = renewal();
  keeper_.failed(due);

  keeper_.told_to_renew(due);

  EXPECT_EQ(keeper_.on_tick(due + 400ms), Action::None);
}

TEST_F(IdentityKeeperTest, NeverGivesUpBeforeTheEndAndThenSaysSoOnce) {
  WallTime now = renewal();
  int tries = 1;
  int late_tries = 0;
  for (;;) {
    keeper_.failed(now);
    now = keeper_.next_deadline().value();
    const Action action = keeper_.on_tick(now);
    if (action == Action::Expired) break;
    ASSERT_EQ(action, Action::Renew);
    tries += 1;
    late_tries += now > kStart + 24h - 1min ? 1 : 0;
    ASSERT_LT(tries, 10'000);
  }
  EXPECT_EQ(now, kStart + 24h);
  EXPECT_GT(tries, 50);
  EXPECT_GT(late_tries, 10);

  EXPECT_EQ(keeper_.on_tick(now), Action::None);
  EXPECT_EQ(keeper_.on_tick(now + 24h), Action::None);
  EXPECT_FALSE(keeper_.next_deadline());
}

TEST_F(IdentityKeeperTest, ExpiresEvenWhileItWaitsForAnAnswer) {
  renewal();

  EXPECT_EQ(keeper_.next_deadline(), kStart + 24h);
  EXPECT_EQ(keeper_.on_tick(kStart + 24h), Action::Expired);
  EXPECT_TRUE(keeper_.expired());
}

TEST_F(IdentityKeeperTest, AnotherIdentityEndsTheExpiry) {
  keeper_.on_tick(kStart + 25h);

  keeper_.hold({.not_before = kStart + 30h, .not_after = kStart + 54h}, kStart + 30h);

  EXPECT_FALSE(keeper_.expired());
  EXPECT_EQ(keeper_.on_tick(kStart + 30h), Action::None);
  EXPECT_EQ(keeper_.on_tick(kStart + 54h), Action::Expired) << "said once for each";
}

}  // namespace
}  // namespace holdfast::node
