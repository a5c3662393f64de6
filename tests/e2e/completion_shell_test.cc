// Completion in real shells: the script that `holdfast completion` prints, with the binary it asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/child_process.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kHoldfast = built("") + "/holdfast";

// What bash offers for a line of words, the last of which is being typed.
std::string offered(const std::string& program, const std::string& words) {
  const std::string script =
      "source <(" + kHoldfast + " completion bash)\n" + "COMP_WORDS=(" + program + " " + words +
      ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_holdfast\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const ProgramResult run = run_program({"bash", "-c", script}, 20s);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  return run.output;
}

TEST(BashCompletion, OffersCommandsOptionsKindsAndChoices) {
  EXPECT_THAT(offered(kHoldfast, "''"), AllOf(HasSubstr("apply\n"), HasSubstr("config\n")));
  EXPECT_EQ(offered(kHoldfast, "config val"), "validate\n");
  EXPECT_THAT(offered(kHoldfast, "get --"),
              AllOf(HasSubstr("--output\n"), HasSubstr("--server\n")));
  EXPECT_THAT(offered(kHoldfast, "get serv"), HasSubstr("services\n"));
  EXPECT_THAT(offered(kHoldfast, "get services -o y"), HasSubstr("yaml"));
  EXPECT_EQ(offered(kHoldfast, "completion f"), "fish\n");
  EXPECT_THAT(offered(kHoldfast, "get serv"), Not(HasSubstr("agent")));
}

TEST(BashCompletion, UnderstandsWordsThatBashTakesApart) {
  EXPECT_EQ(offered(kHoldfast, "--server unix : /x config val"), "validate\n");
  EXPECT_EQ(offered(kHoldfast, "get services --output = js"), "json\n");
  EXPECT_THAT(offered(kHoldfast, "get services --output ="), HasSubstr("json\n"));
}

TEST(BashCompletion, OffersFilesWhereAFileIsWanted) {
  const TempDir dir;
  std::ofstream(dir.file("with space.yaml")) << "";

  EXPECT_EQ(offered(kHoldfast, "config validate -f '" + dir.file("wi") + "'"),
            dir.file("with space.yaml") + "\n");
}

TEST(BashCompletion, OffersLiveNamesAndNeverWaitsLong) {
  const TempDir dir;
  const std::string program = dir.file("holdfast");
  // Stands for a holdfast that has a controller, except for services, whose controller hangs.
  std::ofstream(program) << "#!/bin/bash\n[ $1 = complete ] && exec " << kHoldfast
                         << " \"$@\"\n[ \"$*\" = '--timeout 1 get agent -o name' ] && "
                            "printf 'agent/edge-1\\nagent/edge-2\\nagent/web\\n'\n"
                            "[ $4 = service ] && sleep 60\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);

  EXPECT_EQ(offered(program, "get agent e"), "edge-1\nedge-2\n");
  EXPECT_EQ(offered(program, "get agent/e"), "agent/edge-1\nagent/edge-2\n");
  EXPECT_EQ(offered(program, "get service ''"), "\n");
}

TEST(ShellCompletion, TheScriptsAreGoodInTheirShells) {
  const TempDir dir;
  size_t checked = 0;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = dir.file(shell);
    ASSERT_EQ(run_program({"bash", "-c", kHoldfast + " completion " + shell + " >" + script}, 20s)
                  .exit_code,
              0);
    if (run_program({"bash", "-c", "command -v " + shell}, 20s).exit_code != 0) {
      std::cout << "the script for " << shell << " is not checked: " << shell << " is not here\n";
      continue;
    }
    const ProgramResult run = run_program({shell, "-n", script}, 20s);
    EXPECT_EQ(run.exit_code, 0) << run.output;
    ++checked;
  }
  EXPECT_GE(checked, 1u);
}

}  // namespace
}  // namespace holdfast::test
