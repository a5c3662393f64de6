#include "cli/console.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

constexpr Surroundings kTerminal{.terminal = true, .utf8 = true};

TEST(Console, SignsAndColourAreForTerminals) {
  const Console console(Colour::Auto, false, kTerminal);

  EXPECT_EQ(console.sign(Verdict::Passed), "\x1b[32m√\x1b[0m");
  EXPECT_EQ(console.sign(Verdict::Warning), "\x1b[33m‼\x1b[0m");
  EXPECT_EQ(console.sign(Verdict::Failed), "\x1b[31m×\x1b[0m");
}

TEST(Console, IntoAPipeThereAreWordsWithoutColour) {
  const Console console(Colour::Auto, false, {.utf8 = true});

  EXPECT_EQ(console.sign(Verdict::Passed), "ok  ");
  EXPECT_EQ(console.sign(Verdict::Warning), "warn");
  EXPECT_EQ(console.sign(Verdict::Failed), "FAIL");
  EXPECT_EQ(console.painted(Verdict::Failed, "text"), "text");
}

TEST(Console, NoColourMeansSignsWithoutColour) {
  Surroundings around = kTerminal;
  around.no_colour = true;

  EXPECT_EQ(Console(Colour::Auto, false, around).sign(Verdict::Passed), "√");
  EXPECT_EQ(Console(Colour::Never, false, kTerminal).sign(Verdict::Passed), "√");
  EXPECT_EQ(Console(Colour::Always, false, around).sign(Verdict::Passed), "\x1b[32m√\x1b[0m");
}

TEST(Console, WhatGoesIntoAPipeIsNotCut) {
  EXPECT_EQ(Console(Colour::Always, false, {}).last_column(), LastColumn::Whole);
  EXPECT_EQ(Console(Colour::Never, false, kTerminal).last_column(), LastColumn::Cut);
}

TEST(Console, ALocaleWithoutUnicodeGetsWords) {
  EXPECT_EQ(Console(Colour::Never, false, {.terminal = true}).sign(Verdict::Failed), "FAIL");
  EXPECT_TRUE(is_utf8_locale("de_DE.UTF-8"));
  EXPECT_TRUE(is_utf8_locale("C.utf8"));
  EXPECT_FALSE(is_utf8_locale("C"));
  EXPECT_FALSE(is_utf8_locale(""));
  EXPECT_FALSE(is_utf8_locale("de_DE.ISO-8859-1"));
}

}  // namespace
}  // namespace holdfast::cli
