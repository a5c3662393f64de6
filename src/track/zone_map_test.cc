#include "track/zone_map.h"

#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::track {
namespace {

std::string refusal(const std::vector<std::pair<std::string, int>>& listed) {
  const auto made = ZoneMap::make(listed);
  if (made.ok()) return "accepted";
  EXPECT_EQ(split_reason(made.status()).code, "HF8111");
  return std::string(split_reason(made.status()).message);
}

TEST(ZoneMap, NamesAndNumbersAreFoundBothWays) {
  const auto map = ZoneMap::make({{"eu-a", 1}, {"eu-b", 254}});

  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->id("eu-b"), 254);
  EXPECT_EQ(map->name(1), "eu-a");
  EXPECT_EQ(map->id("us-a"), kUnlistedZone);
  EXPECT_EQ(map->name(0), "");
}

TEST(ZoneMap, NumbersOutsideOneTo254AreErrors) {
  EXPECT_EQ(refusal({{"a", 0}}), "zone \"a\" has number 0; numbers are 1 to 254");
  EXPECT_EQ(refusal({{"a", 255}}), "zone \"a\" has number 255; numbers are 1 to 254");
  EXPECT_EQ(refusal({{"a", -1}}), "zone \"a\" has number -1; numbers are 1 to 254");
}

TEST(ZoneMap, TwoNamesOnOneNumberOrOneNameWithTwoAreErrors) {
  EXPECT_EQ(refusal({{"a", 1}, {"b", 1}}), "zones \"a\" and \"b\" both have number 1");
  EXPECT_EQ(refusal({{"a", 1}, {"a", 2}}), "zone \"a\" is listed twice");
  EXPECT_EQ(refusal({{"", 3}}), "the zone with number 3 has no name");
}

}  // namespace
}  // namespace holdfast::track
