// What becomes of a command when the way to its controller breaks: behind a haproxy that is killed
// and comes back, and with several servers of which not all are there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>

#include "e2e/controller_process.h"
#include "support/child_process.h"
#include "support/eventually.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

class CliLink : public testing::Test {
 protected:
  CliLink() {
    const std::string socket = controller_.unix_server().substr(5);
    std::ofstream(folder_.file("haproxy.cfg"))
        << "defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 60s\n"
        << "  timeout server 60s\nlisten one\n  bind unix@" << folder_.file("lb.sock")
        << "\n  server a unix@" << socket << "\n";
    start_balancer();
  }
  void start_balancer() {
    balancer_ = std::make_unique<ChildProcess>(
        ChildOptions{.arguments = {"/usr/sbin/haproxy", "-db", "-f", folder_.file("haproxy.cfg")},
                     .output_file = folder_.file("haproxy.log")});
  }
  std::string server() const { return "unix:" + folder_.file("lb.sock"); }
  // A command that goes on beside the test.
  std::unique_ptr<ChildProcess> start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {built("holdfast"), "--server", server(), "--wait", "20"});
    return std::make_unique<ChildProcess>(ChildOptions{.arguments = std::move(arguments),
                                                       .output_file = folder_.file("output"),
                                                       .error_file = folder_.file("error")});
  }
  std::string contents(const char* name) const {
    std::ifstream file(folder_.file(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool comes(const char* name, const std::string& text) const {
    return eventually([&] { return contents(name).contains(text); }, 20s);
  }
  void apply(const std::string& name) {
    EXPECT_EQ(controller_.cli({"apply", "-f", "-"}, service_yaml(name)).exit_code, 0);
  }

  TempDir folder_;
  ControllerProcess controller_;
  std::unique_ptr<ChildProcess> balancer_;
};

TEST_F(CliLink, AWatchGoesOnWhereItWasCutOff) {
  const auto watch = start({"watch", "services", "--count", "3"});
  ASSERT_TRUE(comes("error", "watching service")) << contents("error");
  apply("one");
  ASSERT_TRUE(comes("output", "service/one")) << contents("error");

  balancer_->kill();
  apply("two");
  ASSERT_TRUE(comes("error", "connection lost; following again from revision"));
  start_balancer();
  ASSERT_TRUE(comes("output", "service/two")) << contents("error");
  apply("three");

  EXPECT_EQ(watch->wait(20s), 0) << contents("error");
  EXPECT_THAT(contents("output"), testing::MatchesRegex("put    service/one  revision [0-9]+\n"
                                                        "put    service/two  revision [0-9]+\n"
                                                        "put    service/three  revision [0-9]+\n"));
}

TEST_F(CliLink, GetWithWatchGoesOnTooAndListsOnce) {
  apply("zero");
  const auto watch = start({"get", "services", "-w", "-o", "name", "--count", "1"});
  ASSERT_TRUE(comes("output", "service/zero")) << contents("error");

  balancer_->kill();
  apply("one");
  ASSERT_TRUE(comes("error", "connection lost; following again from revision"));
  start_balancer();

  EXPECT_EQ(watch->wait(20s), 0) << contents("error");
  EXPECT_EQ(contents("output"), "service/zero\nservice/one\n");
}

TEST_F(CliLink, AWatchWhoseControllerStaysAwayEnds) {
  ChildProcess watch(
      {.arguments = {built("holdfast"), "--server", server(), "--wait", "2", "watch", "services"},
       .output_file = folder_.file("output"),
       .error_file = folder_.file("error")});
  ASSERT_TRUE(comes("error", "watching service")) << contents("error");

  balancer_->kill();

  EXPECT_EQ(watch.wait(20s), 69);
  EXPECT_THAT(contents("error"), AllOf(HasSubstr("connection lost"), HasSubstr("HF1001")));
}

TEST_F(CliLink, OfSeveralServersOneThatIsThereIsEnough) {
  const std::string several = "unix:/nowhere/a.sock," + controller_.unix_server();

  for (int i = 0; i < 5; ++i) {
    const ProgramOutcome listed = run_cli(several, {"get", "controllers", "-o", "name"});
    EXPECT_EQ(listed.exit_code, 0) << listed.error;
  }
  const ProgramOutcome none = run_cli("unix:/nowhere/a.sock,unix:/nowhere/b.sock", {"status"});
  EXPECT_EQ(none.exit_code, 69);
  EXPECT_THAT(none.error, HasSubstr("HF1001"));
}

TEST_F(CliLink, CachesAreListedAndANodeThatIsNotThereIsSaidSo) {
  const ProgramOutcome none = controller_.cli({"get", "caches"});
  const ProgramOutcome unknown = controller_.cli({"get", "caches", "agent/edge-1"});
  const ProgramOutcome gone =
      run_cli("unix:/nowhere", {"get", "caches", "--node", folder_.file("data")});

  EXPECT_EQ(none.exit_code, 0) << none.error;
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.error, HasSubstr("agent/edge-1"));
  EXPECT_EQ(gone.exit_code, 69);
  EXPECT_THAT(gone.error, HasSubstr("HF1310"));
}

}  // namespace
}  // namespace holdfast::test
