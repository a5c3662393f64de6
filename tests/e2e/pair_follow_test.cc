// Commands about who is who, pointed at the passive half of a real pair: the active one does what
// they ask for, once.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "e2e/loopback_pair.h"
#include "support/eventually.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

class AtThePassiveHalf : public testing::Test {
 protected:
  void SetUp() override {
    const ProgramOutcome pin = primary().cli({"rotate", "status"});
    const size_t begin = pin.output.find("sha256:");
    ASSERT_NE(begin, std::string::npos) << pin.output << pin.error;
    pin_ = pin.output.substr(begin, 71);
    std::ofstream(folder_.file("password")) << "correct horse\n";
    const ProgramOutcome ann = primary().cli(
        {"user", "create", "ann", "--role", "admin", "--password-file", folder_.file("password")});
    ASSERT_EQ(ann.exit_code, 0) << ann.error;
  }
  ClusterProcess& primary() { return pair_.primary(); }
  std::string passive() { return pair_.backup().tcp_server(); }
  ProgramOutcome holdfast(Arguments arguments, std::string input = "") {
    arguments.insert(arguments.begin(), {built("holdfast"), "--profile", folder_.file("profile")});
    return run_program({.arguments = std::move(arguments), .input = std::move(input)});
  }
  ProgramOutcome login(const std::string& server) {
    return holdfast({"login", "--user", "ann", server, "--pin", pin_, "--password-file",
                     folder_.file("password")});
  }

  LoopbackPair pair_{"sync"};
  TempDir folder_;
  std::string pin_;
};

TEST_F(AtThePassiveHalf, EveryCommandAboutIdentityIsDoneByTheActiveOne) {
  const ProgramOutcome in = login(passive());
  ASSERT_EQ(in.exit_code, 0) << in.error;

  for (const Arguments& arguments :
       {Arguments{"token", "create", "--role", "agent", "--out", folder_.file("token")},
        {"user", "create", "bob", "--role", "viewer", "--password-file", folder_.file("password")},
        {"user", "cert", "bob", "--out", folder_.file("bob.pem")},
        {"join", passive(), "--pin", pin_, "--token-file", folder_.file("token"), "--name",
         "edge-1", "--data-dir", folder_.file("node")},
        {"whoami"},
        {"rotate", "start"},
        {"rotate", "rollback"}}) {
    const ProgramOutcome done = holdfast(arguments);
    EXPECT_EQ(done.exit_code, 0) << arguments[0] << " " << done.error;
  }
  EXPECT_EQ(primary().cli({"token", "list", "-o", "name"}).output, "") << "used up: made once";
}

TEST_F(AtThePassiveHalf, NamedWithTheOtherItDisturbsNobody) {
  const std::string both = passive() + "," + primary().tcp_server();
  const ProgramOutcome in = login(both);
  ASSERT_EQ(in.exit_code, 0) << in.error;
  constexpr int kRounds = 12;  // whom it asks first is chance

  for (int round = 0; round < kRounds; ++round) {
    const ProgramOutcome made = holdfast({"token", "create", "--role", "agent"});
    EXPECT_EQ(made.exit_code, 0) << made.error;
  }

  const std::string listed = primary().cli({"token", "list", "-o", "name"}).output;
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), kRounds) << listed;
}

TEST_F(AtThePassiveHalf, AJoinWithBothAddressesLeavesBothToTheNode) {
  const std::string both = passive() + "," + primary().tcp_server();
  const ProgramOutcome token = primary().cli({"token", "create", "--role", "agent"});
  const ProgramOutcome joined = holdfast({"join", both, "--pin", pin_, "--token-file", "-",
                                          "--name", "edge-1", "--data-dir", folder_.file("node")},
                                         token.output);
  ASSERT_EQ(joined.exit_code, 0) << joined.error;

  const ChildProcess agent(ChildOptions{.arguments = node_command("agent", folder_.file("node")),
                                        .output_file = folder_.file("agent.log")});

  EXPECT_TRUE(eventually([&] { return primary().cli({"get", "agent", "edge-1"}).exit_code == 0; },
                         std::chrono::seconds(20)));
}

}  // namespace
}  // namespace holdfast::test
