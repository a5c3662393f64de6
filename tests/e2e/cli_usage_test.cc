// The command's manners: help, exit codes, and what it says when nobody answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "e2e/controller_process.h"
#include "support/eventually.h"
#include "support/paths.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

ProgramOutcome run(Arguments arguments) {
  arguments.insert(arguments.begin(), built("holdfast"));
  return run_program({.arguments = std::move(arguments)});
}

bool has_threads(pid_t process) {
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task");
  return std::distance(begin(threads), end(threads)) > 1;
}

TEST(CliUsage, HelpIsOnStdoutAndNoError) {
  for (const Arguments& arguments : {Arguments{"--help"},
                                     {"apply", "--help"},
                                     {"get", "--help"},
                                     {"delete", "--help"},
                                     {"watch", "--help"},
                                     {"version", "--help"},
                                     {"--version"},
                                     {"version"}}) {
    const ProgramOutcome result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments.front();
    EXPECT_NE(result.output, "") << arguments.front();
    EXPECT_EQ(result.error, "") << arguments.front();
  }
  EXPECT_THAT(run({"get", "--help"}).output, HasSubstr("holdfast get services"));
  EXPECT_THAT(run({"proxy", "drain", "--help"}).output, testing::Not(HasSubstr("{false}")));
}

TEST(CliUsage, AConfigurationIsGoodIfTheDaemonTakesIt) {
  const TempDir folder;
  const std::string start =
      "controller: {listen: [\"127.0.0.1:7443\"]}\n"
      "ha: {role: primary, mode: witness, ";
  const struct {
    std::string rest;
    std::string code;
  } cases[] = {
      {"peer: \"127.0.0.9:7443\", witness: \"127.0.0.9:7461\", lease: 10ms}", "HF4110"},
      {"peer: \"127.0.0.1:7443\", witness: \"127.0.0.9:7461\"}", "HF6010"},
      {"peer: \"127.0.0.9:7443\", witness: \"127.0.0.9:7443\"}", "HF6010"},
      {"peer: \"127.0.0.9:7443\", witness: \"127.0.0.1:7443\"}", "HF6010"},
  };
  for (const auto& [rest, code] : cases) {
    std::ofstream(folder.file("f.yaml")) << start << rest;

    const ProgramOutcome validated = run({"config", "validate", "-f", folder.file("f.yaml")});
    const ProgramOutcome started = run_daemon(
        {"--config", folder.file("f.yaml"), "controller", "--data-dir", folder.file("data")});

    EXPECT_EQ(validated.exit_code, 65) << rest;
    EXPECT_THAT(validated.error, HasSubstr("error " + code)) << rest;
    EXPECT_EQ(started.exit_code, 78) << rest;
    EXPECT_THAT(started.error, HasSubstr(code)) << rest;
  }
  for (const char* nowhere : {"0.0.0.0", "\"::\""}) {
    std::ofstream(folder.file("f.yaml")) << "proxy: {advertise_host: " << nowhere << "}\n";
    const ProgramOutcome validated =
        run({"config", "validate", "--role", "proxy", "-f", folder.file("f.yaml")});
    EXPECT_EQ(validated.exit_code, 65) << nowhere;
    EXPECT_THAT(validated.error, HasSubstr("can be dialled at none")) << nowhere;
  }
}

TEST(CliUsage, WhatItDoesNotUnderstandIsUsage) {
  for (const Arguments& arguments : {Arguments{},
                                     {"--bogus"},
                                     {"get", "services", "--bogus"},
                                     {"explode"},
                                     {"apply"},
                                     {"get"},
                                     {"delete"},
                                     {"watch"},
                                     {"get", "tunnels", "--node", ""},
                                     {"get", "services", "-o", "xml"},
                                     {"--timeout", "0", "get", "services"},
                                     {"--timeout", "soon", "get", "services"},
                                     {"--server", "", "get", "services"},
                                     {"--server=", "get", "services"},
                                     {"get", "services", "--server", ""},
                                     {"--server", "a,,b", "get", "services"},
                                     {"--server", "a,unix:/b", "get", "services"},
                                     {"watch", "services", "--after", "-1"},
                                     {"get", "service/"},
                                     {"watch", "nonsense"}}) {
    const ProgramOutcome result = run(arguments);
    EXPECT_EQ(result.exit_code, 64) << testing::PrintToString(arguments);
    EXPECT_EQ(result.output, "") << testing::PrintToString(arguments);
    EXPECT_NE(result.error, "") << testing::PrintToString(arguments);
  }
}

TEST(CliUsage, WithoutAControllerItSaysSoPromptlyAndWhatToDo) {
  const TempDir folder;
  const std::string server = "unix:" + folder.file("none.sock");
  for (const Arguments& arguments :
       {Arguments{"get", "services"}, {"delete", "service/web"}, {"watch", "services"}}) {
    const auto begin = std::chrono::steady_clock::now();
    const ProgramOutcome result = run_cli(server, arguments);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s * kSanitizerCost);
    EXPECT_EQ(result.exit_code, 69) << result.error;
    EXPECT_THAT(result.error, AllOf(HasSubstr("HF1001"), HasSubstr(server),
                                    HasSubstr("next: start one with `holdfastd controller`")));
  }
  EXPECT_EQ(run_cli(server, {"apply", "-f", "-"}, service_yaml("web")).exit_code, 69);
}

TEST(CliUsage, TheNetworkNeedsAProfile) {
  const TempDir folder;
  const ProgramOutcome result =
      run_cli("127.0.0.1:1", {"--profile", folder.file("none"), "get", "services"});

  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.error, AllOf(HasSubstr("HF5035"), HasSubstr("holdfast login")));
}

TEST(CliUsage, WaitWaitsForAControllerThatComesLater) {
  ControllerProcess controller;
  controller.kill();
  const TempDir folder;
  ChildProcess waiting({.arguments = {built("holdfast"), "--server", controller.unix_server(),
                                      "--wait", "20", "get", "services", "-o", "json"},
                        .output_file = folder.file("output")});
  ASSERT_TRUE(eventually([&] { return has_threads(waiting.pid()); }, 10s)) << "gRPC's, to connect";

  controller.start();

  EXPECT_EQ(waiting.wait(10s), 0);
}

TEST(CliUsage, WaitGivesUpAfterItsTime) {
  const ProgramOutcome result = run_cli("unix:/nowhere", {"--wait", "0.2", "get", "services"});

  EXPECT_EQ(result.exit_code, 69);
  EXPECT_THAT(result.error, HasSubstr("HF1001"));
}

TEST(CliUsage, AControllerThatDoesNotAnswerIsATimeout) {
  ControllerProcess controller;
  ::kill(controller.pid(), SIGSTOP);

  const ProgramOutcome result = controller.cli({"--timeout", "0.3", "get", "services"});

  ::kill(controller.pid(), SIGCONT);
  EXPECT_EQ(result.exit_code, 75) << result.error;
  EXPECT_THAT(result.error, AllOf(HasSubstr("HF1002"), HasSubstr("--timeout")));
}

TEST(CliUsage, OutputThatCannotBeWrittenIsAFailure) {
  ControllerProcess controller;
  controller.cli({"apply", "-f", "-"}, service_yaml("web"));
  for (const Arguments& arguments : {Arguments{"get", "services"},
                                     {"get", "services", "-o", "json"},
                                     {"watch", "services", "--after", "1", "--count", "1"}}) {
    Arguments all = {built("holdfast"), "--server", controller.unix_server()};
    all.insert(all.end(), arguments.begin(), arguments.end());

    const ProgramOutcome result = run_program({.arguments = all, .output_file = "/dev/full"});

    EXPECT_EQ(result.exit_code, 1) << testing::PrintToString(arguments) << result.error;
    EXPECT_THAT(result.error, HasSubstr("HF1004")) << testing::PrintToString(arguments);
  }
}

}  // namespace
}  // namespace holdfast::test
