#include "cache/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// What a listing says it goes up to, and is asked for again with, travels as text.
TEST(Coverage, TheEndOfAGapIsText) {
  for (const std::string first : {"k", "k-", "a0", "\xc3\xa9t\xc3\xa9", "k\xf0\x9f\x98\x80"}) {
    Coverage pages;
    pages.add("a", "a", 5, /*exact=*/false);
    pages.add_last(first, 9);

    const Coverage::Range gap = pages.range_after("a");

    EXPECT_EQ(gap.revision, 5);
    EXPECT_LT(gap.up_to, first);
    EXPECT_TRUE(std::ranges::all_of(gap.up_to, [](unsigned char c) { return c < 0x80; })) << first;
    EXPECT_EQ(pages.range_after(gap.up_to).up_to, "") << "the next page is another one";
    EXPECT_EQ(pages.at(first), 9);
  }
}

TEST(Coverage, WithoutPagesNothingIsKnown) {
  EXPECT_EQ(Coverage().at("a"), 0);
}

}  // namespace
}  // namespace holdfast::cache
