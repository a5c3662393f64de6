#include "cli/table.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(Table, ColumnsLineUpByCharacterAndEmptyCellsShow) {
  EXPECT_EQ(render_table({"NAME", "ZONE"}, {{"é", "a"}, {"edge-07", ""}}),
            "NAME      ZONE\n"
            "é         a\n"
            "edge-07   -\n");
}

TEST(Table, LaterRowsKeepTheColumns) {
  Table table({"NAME", "ZONE"});
  EXPECT_EQ(table.begin({{"edge-07", "a"}}), "NAME      ZONE\nedge-07   a\n");
  EXPECT_EQ(table.more({"e", "b"}), "e         b\n");
  EXPECT_EQ(table.more({"edge-0007", "b"}), "edge-0007   b\n");
  EXPECT_EQ(table.more({"e", ""}), "e           -\n");
}

TEST(Table, OnlyTheLastColumnIsEverWhole) {
  const std::string text(300, 'x');
  const std::string cut = std::string(80, 'x') + "…";

  EXPECT_EQ(render_table({"NAME"}, {{text}}), "NAME\n" + cut + "\n");
  EXPECT_EQ(render_table({"NAME"}, {{text}}, LastColumn::Whole), "NAME\n" + text + "\n");
  EXPECT_TRUE(render_table({"A", "B"}, {{text, text}}, LastColumn::Whole)
                  .ends_with(cut + "   " + text + "\n"));
}

TEST(Table, ControlCharactersNeverReachTheTerminal) {
  EXPECT_EQ(render_table({"NAME"}, {{"a\x1b[31m"}}), "NAME\na\\x1b[31m\n");
}

}  // namespace
}  // namespace holdfast::cli
