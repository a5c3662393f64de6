#include "base/log.h"

#include <gtest/gtest.h>

namespace holdfast::log {
namespace {

TEST(Log, JsonLinesEscapeWhatPeersSend) {
  EXPECT_EQ(format_line(Format::Json, Level::Warn, "refused", {{"name", "a\"b\n"}, {"count", 3}}),
            R"("level":"warn","msg":"refused","name":"a\"b\u000a","count":"3")");
}

TEST(Log, LogfmtQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(
      format_line(Format::Logfmt, Level::Info, "opened", {{"agent", "edge-1"}, {"why", "a b"}}),
      "info  opened agent=edge-1 why=\"a b\"");
}

TEST(Log, InvalidUtf8NeverReachesTheLine) {
  EXPECT_EQ(format_line(Format::Json, Level::Info, "x", {{"name", "\xff"}}),
            R"("level":"info","msg":"x","name":"\\xff")");
}

TEST(Log, KnowsItsLevels) {
  Level level = Level::Info;

  EXPECT_TRUE(parse_level("debug", level));
  EXPECT_EQ(level, Level::Debug);
  EXPECT_FALSE(parse_level("loud", level));
}

}  // namespace
}  // namespace holdfast::log
