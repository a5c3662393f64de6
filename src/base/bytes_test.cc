#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>

namespace holdfast {
namespace {

TEST(Bytes, AcceptsEveryLengthOfUtf8) {
  EXPECT_FALSE(first_invalid_utf8("plain é € 😀"));
  EXPECT_FALSE(first_invalid_utf8(""));
}

TEST(Bytes, FindsTheFirstInvalidByte) {
  EXPECT_EQ(first_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(first_invalid_utf8("a\xc0\x80"), 1u);         // overlong NUL
  EXPECT_EQ(first_invalid_utf8("\xed\xa0\x80"), 0u);      // surrogate
  EXPECT_EQ(first_invalid_utf8("x\xe2\x82"), 1u);         // cut short
  EXPECT_EQ(first_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
}

TEST(Bytes, QuotedIsSafeToPrint) {
  EXPECT_EQ(in_quotes("web"), "\"web\"");
  EXPECT_EQ(in_quotes("a\nb\"c"), "\"a\\x0ab\\\"c\"");
  EXPECT_EQ(in_quotes(std::string_view("n\0l", 3)), "\"n\\x00l\"");
  EXPECT_EQ(in_quotes("\xff"), "\"\\xff\"");
  EXPECT_EQ(in_quotes("abcdef", 3), "\"abc…\"");
}

TEST(Bytes, SuggestsOnlyWhatIsClose) {
  constexpr std::array<std::string_view, 3> kKeys = {"zone", "name", "listen"};

  EXPECT_EQ(did_you_mean("zonee", kKeys), "zone");
  EXPECT_EQ(did_you_mean("lisen", kKeys), "listen");
  EXPECT_EQ(did_you_mean("something", kKeys), std::nullopt);
  EXPECT_EQ(did_you_mean(std::string(1000, 'z'), kKeys), std::nullopt);
}

TEST(Bytes, TakesSwappedNeighboursForOneMistake) {
  constexpr std::array<std::string_view, 3> kKeys = {"ports", "virtual_ip", "name"};

  EXPECT_EQ(did_you_mean("prots", kKeys), "ports");
  EXPECT_EQ(did_you_mean("opts", kKeys), std::nullopt) << "a swap and a letter are two mistakes";
  EXPECT_EQ(did_you_mean("port", kKeys), "ports");
  EXPECT_EQ(did_you_mean("virtaul_ip", kKeys), "virtual_ip");
  EXPECT_EQ(did_you_mean("nmae", kKeys), "name");
  EXPECT_EQ(did_you_mean("mnea", kKeys), std::nullopt);
  EXPECT_EQ(did_you_mean("zone", kKeys), std::nullopt);
  EXPECT_EQ(did_you_mean("", kKeys), std::nullopt);
}

}  // namespace
}  // namespace holdfast
