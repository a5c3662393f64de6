#include "cli/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/keys.h"

namespace holdfast::cli {
namespace {

using testing::HasSubstr;

TEST(ManPage, TextIsPrintedAsItIs) {
  EXPECT_EQ(roff_text("a-b\\c\n.x\n'y.z'"), "a\\-b\\ec\n\\&.x\n\\&'y.z'");
}

TEST(ManPage, HasEveryCommandAndOption) {
  const CommandOption file = {.names = {"-f", "--file"},
                              .value = "FILE",
                              .help = "what to read",
                              .choices = {},
                              .environment = "HOLDFAST_FILE"};
  const CommandTree tree = {.name = "tool",
                            .summary = "tool does things.",
                            .details = "Exit status: 0 ok.",
                            .subcommands = {{.name = "config",
                                             .summary = "look",
                                             .subcommands = {{.name = "validate",
                                                              .summary = "say what is wrong",
                                                              .options = {file}}}}}};

  const std::string page =
      command_page(tree, {.section = 8, .version = "1.2", .see_also = "other(1)"});

  EXPECT_THAT(page, HasSubstr(".TH TOOL 8 \"\" \"holdfast 1.2\""));
  EXPECT_THAT(page, HasSubstr(".SH NAME\ntool \\- does things\n"));
  EXPECT_THAT(page, HasSubstr(".SS tool config validate\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-f\\fR, \\fB\\-\\-file\\fR \\fIFILE\\fR\nwhat to read\n"));
  EXPECT_THAT(page, HasSubstr("Also from \\fBHOLDFAST_FILE\\fR."));
  EXPECT_THAT(page, HasSubstr("Exit status: 0 ok."));
  EXPECT_THAT(page, HasSubstr(".SH SEE ALSO\nother(1)\n"));
}

TEST(ManPage, OfTheConfigurationHasEveryKey) {
  const std::string page = config_page("1.2");

  for (const config::Key& key : config::keys()) {
    EXPECT_THAT(page, HasSubstr("\\fB" + roff_text(key.path) + "\\fR (")) << key.path;
  }
  EXPECT_THAT(page, HasSubstr("Variable: HOLDFAST_CONTROLLER_HTTP_LISTEN.\n"));
}

}  // namespace
}  // namespace holdfast::cli
