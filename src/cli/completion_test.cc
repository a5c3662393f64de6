#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CommandTree sample() {
  const CommandOption output = {.names = {"-o", "--output"},
                                .value = "OUTPUT",
                                .help = "how to print\nmore",
                                .choices = {"table", "json"},
                                .environment = ""};
  const CommandOption file = {
      .names = {"-f", "--file"}, .value = "FILE", .help = "", .choices = {}, .environment = ""};
  const CommandOption kind = {
      .names = {}, .value = "KIND", .help = "", .choices = {}, .environment = ""};
  const CommandOption name = {
      .names = {}, .value = "NAME", .help = "", .choices = {}, .environment = "", .repeats = true};
  CommandTree get{.name = "get", .summary = "show", .options = {output}, .arguments = {kind, name}};
  CommandTree validate{.name = "validate", .summary = "", .options = {file}};
  CommandTree config{.name = "config", .summary = "look", .subcommands = {validate}};
  const CommandOption server = {.names = {"--server"},
                                .value = "SERVER",
                                .help = "whom to ask",
                                .choices = {},
                                .environment = "HOLDFAST_SERVER"};
  const CommandOption quiet = {.names = {"--quiet"}, .help = ""};
  return {
      .name = "holdfast", .summary = "", .options = {server, quiet}, .subcommands = {get, config}};
}

Candidates at(const std::vector<std::string>& words) {
  const std::vector<std::string> kinds = {"service", "services", "agent"};
  return complete(sample(), words, kinds);
}

std::vector<std::string> words_at(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const Candidates::Word& word : at(words).words) out.push_back(word.text);
  return out;
}

TEST(Completion, OffersCommands) {
  EXPECT_THAT(words_at({""}), ElementsAre("get", "config"));
  EXPECT_THAT(words_at({"g"}), ElementsAre("get"));
  EXPECT_THAT(words_at({"config", ""}), ElementsAre("validate"));
  EXPECT_THAT(words_at({"x"}), IsEmpty());
  EXPECT_THAT(words_at({}), ElementsAre("get", "config"));
}

TEST(Completion, OffersTheOptionsOfTheCommandAndOfItsParents) {
  EXPECT_THAT(words_at({"get", "-"}), ElementsAre("--server", "--quiet", "-o", "--output"));
  EXPECT_THAT(words_at({"get", "--o"}), ElementsAre("--output"));
  EXPECT_EQ(at({"get", "--o"}).words.at(0).help, "how to print");
  EXPECT_THAT(words_at({"get", "--", "--o"}), IsEmpty());
}

TEST(Completion, OffersTheChoicesOfAnOption) {
  EXPECT_THAT(words_at({"get", "services", "-o", "j"}), ElementsAre("json"));
  EXPECT_TRUE(at({"config", "validate", "-f", "x"}).files);
  EXPECT_FALSE(at({"get", "-o", ""}).files);
}

TEST(Completion, AnOptionsValueIsNotTakenForACommand) {
  EXPECT_THAT(words_at({"--server", "config", "g"}), ElementsAre("get"));
  EXPECT_THAT(words_at({"--quiet", "config", ""}), ElementsAre("validate"));
}

TEST(Completion, OffersKindsAndThenNames) {
  EXPECT_THAT(words_at({"get", "s"}), ElementsAre("service", "services"));
  EXPECT_EQ(at({"get", "service", "w"}).names_of, "service");
  EXPECT_EQ(at({"get", "service", "web", ""}).names_of, "service");
  EXPECT_EQ(at({"get", "service/w"}).names_of, "service");
  EXPECT_EQ(at({"get", "service/w"}).name_prefix, "service/");
  EXPECT_EQ(at({"get", "service/web", ""}).names_of, "");
}

TEST(Completion, WhatIsNoKindIsNeverMadePartOfACommand) {
  for (const char* bad : {"$(reboot)", "a b", "-o", ";x", "a\nb", "`x`"}) {
    EXPECT_EQ(at({"get", "--", bad, ""}).names_of, "") << bad;
    EXPECT_EQ(at({"get", std::string(bad) + "/"}).names_of, "") << bad;
  }
}

TEST(Completion, IsPrintedAsTheScriptsReadIt) {
  EXPECT_EQ(to_text(at({"get", "--ou"})), "--output\thow to print\n");
  EXPECT_EQ(to_text(at({"get", "service/"})), ":names service service/\n");
  EXPECT_EQ(to_text(at({"config", "validate", "--file", ""})), ":files\n");
}

TEST(CompletionScript, ThereIsOneForEachShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(completion_script(shell), testing::HasSubstr("complete")) << shell;
  }
  EXPECT_EQ(completion_script("tcsh"), "");
}

TEST(Completion, CachesAreOfferedWhereTheyAreTaken) {
  EXPECT_THAT(words_at({"get", "cac"}), ElementsAre("caches"));
  EXPECT_THAT(at({"get", "caches", ""}).names_of, "caches");
}

// A tool that lays out C++ once laid out a script.
TEST(Completion, ScriptsAreAsTheyWereWritten) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(shell);
    EXPECT_THAT(script, testing::HasSubstr("complete")) << shell;
    EXPECT_THAT(script, testing::HasSubstr("-o name 2>/dev/null)")) << shell;
    EXPECT_THAT(script, testing::HasSubstr(" --timeout 1 get ")) << shell;
  }
}

}  // namespace
}  // namespace holdfast::cli
