#include "tunnel/place_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::tunnel {
namespace {

using testing::UnorderedElementsAre;

TEST(PlaceLine, WhoCameFirstGoesFirst) {
  PlaceLine line({});
  const auto one = line.join("web");
  const auto two = line.join("web");
  const auto three = line.join("web");

  EXPECT_TRUE(line.is_first(*one));
  EXPECT_FALSE(line.is_first(*two));
  line.leave(*two);
  line.leave(*one);

  EXPECT_EQ(line.first("web"), three);
  EXPECT_EQ(line.waiting(), 1U);
}

TEST(PlaceLine, ServicesHaveLinesOfTheirOwn) {
  PlaceLine line({});
  const auto web = line.join("web");
  const auto db = line.join("db");
  line.join("db");

  EXPECT_TRUE(line.is_first(*db));
  EXPECT_THAT(line.firsts(), UnorderedElementsAre(*web, *db));
  EXPECT_EQ(line.waiting("db"), 2U);
  line.leave(*web);
  EXPECT_TRUE(line.is_empty("web"));
  EXPECT_EQ(line.waiting("web"), 0U);
  EXPECT_EQ(line.first("web"), std::nullopt);
}

TEST(PlaceLine, WhoComesToAFullLineIsRefusedAndCounted) {
  PlaceLine line({.most_per_service = 2, .most = 3});
  const auto first = line.join("web");
  EXPECT_TRUE(line.join("web"));
  EXPECT_FALSE(line.join("web"));
  EXPECT_TRUE(line.join("db"));
  EXPECT_FALSE(line.join("mail"));
  EXPECT_TRUE(line.is_empty("mail"));

  line.leave(*first);

  EXPECT_TRUE(line.join("web"));
  EXPECT_EQ(line.stats().joined, 4U);
  EXPECT_EQ(line.stats().refused, 2U);
}

}  // namespace
}  // namespace holdfast::tunnel
