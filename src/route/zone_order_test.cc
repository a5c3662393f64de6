#include "route/zone_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::route {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kListed{"a", "b", "c", "d"};

TEST(ZoneOrderTest, TheOwnZoneGoesFirstThenThoseThatFollowItInTheList) {
  EXPECT_THAT(zone_order("a", kListed, {"d", "c", "b", "a"}), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(zone_order("c", kListed, {"a", "b", "c", "d"}), ElementsAre("c", "d", "a", "b"));
}

TEST(ZoneOrderTest, OnlyZonesThatCarryTheServiceAreListed) {
  EXPECT_THAT(zone_order("b", kListed, {"a", "d"}), ElementsAre("d", "a"));
  EXPECT_THAT(zone_order("b", kListed, {}), IsEmpty());
}

TEST(ZoneOrderTest, ZonesThatAreNotListedComeLastByName) {
  EXPECT_THAT(zone_order("b", kListed, {"z", "x", "a"}), ElementsAre("a", "x", "z"));
  EXPECT_THAT(zone_order("y", kListed, {"x", "b", "y", "a"}), ElementsAre("y", "a", "b", "x"));
  EXPECT_THAT(zone_order("y", {}, {"x", "y", "w"}), ElementsAre("y", "w", "x"));
}

TEST(ZoneOrderTest, AZoneThatIsNamedTwiceIsListedOnce) {
  EXPECT_THAT(zone_order("a", kListed, {"b", "a", "b"}), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace holdfast::route
