// How things are, with the real command and a real controller: status, check, describe, get
// --watch, explain, version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "e2e/controller_process.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string cli_status_read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CliStatus, OneScreenAndTheSameAsJson) {
  ControllerProcess controller;
  ASSERT_EQ(controller.cli({"--timeout", "20", "status", "--wait"}).exit_code, 0);

  const ProgramOutcome screen = controller.cli({"status"});
  const ProgramOutcome json = controller.cli({"status", "-o", "json"});

  EXPECT_EQ(screen.exit_code, 0) << screen.error;
  EXPECT_THAT(screen.output, AllOf(HasSubstr("healthy"), HasSubstr("store"), HasSubstr("sqlite"),
                                   HasSubstr("holdfast init"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(json.output,
              AllOf(HasSubstr("\"kind\": \"status\""), HasSubstr("\"state\": \"ok\"")));
}

TEST(CliStatus, CheckGoesOnAfterAFailureAndCounts) {
  ControllerProcess controller;
  controller.cli({"--timeout", "20", "status", "--wait"});

  const ProgramOutcome before = controller.cli({"check"});
  const ProgramOutcome made = controller.cli({"init"});
  const ProgramOutcome after = controller.cli({"check"});

  EXPECT_EQ(before.exit_code, 1);
  EXPECT_THAT(before.output, AllOf(HasSubstr("FAIL the cluster has an authority"),
                                   HasSubstr("holdfast explain HF5013"), HasSubstr("1 failed"),
                                   HasSubstr("presence\n--------\n")));
  ASSERT_EQ(made.exit_code, 0) << made.error;
  EXPECT_EQ(after.exit_code, 0) << after.output;
  EXPECT_THAT(after.output, HasSubstr(", 0 failed,"));
}

TEST(CliStatus, WithoutAControllerCheckSaysWhatItCouldNotSee) {
  const ProgramOutcome result = run_cli("unix:/nowhere", {"check"});

  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("HF1001"), HasSubstr("skip"),
                                   HasSubstr("0 passed, 0 warnings, 1 failed, 18 skipped")));
  EXPECT_EQ(run_cli("unix:/nowhere", {"check", "--only", "nonsense"}).exit_code, 64);
}

TEST(CliStatus, DescribeIsForPeople) {
  ControllerProcess controller;
  controller.cli({"apply", "-f", "-"}, service_yaml("web"));

  const ProgramOutcome text = controller.cli({"describe", "service/web"});

  EXPECT_EQ(text.exit_code, 0) << text.error;
  EXPECT_THAT(text.output, AllOf(HasSubstr("Name:        web\n"), HasSubstr("port: 8080"),
                                 HasSubstr("Agents:      none carries it")));
  EXPECT_EQ(controller.cli({"describe", "service/none"}).exit_code, 1);
}

TEST(CliStatus, GetWatchGoesOnWithChanges) {
  const TempDir folder;
  ControllerProcess controller;
  controller.cli({"apply", "-f", "-"}, service_yaml("web"));
  ChildProcess watching({.arguments = {built("holdfast"), "--server", controller.unix_server(),
                                       "get", "services", "--watch", "--count", "2"},
                         .output_file = folder.file("output")});
  ASSERT_TRUE(
      eventually([&] { return cli_status_read(folder.file("output")).contains("8080"); }, 10s));

  controller.cli({"apply", "-f", "-"}, service_yaml("web", 9090));
  controller.cli({"delete", "service/web"});

  EXPECT_EQ(watching.wait(10s), 0);
  EXPECT_EQ(cli_status_read(folder.file("output")),
            "NAME   PORTS   PROTOCOLS   AGENTS   VIRTUAL IP\n"
            "web    8080    tcp         -        -\n"
            "web    9090    tcp         -        -\n"
            "web    deleted\n");
}

TEST(CliStatus, AWatchThatDoesNotBeginTimesOut) {
  ControllerProcess controller;
  ::kill(controller.pid(), SIGSTOP);
  for (const Arguments& arguments : {Arguments{"--timeout", "0.3", "watch", "services"},
                                     Arguments{"--timeout", "0.3", "get", "services", "--watch"}}) {
    const ProgramOutcome result = controller.cli(arguments);
    EXPECT_EQ(result.exit_code, 75) << result.error;
    EXPECT_THAT(result.error, HasSubstr("HF1002"));
  }
  ::kill(controller.pid(), SIGCONT);
}

TEST(CliStatus, ExplainNeedsNoController) {
  const ProgramOutcome known = run_cli("unix:/nowhere", {"explain", "hf5008"});
  EXPECT_EQ(known.exit_code, 0);
  EXPECT_THAT(known.output, AllOf(HasSubstr("HF5008: "), HasSubstr("next: ")));
  EXPECT_EQ(run_cli("unix:/nowhere", {"explain", "HF0000"}).exit_code, 64);
}

TEST(CliStatus, TheVersionOfBoth) {
  ControllerProcess controller;
  const ProgramOutcome own = controller.cli({"version"});
  const ProgramOutcome both = controller.cli({"version", "--server"});
  EXPECT_EQ(own.output, "holdfast 0.1.0\n");
  EXPECT_EQ(both.exit_code, 0) << both.error;
  EXPECT_THAT(both.output, AllOf(HasSubstr("holdfast 0.1.0\n"), HasSubstr("controller ")));
}

TEST(CliStatus, AddressesThatCannotBeAreUsage) {
  for (const char* server : {"host:0", "host:99999", ":7443", "[::1", "unix:", "http://host:1"}) {
    const ProgramOutcome result = run_cli(server, {"get", "services"});
    EXPECT_EQ(result.exit_code, 64) << server;
    EXPECT_THAT(result.error, HasSubstr("is not a controller's address")) << server;
  }
}

TEST(CliStatus, AMistypedCommandIsGuessed) {
  for (const auto& [arguments, meant] : {std::pair{Arguments{"gett"}, "get"},
                                         {Arguments{"stauts"}, "status"},
                                         {Arguments{"token", "crate"}, "create"}}) {
    const ProgramOutcome result = run_cli("unix:/nowhere", arguments);
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_THAT(result.error, HasSubstr("did you mean \"" + std::string(meant) + "\"?"));
  }
  EXPECT_THAT(run_cli("unix:/nowhere", {"gett", "-o", "json"}).error,
              HasSubstr("{\"error\":{\"code\":\"HF6010\""));
}

}  // namespace
}  // namespace holdfast::test
