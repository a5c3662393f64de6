// What the command does with input that nobody should have written: it names the place, is quick
// about it, and needs little memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "e2e/controller_process.h"
#include "support/paths.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr size_t kMostMemoryBytes = (size_t{64} << 20) * kSanitizerCost;
constexpr auto kQuick = 2s * kSanitizerCost;

// Bad input is refused before anyone is asked, so no controller is needed.
ProgramOutcome apply(ProgramRun run, const std::string& file) {
  run.arguments = {built("holdfast"), "--server", "unix:/nowhere", "apply", "-f", file};
  return run_program(run);
}

ProgramOutcome apply_text(std::string text) {
  return apply({.input = std::move(text)}, "-");
}

TEST(CliInput, AnUnknownFieldIsShownInItsLineWithACaret) {
  const TempDir folder;
  const std::string file = folder.file("bad.yaml");
  std::ofstream(file) << "kind: service\nmetadata: {name: web}\nspec:\n  prots: []\n";

  const ProgramOutcome result = apply({}, file);

  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.error, HasSubstr(file + ":4:3: error HF6004: spec.prots"));
  EXPECT_THAT(result.error, HasSubstr("did you mean \"ports\"?"));
  EXPECT_THAT(result.error, HasSubstr("    4 |   prots: []\n      |   ^~~~~\n"));
}

TEST(CliInput, WrongTypesAreRefusedAtTheirPlace) {
  const struct {
    const char* spec;
    const char* place;
  } cases[] = {
      {"spec: 7", "-:3:7: error"},
      {"spec: {ports: web}", "-:3:15: error"},
      {"spec: {ports: [{port: many}]}", "-:3:23: error"},
      {"spec: {ports: [{port: -1}]}", "-:3:23: error"},
      {"spec: {zone_capacity: [a]}", "-:3:23: error"},
      {"spec: {when_full: explode}", "-:3:19: error"},
  };
  for (const auto& [spec, place] : cases) {
    const ProgramOutcome result =
        apply_text(std::string("kind: service\nmetadata: {name: web}\n") + spec + "\n");
    EXPECT_EQ(result.exit_code, 65) << spec;
    EXPECT_THAT(result.error, AllOf(HasSubstr(place), HasSubstr("^"))) << spec;
  }
}

TEST(CliInput, AHugeFileIsRefusedQuicklyInLittleMemory) {
  const TempDir folder;
  const std::string file = folder.file("huge.yaml");
  std::ofstream(file) << service_yaml("web");
  std::filesystem::resize_file(file, 100'000'000);
  const auto begin = std::chrono::steady_clock::now();

  const ProgramOutcome result = apply({}, file);

  EXPECT_LT(std::chrono::steady_clock::now() - begin, kQuick);
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_THAT(result.error, HasSubstr("HF6003"));
  EXPECT_LT(result.peak_memory_bytes, kMostMemoryBytes);
}

TEST(CliInput, EndlessStdinIsRefusedQuicklyInLittleMemory) {
  const auto begin = std::chrono::steady_clock::now();

  const ProgramOutcome result = apply({.input_file = "/dev/zero"}, "-");

  EXPECT_LT(std::chrono::steady_clock::now() - begin, kQuick);
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_THAT(result.error, HasSubstr("HF6003"));
  EXPECT_LT(result.peak_memory_bytes, kMostMemoryBytes);
}

TEST(CliInput, DeepNestingIsRefusedInLittleMemory) {
  std::string blocks = "kind: service\nspec:\n";
  for (size_t depth = 1; depth < 1'000; ++depth) blocks += std::string(depth, ' ') + "a:\n";
  const std::string flow = "kind: service\nspec: " + std::string(1'000'000, '[');
  const std::string json = R"({"kind":"service","spec":)" + std::string(1'000'000, '[');

  for (const std::string& text : {blocks, flow, json}) {
    const ProgramOutcome result = apply_text(text);
    EXPECT_EQ(result.exit_code, 65) << text.substr(0, 40);
    EXPECT_THAT(result.error, HasSubstr("error HF"));
    EXPECT_LT(result.peak_memory_bytes, 4 * kMostMemoryBytes) << text.substr(0, 40);
  }
}

TEST(CliInput, AnAliasBombIsRefused) {
  const ProgramOutcome result =
      apply_text("kind: service\nmetadata: &a {name: web}\nspec: [*a, *a]\n");

  EXPECT_EQ(result.exit_code, 65);
}

TEST(CliInput, InvalidUtf8IsRefusedAndNotEchoed) {
  const ProgramOutcome result = apply_text("kind: service\nmetadata: {name: w\xff\xfe}\n");

  EXPECT_EQ(result.exit_code, 65);
  EXPECT_THAT(result.error, AllOf(HasSubstr("-:2:"), Not(HasSubstr("\xff"))));
}

TEST(CliInput, NamesWithASlashOrNulOrControlCharactersAreRefused) {
  for (const char* name :
       {R"("a/b")", R"("a\0b")", R"("../x")", R"("\e[31m")", R"("a\nb")", "\"\""}) {
    const ProgramOutcome result =
        apply_text(std::string("kind: service\nmetadata: {name: ") + name +
                   "}\nspec: {ports: [{port: 1, protocol: tcp}]}\n");
    EXPECT_EQ(result.exit_code, 65) << name;
    EXPECT_THAT(result.error, Not(HasSubstr("\x1b"))) << name;
    EXPECT_EQ(result.error.find('\0'), std::string::npos) << name;
  }
}

TEST(CliInput, NoResourcesAtAllIsAnError) {
  for (const char* text : {"", "---\n", "# only a comment\n"}) {
    const ProgramOutcome result = apply_text(text);
    EXPECT_EQ(result.exit_code, 65) << text;
    EXPECT_THAT(result.error, HasSubstr("HF6001")) << text;
  }
}

TEST(CliInput, AFileThatCannotBeReadIsNamed) {
  const TempDir folder;
  for (const std::string& file : {folder.file("missing.yaml"), folder.path().string()}) {
    const ProgramOutcome result = apply({}, file);
    EXPECT_EQ(result.exit_code, 65) << file;
    EXPECT_THAT(result.error, AllOf(HasSubstr("HF6001"), HasSubstr(file), HasSubstr("next:")));
  }
}

}  // namespace
}  // namespace holdfast::test
