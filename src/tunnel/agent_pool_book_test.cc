// Where an agent could dial, and what it remembers of each place.
#include "tunnel/agent_pool_book.h"

#include <gmock/gmock.h>

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr Time kNow{1h};

ProxyInfo proxy(const std::string& name, uint64_t generation = 0) {
  return {.name = name, .generation = generation, .address = name + ":1"};
}

class ProxyBookTest : public testing::Test {
 protected:
  std::vector<std::string> addresses(bool last_resort, Time now = kNow) {
    std::vector<std::string> found;
    for (const Place& place : book_.places(tracker_, last_resort, now)) {
      found.push_back(place.address);
    }
    return found;
  }
  Place place(Time now) { return book_.places(tracker_, false, now).at(0); }

  Tracker tracker_{{}, kNow};
  ProxyBook book_{{.max_remembered = 2, .max_bootstrap = 2, .max_records = 3}};
};

TEST_F(ProxyBookTest, DesiredProxiesThatNobodyHasClaimedArePlaces) {
  for (const char* name : {"a", "b", "c"}) tracker_.mention(proxy(name), kNow);
  std::optional<Lease> lease = tracker_.try_lease();
  ASSERT_TRUE(lease && lease->claim("b"));

  EXPECT_THAT(addresses(false), ElementsAre("a:1", "c:1"));
}

TEST_F(ProxyBookTest, TheOthersAreALastResort) {
  tracker_.mention(proxy("new", 2), kNow);
  tracker_.mention(proxy("old", 1), kNow);
  book_.remember(proxy("gone"), kNow);
  book_.set_bootstrap({"lb:1"});

  EXPECT_THAT(addresses(false), ElementsAre("new:1"));
  EXPECT_THAT(addresses(true), UnorderedElementsAre("new:1", "old:1", "gone:1", "lb:1"));
}

TEST_F(ProxyBookTest, AProxyWithoutAnAddressIsNoPlace) {
  tracker_.mention({.name = "a"}, kNow);

  EXPECT_THAT(addresses(true), IsEmpty());
}

TEST_F(ProxyBookTest, AnAddressOfAKnownProxyIsNotListedTwice) {
  tracker_.mention(proxy("a"), kNow);
  book_.remember(proxy("b"), kNow);
  book_.set_bootstrap({"a:1", "b:1"});

  EXPECT_THAT(addresses(true), UnorderedElementsAre("a:1", "b:1"));
}

TEST_F(ProxyBookTest, ConfiguredAddressesAreBoundedAndSingle) {
  book_.set_bootstrap({"x:1", "", "x:1", "y:1", "z:1"});

  EXPECT_THAT(addresses(true), ElementsAre("x:1", "y:1"));
  EXPECT_EQ(book_.ignored_bootstrap(), 1u);
}

TEST_F(ProxyBookTest, WhoExpiredFirstIsForgottenFirst) {
  book_.remember(proxy("a"), kNow + 1s);
  book_.remember(proxy("b"), kNow);
  book_.remember(proxy("c"), kNow + 2s);

  EXPECT_THAT(addresses(true), UnorderedElementsAre("a:1", "c:1"));
  book_.forget("a");
  EXPECT_EQ(book_.remembered(), 1u);
}

TEST_F(ProxyBookTest, FailuresCountUntilThereWasNoneForAWhile) {
  tracker_.mention(proxy("a"), kNow);
  book_.failed("a", kNow);
  book_.failed("a", kNow + 20s);

  EXPECT_EQ(place(kNow + 51s).failures, 2u);
  EXPECT_EQ(place(kNow + 52s).failures, 0u);
  book_.failed("a", kNow + 60s);
  EXPECT_EQ(place(kNow + 61s).failures, 1u);
}

TEST_F(ProxyBookTest, WhatLedToAProxyOfOursIsLeftAloneUnlessThereIsNothingElse) {
  tracker_.mention(proxy("a"), kNow);
  book_.led_to_ours("a", kNow + 20s, kNow);

  EXPECT_EQ(place(kNow).not_before, kNow + 20s);
  EXPECT_LE(book_.places(tracker_, true, kNow).at(0).not_before, kNow);
}

TEST_F(ProxyBookTest, OutcomesAreBounded) {
  tracker_.mention(proxy("a"), kNow);
  book_.failed("a", kNow);
  for (int i = 1; i <= 3; ++i) book_.failed("x" + std::to_string(i), kNow + i * 1s);

  EXPECT_EQ(place(kNow + 4s).failures, 0u) << "the oldest was forgotten";
}

}  // namespace
}  // namespace holdfast::tunnel
