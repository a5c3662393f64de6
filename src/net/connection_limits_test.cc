#include "net/connection_limits.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::net {
namespace {

ConnectionSlot::Limits limits() {
  return std::make_shared<ConnectionLimits>(ConnectionBounds{.max_connections = 4,
                                                             .max_connections_per_address = 3,
                                                             .max_waiting = 3,
                                                             .max_waiting_per_address = 2});
}

TEST(ConnectionLimits, HoldForAnAddressBeforeTheyHoldForAll) {
  const auto all = limits();
  std::vector<ConnectionSlot> slots;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(all->why_not("a", false), nullptr);
    slots.emplace_back(all, "a", false);
  }
  EXPECT_STREQ(all->why_not("a", false), "address");
  EXPECT_EQ(all->why_not("b", false), nullptr);
  slots.emplace_back(all, "b", false);
  EXPECT_STREQ(all->why_not("c", false), "connections");
}

TEST(ConnectionLimits, WhoHasSaidWhatItWantsWaitsNoMore) {
  const auto all = limits();
  ConnectionSlot first(all, "a", true);
  ConnectionSlot second(all, "a", true);
  EXPECT_STREQ(all->why_not("a", true), "address_waiting");
  ConnectionSlot third(all, "b", true);
  EXPECT_STREQ(all->why_not("c", true), "waiting");
  EXPECT_EQ(all->why_not("c", false), nullptr);

  first.settle();
  first.settle();

  EXPECT_EQ(all->waiting(), 2U);
  EXPECT_EQ(all->why_not("a", true), nullptr);
}

TEST(ConnectionLimits, APlaceIsGivenBackOnceHoweverOftenItMoved) {
  const auto all = limits();
  {
    ConnectionSlot slot(all, "a", true);
    ConnectionSlot moved(std::move(slot));
    ConnectionSlot again;
    again = std::move(moved);
    EXPECT_EQ(all->open(), 1U);
    EXPECT_EQ(all->waiting(), 1U);
    again = ConnectionSlot(all, "b", false);
    EXPECT_EQ(all->open(), 1U);
    EXPECT_EQ(all->waiting(), 0U);
  }
  EXPECT_EQ(all->open(), 0U);
  EXPECT_EQ(all->addresses(), 0U) << "an address that is gone costs nothing";
}

TEST(ConnectionLimits, APlaceIsKeptWhileManyOthersComeAndGo) {
  const auto all = std::make_shared<ConnectionLimits>(
      ConnectionBounds{.max_connections = 20'000, .max_connections_per_address = 2});
  ConnectionSlot first(all, "first", true);
  {
    std::vector<ConnectionSlot> others;
    for (int i = 0; i < 10'000; ++i) others.emplace_back(all, std::to_string(i), false);
    first.settle();
    EXPECT_EQ(all->waiting(), 0U);
  }
  EXPECT_EQ(all->addresses(), 1U);
  first = ConnectionSlot();
  EXPECT_EQ(all->addresses(), 0U);
}

}  // namespace
}  // namespace holdfast::net
