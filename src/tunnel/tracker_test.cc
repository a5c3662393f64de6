// How many tunnels an agent needs, and to whom.
#include "tunnel/tracker.h"

#include <gtest/gtest.h>

#include <utility>

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart{1h};

ProxyInfo tracked_proxy(const std::string& name, uint64_t generation = 0,
                        const std::string& group = "") {
  return {.name = name, .group = group, .generation = generation, .address = name + ":7444"};
}

class TrackerTest : public testing::Test {
 protected:
  void mention(std::initializer_list<const char*> names) {
    for (const char* name : names) EXPECT_TRUE(tracker_.mention(tracked_proxy(name), now_));
  }
  Lease claim(std::string_view name) {
    std::optional<Lease> lease = tracker_.try_lease();
    EXPECT_TRUE(lease.has_value()) << name;
    if (!lease) return {};
    EXPECT_TRUE(lease->claim(name));
    return std::move(*lease);
  }
  bool may_lease() { return tracker_.try_lease().has_value(); }

  Time now_ = kStart;
  Tracker tracker_{{.connection_count = 2}, kStart};
};

TEST_F(TrackerTest, AProxyExpiresATtlAfterItsLastMention) {
  ProxyInfo one = tracked_proxy("a");
  one.ttl = 10s;
  tracker_.mention(one, now_);
  tracker_.mention(one, now_ + 6s);

  EXPECT_EQ(tracker_.next_deadline(), now_ + 16s);
  EXPECT_TRUE(tracker_.expire(now_ + 15s).empty());
  const std::vector<TrackedProxy> expired = tracker_.expire(now_ + 16s);

  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired[0].info.address, "a:7444");
  EXPECT_FALSE(tracker_.is_desired("a"));
  EXPECT_EQ(tracker_.stats().expired, 1u);
  EXPECT_FALSE(tracker_.next_deadline());
}

TEST_F(TrackerTest, AMentionWithoutTtlHoldsThreeMinutes) {
  mention({"a"});

  EXPECT_EQ(tracker_.next_deadline(), now_ + 3min);
}

TEST_F(TrackerTest, ATtlLongerThanTheLimitIsCutToIt) {
  ProxyInfo one = tracked_proxy("a");
  one.ttl = 1'000h;
  tracker_.mention(one, now_);

  EXPECT_EQ(tracker_.next_deadline(), now_ + 1h);
}

TEST_F(TrackerTest, AMentionThatSaysLessKeepsWhatIsKnown) {
  ProxyInfo one = tracked_proxy("a");
  one.ttl = 10s;
  tracker_.mention(one, now_);

  tracker_.mention({.name = "a"}, now_ + 1s);

  EXPECT_EQ(tracker_.tracked().at("a").info.address, "a:7444");
  EXPECT_EQ(tracker_.next_deadline(), now_ + 11s);
}

TEST_F(TrackerTest, TheHighestGenerationOfEachGroupIsDesired) {
  tracker_.mention(tracked_proxy("a1", 1, "a"), now_);
  tracker_.mention(tracked_proxy("a2", 2, "a"), now_);
  tracker_.mention(tracked_proxy("a3", 2, "a"), now_);
  tracker_.mention(tracked_proxy("b1", 1, "b"), now_);
  mention({"none"});  // no group and no generation are a group and a generation too

  EXPECT_FALSE(tracker_.is_desired("a1"));
  for (const char* name : {"a2", "a3", "b1", "none"}) EXPECT_TRUE(tracker_.is_desired(name));
  EXPECT_EQ(tracker_.desired(), 4u);
}

TEST_F(TrackerTest, AnOldGenerationIsDesiredAgainWhenTheNewOneHasExpired) {
  tracker_.mention(tracked_proxy("old", 1), now_ + 1min);
  tracker_.mention(tracked_proxy("new", 2), now_);
  EXPECT_FALSE(tracker_.is_desired("old"));

  tracker_.expire(now_ + 3min);

  EXPECT_TRUE(tracker_.is_desired("old"));
}

TEST_F(TrackerTest, ADrainingProxyIsNotDesiredAndItsGenerationOutranksNobody) {
  tracker_.mention(tracked_proxy("old", 1), now_);
  ProxyInfo taken_back = tracked_proxy("new", 2);
  taken_back.draining = true;
  tracker_.mention(taken_back, now_);

  EXPECT_FALSE(tracker_.is_desired("new"));
  EXPECT_TRUE(tracker_.is_desired("old"));
}

TEST_F(TrackerTest, TheDesiredCountIsTheConnectionCountOrAsManyAsThereAre) {
  mention({"a"});
  EXPECT_EQ(tracker_.desired_count(), 1u);
  mention({"b", "c"});
  EXPECT_EQ(tracker_.desired_count(), 2u);

  tracker_.set_connection_count(0, now_);

  EXPECT_EQ(tracker_.desired_count(), 3u);
}

TEST_F(TrackerTest, ALeaseIsGivenWhileClaimsAndLeasesAreFewerThanDesired) {
  mention({"a", "b", "c"});

  const Lease claimed = claim("a");
  const std::optional<Lease> under_way = tracker_.try_lease();

  EXPECT_TRUE(under_way);
  EXPECT_EQ(tracker_.claimed_desired(), 1u);
  EXPECT_EQ(tracker_.inflight(), 1u);
  EXPECT_FALSE(tracker_.try_lease());
}

TEST_F(TrackerTest, WithNothingTrackedOneLeaseAtATimeIsGiven) {
  std::optional<Lease> first = tracker_.try_lease();
  EXPECT_TRUE(first);
  EXPECT_FALSE(tracker_.try_lease());

  EXPECT_TRUE(first->claim("found"));

  EXPECT_TRUE(may_lease());  // nobody is tracked: as good as stuck
}

TEST_F(TrackerTest, WithNothingClaimedOneLeaseAtATimeIsGivenEvenIfNobodyIsDesired) {
  ProxyInfo one = tracked_proxy("a");
  one.draining = true;
  tracker_.mention(one, now_);
  ASSERT_EQ(tracker_.desired_count(), 0u);

  const std::optional<Lease> lease = tracker_.try_lease();

  EXPECT_TRUE(lease);
  EXPECT_FALSE(may_lease());
}

TEST_F(TrackerTest, AnExpiredProxyNoLongerCountsSoAnotherIsDialled) {
  mention({"a", "b"});
  const Lease a = claim("a");
  const Lease b = claim("b");
  EXPECT_FALSE(may_lease());

  now_ += 1min;
  mention({"b", "c"});
  tracker_.expire(kStart + 3min);

  EXPECT_TRUE(tracker_.is_claimed("a"));
  EXPECT_EQ(tracker_.claimed_desired(), 1u);
  EXPECT_TRUE(may_lease());
}

TEST_F(TrackerTest, ANewerGenerationAllowsNewLeasesBeforeOldTunnelsAreGone) {
  tracker_.set_connection_count(1, now_);
  tracker_.mention(tracked_proxy("old", 1), now_);
  Lease old = claim("old");
  EXPECT_FALSE(may_lease());

  tracker_.mention(tracked_proxy("new", 2), now_);
  Lease fresh = claim("new");

  EXPECT_FALSE(may_lease());
  old.release();
  EXPECT_FALSE(may_lease()) << "an old one does not make room";
  fresh.release();
  EXPECT_TRUE(may_lease()) << "a current one does";
}

TEST_F(TrackerTest, ANoIsRememberedUntilSomethingChanges) {
  mention({"a", "b", "c"});
  Lease a = claim("a");
  const Lease b = claim("b");
  EXPECT_FALSE(may_lease());
  const uint64_t before = tracker_.stats().evaluations;

  for (int i = 0; i < 100; ++i) EXPECT_FALSE(may_lease());
  EXPECT_EQ(tracker_.stats().evaluations, before);

  const auto is_worked_out_anew = [&] {
    const uint64_t count = tracker_.stats().evaluations;
    may_lease();
    const bool anew = tracker_.stats().evaluations > count;
    may_lease();
    return anew;
  };
  mention({"b"});
  EXPECT_TRUE(is_worked_out_anew()) << "a mention";
  tracker_.set_connection_count(1, now_);
  EXPECT_TRUE(is_worked_out_anew()) << "the count";
  a.release();
  EXPECT_TRUE(is_worked_out_anew()) << "a release";
  tracker_.expire(now_ + 3min);
  EXPECT_TRUE(is_worked_out_anew()) << "expiry";
}

TEST_F(TrackerTest, AClaimIsExclusiveByName) {
  mention({"a", "b"});
  const Lease first = claim("a");
  std::optional<Lease> second = tracker_.try_lease();
  ASSERT_TRUE(second);

  EXPECT_FALSE(second->claim("a"));

  EXPECT_EQ(tracker_.claimed(), 1u);
  EXPECT_EQ(tracker_.inflight(), 1u) << "it may still claim another";
  EXPECT_EQ(tracker_.stats().already_claimed, 1u);
  EXPECT_TRUE(second->claim("b"));
  EXPECT_EQ(tracker_.inflight(), 0u);
}

TEST_F(TrackerTest, ReleasingTwiceIsReleasingOnce) {
  mention({"a", "b"});
  Lease a = claim("a");
  const Lease b = claim("b");

  a.release();
  const Lease again = claim("a");
  a.release();

  EXPECT_TRUE(tracker_.is_claimed("a"));
  EXPECT_EQ(tracker_.claimed(), 2u);
}

TEST_F(TrackerTest, ALeaseGivesBackWhatItHoldsWhicheverWayItEnds) {
  mention({"a", "b", "c"});
  {
    const std::optional<Lease> dropped = tracker_.try_lease();
    std::optional<Lease> moved_from = tracker_.try_lease();
    const Lease moved_to = std::move(*moved_from);
    EXPECT_EQ(tracker_.inflight(), 2u);
  }
  EXPECT_EQ(tracker_.inflight(), 0u);

  Lease overwritten = claim("a");
  overwritten = claim("b");
  EXPECT_FALSE(tracker_.is_claimed("a"));
  EXPECT_TRUE(tracker_.is_claimed("b"));
  overwritten = Lease();

  EXPECT_EQ(tracker_.claimed(), 0u);
}

TEST_F(TrackerTest, AProxyThatIsLeftNeitherCountsNorIsDesiredUntilTakenBackOrReleased) {
  mention({"a", "b", "c"});
  Lease a = claim("a");
  const Lease b = claim("b");

  tracker_.set_leaving("a", true);
  EXPECT_FALSE(tracker_.is_desired("a"));
  EXPECT_TRUE(may_lease()) << "for c";
  tracker_.set_leaving("a", false);
  EXPECT_FALSE(may_lease());

  tracker_.set_leaving("a", true);
  a.release();
  EXPECT_TRUE(tracker_.is_desired("a"));
}

TEST_F(TrackerTest, ChangesOfTopologyAreStampedAndNothingElseIs) {
  const auto stamped = [&](auto change) {
    now_ += 1s;
    change();
    return tracker_.last_topology_change() == now_;
  };
  EXPECT_TRUE(stamped([&] { mention({"a", "b"}); })) << "membership";
  EXPECT_FALSE(stamped([&] { mention({"a"}); })) << "heard again";
  EXPECT_TRUE(stamped([&] { tracker_.mention(tracked_proxy("a", 1), now_); })) << "generation";
  EXPECT_TRUE(stamped([&] { tracker_.mention(tracked_proxy("a", 1, "g"), now_); })) << "group";
  ProxyInfo draining = tracked_proxy("b");
  draining.draining = true;
  EXPECT_TRUE(stamped([&] { tracker_.mention(draining, now_); })) << "draining";
  EXPECT_TRUE(stamped([&] { tracker_.set_connection_count(5, now_); })) << "count";
  EXPECT_FALSE(stamped([&] { tracker_.set_connection_count(5, now_); })) << "the same count";
  EXPECT_FALSE(stamped([&] { may_lease(); })) << "leases";
  EXPECT_FALSE(stamped([&] { tracker_.expire(now_); })) << "nobody expired";
  now_ += 3min;
  EXPECT_TRUE(stamped([&] { tracker_.expire(now_); })) << "expiry";
}

TEST_F(TrackerTest, MoreProxiesThanTheLimitAreIgnoredAndCounted) {
  Tracker small({.max_proxies = 2}, now_);

  EXPECT_TRUE(small.mention(tracked_proxy("a"), now_));
  EXPECT_TRUE(small.mention(tracked_proxy("b"), now_));
  EXPECT_FALSE(small.mention(tracked_proxy("c"), now_));
  EXPECT_TRUE(small.mention(tracked_proxy("a"), now_)) << "known already";

  EXPECT_EQ(small.tracked().size(), 2u);
  EXPECT_EQ(small.stats().ignored_full, 1u);
}

TEST_F(TrackerTest, NamesThatAreEmptyOrTooLongAreIgnoredAndCounted) {
  EXPECT_FALSE(tracker_.mention(tracked_proxy(""), now_));
  EXPECT_FALSE(tracker_.mention(tracked_proxy(std::string(257, 'x')), now_));
  ProxyInfo far = tracked_proxy("a");
  far.address = std::string(257, 'x');
  EXPECT_FALSE(tracker_.mention(far, now_));

  EXPECT_TRUE(tracker_.tracked().empty());
  EXPECT_EQ(tracker_.stats().ignored_bad, 3u);
}

TEST_F(TrackerTest, AnEmptyListChangesNothing) {
  mention({"a"});
  const Time before = tracker_.last_topology_change();

  mention({});

  EXPECT_EQ(tracker_.tracked().size(), 1u);
  EXPECT_EQ(tracker_.last_topology_change(), before);
}

}  // namespace
}  // namespace holdfast::tunnel
