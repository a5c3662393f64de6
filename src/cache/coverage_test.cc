#include "cache/coverage.h"

#include <gtest/gtest.h>

namespace holdfast::cache {
namespace {

TEST(Coverage, APageTellsOfAllNamesUpToWhereItLooked) {
  Coverage pages;
  pages.add("b", "e", 5, /*exact=*/true);
  pages.add_last("k", 9);

  EXPECT_EQ(pages.at("a"), 5);
  EXPECT_EQ(pages.at("e"), 5);
  EXPECT_EQ(pages.at("e0"), 9);
  EXPECT_EQ(pages.at("zzz"), 9);
}

TEST(Coverage, BetweenPagesThatDoNotSayUpToWhereTheOlderOneCounts) {
  Coverage pages;
  pages.add("b", "e", 5, /*exact=*/false);
  pages.add("k", "m", 9, /*exact=*/false);
  pages.add_last("q", 7);

  EXPECT_EQ(pages.at("a"), 5);
  EXPECT_EQ(pages.at("f"), 5);
  EXPECT_EQ(pages.at("jzzz"), 5);
  EXPECT_EQ(pages.at("k"), 9);
  EXPECT_EQ(pages.at("p"), 7);
  EXPECT_EQ(pages.at("q"), 7);
}

TEST(Coverage, AnEmptyPageThatSaysNothingCountsIfItIsOlder) {
  Coverage pages;
  pages.add_empty(4);
  pages.add("k", "m", 9, /*exact=*/false);
  pages.add_empty(6);
  pages.add_last("", 9);

  EXPECT_EQ(pages.at("a"), 4);
  EXPECT_EQ(pages.at("l"), 9);
  EXPECT_EQ(pages.at("z"), 6);
  EXPECT_EQ(pages.newest(), 9);
}

TEST(Coverage, TellsUpToWhereNamesShareARevision) {
  Coverage pages;
  pages.add("b", "e", 5, /*exact=*/true);
  pages.add_last("k", 9);

  EXPECT_EQ(pages.range_after("").up_to, "e");
  EXPECT_EQ(pages.range_after("").revision, 5);
  EXPECT_EQ(pages.range_after("e").up_to, "");
  EXPECT_EQ(pages.range_after("e").revision, 9);
}

TEST(Coverage, WithoutPagesNothingIsKnown) {
  EXPECT_EQ(Coverage().at("a"), 0);
}

}  // namespace
}  // namespace holdfast::cache
