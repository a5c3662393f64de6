// The command `holdfast inject` as people run it: files and pipes, no controller anywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "e2e/controller_process.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kPod =
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web  # its name\nspec:\n  containers:\n"
    "  - name: web\n    livenessProbe:\n      httpGet:\n        path: /live\n        port: 8080\n";
constexpr const char* kService = "kind: Service\nmetadata: {name: web}\n";

ProgramOutcome inject(std::vector<std::string> arguments, std::string input = "") {
  ProgramRun run{.input = std::move(input)};
  run.arguments = {built("holdfast"), "inject"};
  run.arguments.insert(run.arguments.end(), arguments.begin(), arguments.end());
  return run_program(run);
}

std::string contents(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(CliInject, APodGoesInAndComesOutWithItsCommentsAndASidecar) {
  const ProgramOutcome result =
      inject({"-f", "-", "--port", "9100", "--image", "mine:1", "--sidecar", "handler"}, kPod);

  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.output, HasSubstr("  name: web  # its name\n"));
  EXPECT_THAT(result.output, HasSubstr("        path: /8080/live\n        port: 9100\n"));
  EXPECT_THAT(result.output, HasSubstr("  - name: handler\n    image: mine:1\n"));
}

TEST(CliInject, ASecondRunPrintsWhatItWasGiven) {
  const ProgramOutcome first = inject({"-f", "-"}, kPod);

  const ProgramOutcome second = inject({"-f", "-"}, first.output);

  EXPECT_EQ(second.output, first.output);
}

TEST(CliInject, UninjectGivesTheFileBack) {
  const ProgramOutcome first = inject({"-f", "-"}, kPod);

  const ProgramOutcome back = inject({"-f", "-", "--uninject"}, first.output);

  EXPECT_EQ(back.exit_code, 0) << back.error;
  EXPECT_EQ(back.output, kPod);
}

TEST(CliInject, SeveralFilesAreOneStream) {
  const TempDir folder;
  std::ofstream(folder.file("a.yaml")) << kService;
  std::ofstream(folder.file("b.yaml")) << kPod;

  const ProgramOutcome result = inject({"-f", folder.file("a.yaml"), "-f", folder.file("b.yaml")});

  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.output,
              StartsWith(std::string(kService) + "---\napiVersion: v1\nkind: Pod\n"));
}

TEST(CliInject, TheDiffIsOneThatPatchApplies) {
  const TempDir folder;
  const std::string file = folder.file("web.yaml");
  std::ofstream(file) << kService << "---\n" << kPod;
  const std::string whole = inject({"-f", file}).output;

  const ProgramOutcome diff = inject({"-f", file, "--diff"});
  ASSERT_EQ(diff.exit_code, 0) << diff.error;
  EXPECT_THAT(diff.output, HasSubstr("-        path: /live\n"));
  EXPECT_THAT(diff.output, HasSubstr("+        path: /8080/live\n"));
  ProgramRun patch{.arguments = {"patch", "-s", file}, .input = diff.output};
  const ProgramOutcome patched = run_program(patch);

  EXPECT_EQ(patched.exit_code, 0) << patched.output << patched.error;
  EXPECT_EQ(contents(file), whole);
}

TEST(CliInject, OneWrongFileIsNamedAndNothingIsPrinted) {
  const TempDir folder;
  const std::string good = folder.file("good.yaml");
  std::ofstream(good) << kPod;
  const std::string bad = folder.file("bad.yaml");
  std::ofstream(bad) << kPod << "    ports: [{containerPort: 9000}]\n";

  const ProgramOutcome result = inject({"-f", good, "-f", bad});

  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.error, AllOf(HasSubstr("HF7101"), HasSubstr(bad), HasSubstr("port 9000")));
}

TEST(CliInject, WarningsGoToTheOtherStream) {
  const ProgramOutcome result =
      inject({"-f", "-"},
             "kind: Pod\nspec: {containers: [{name: a, livenessProbe: {exec: {command: [x]}}}]}\n");

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.error, StartsWith("warning HF7120: -: Pod: container \"a\", livenessProbe:"));
  EXPECT_THAT(result.output, Not(HasSubstr("warning")));
  EXPECT_THAT(result.output, StartsWith("kind: Pod\n"));
}

TEST(CliInject, WarningsCanBeNoFailure) {
  const ProgramOutcome result =
      inject({"-f", "-", "--fail-on", "failure"},
             "kind: Pod\nspec: {containers: [{name: a, livenessProbe: {exec: {command: [x]}}}]}\n");

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.error, StartsWith("warning HF7120: "));
}

TEST(CliInject, TwoThousandLikeWarningsAreAFewLines) {
  std::string pods;
  for (int i = 0; i < 2000; ++i) {
    pods += "---\nkind: Pod\nspec: {containers: [{name: a, livenessProbe: {exec: {}}}]}\n";
  }

  const ProgramOutcome result = inject({"-f", "-"}, pods);

  EXPECT_EQ(std::ranges::count(result.error, '\n'), 4) << result.error;
  EXPECT_THAT(result.error, HasSubstr("warning HF7120: and 1997 more like these\n"));
  EXPECT_EQ(result.output, pods);
}

TEST(CliInject, ASidecarThatCannotBeIsAUsageError) {
  const std::vector<std::vector<std::string>> rows = {
      {"--sidecar", "Not One"}, {"--sidecar", ""}, {"--image", ""}, {"--image", "a b"}};
  for (const std::vector<std::string>& row : rows) {
    const ProgramOutcome result = inject({"-f", "-", row[0], row[1]}, kPod);
    EXPECT_EQ(result.exit_code, 64) << row[0] << " " << row[1] << result.error;
    EXPECT_THAT(result.error, HasSubstr("HF7110")) << row[0];
    EXPECT_EQ(result.output, "") << row[0];
  }
}

TEST(CliInject, AnApplicationThatHasTheSidecarsNameIsNotPassedOver) {
  const ProgramOutcome result = inject({"-f", "-", "--sidecar", "web"}, kPod);

  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.error, AllOf(HasSubstr("HF7109"), HasSubstr("container \"web\"")));
}

TEST(CliInject, JsonStaysJson) {
  const ProgramOutcome result =
      inject({"-f", "-"}, R"({"kind":"Pod","x":1.50,"spec":{"containers":[{"name":"a",)"
                          R"("livenessProbe":{"grpc":{"port":1}}}]}})");

  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.output,
              StartsWith(R"({"kind":"Pod","x":1.50,"spec":{"containers":[{"name":)"));
  EXPECT_THAT(result.output, HasSubstr(R"("path": "/grpc/1")"));
}

TEST(CliInject, AFileThatIsNotThereIsNamed) {
  const ProgramOutcome result = inject({"-f", "/nowhere/x.yaml"});

  EXPECT_EQ(result.exit_code, 65);
  EXPECT_THAT(result.error, AllOf(HasSubstr("HF6001"), HasSubstr("/nowhere/x.yaml")));
  EXPECT_EQ(inject({}).exit_code, 64);
}

}  // namespace
}  // namespace holdfast::test
