#include "ingress/connection_limits.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::ingress {
namespace {

Slot::Limits limits() {
  return std::make_shared<ConnectionLimits>(IngressOptions{.max_connections = 4,
                                                           .max_connections_per_address = 3,
                                                           .max_waiting = 3,
                                                           .max_waiting_per_address = 2});
}

TEST(ConnectionLimits, HoldForAnAddressBeforeTheyHoldForAll) {
  const auto all = limits();
  std::vector<Slot> slots;
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
  Slot first(all, "a", true);
  Slot second(all, "a", true);
  EXPECT_STREQ(all->why_not("a", true), "address_waiting");
  Slot third(all, "b", true);
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
    Slot slot(all, "a", true);
    Slot moved(std::move(slot));
    Slot again;
    again = std::move(moved);
    EXPECT_EQ(all->open(), 1U);
    EXPECT_EQ(all->waiting(), 1U);
    again = Slot(all, "b", false);
    EXPECT_EQ(all->open(), 1U);
    EXPECT_EQ(all->waiting(), 0U);
  }
  EXPECT_EQ(all->open(), 0U);
  EXPECT_EQ(all->addresses(), 0U) << "an address that is gone costs nothing";
}

TEST(ConnectionLimits, APlaceIsKeptWhileManyOthersComeAndGo) {
  const auto all = std::make_shared<ConnectionLimits>(
      IngressOptions{.max_connections = 20'000, .max_connections_per_address = 2});
  Slot first(all, "first", true);
  {
    std::vector<Slot> others;
    for (int i = 0; i < 10'000; ++i) others.emplace_back(all, std::to_string(i), false);
    first.settle();
    EXPECT_EQ(all->waiting(), 0U);
  }
  EXPECT_EQ(all->addresses(), 1U);
  first = Slot();
  EXPECT_EQ(all->addresses(), 0U);
}

}  // namespace
}  // namespace holdfast::ingress
