// Commands that look at a pair from outside, as an operator with both addresses: a watch goes
// through a switchover without a gap, and `check` says how the pair is, whichever half is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "e2e/api_client.h"
#include "e2e/loopback_pair.h"
#include "support/eventually.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CliAtAPair : public testing::Test {
 protected:
  void SetUp() override {
    const ProgramOutcome pin = primary().cli({"rotate", "status"});
    const size_t begin = pin.output.find("sha256:");
    ASSERT_NE(begin, std::string::npos) << pin.output << pin.error;
    std::ofstream(folder_.file("password")) << "correct horse\n";
    const ProgramOutcome ann = primary().cli(
        {"user", "create", "ann", "--role", "admin", "--password-file", folder_.file("password")});
    ASSERT_EQ(ann.exit_code, 0) << ann.error;
    const ProgramOutcome in =
        run_program({.arguments = holdfast({"login", "--user", "ann", both(), "--pin",
                                            pin.output.substr(begin, 71), "--password-file",
                                            folder_.file("password")})});
    ASSERT_EQ(in.exit_code, 0) << in.error;
  }
  ClusterProcess& primary() { return pair_.primary(); }
  ControllerProcess& backup() { return pair_.backup(); }
  // The passive one first.
  std::string both() { return backup().tcp_server() + "," + primary().tcp_server(); }
  Arguments holdfast(Arguments arguments) {
    arguments.insert(arguments.begin(), {built("holdfast"), "--profile", folder_.file("profile")});
    return arguments;
  }
  ProgramOutcome run(const Arguments& arguments, std::string input = "") {
    return run_program({.arguments = holdfast(arguments), .input = std::move(input)});
  }
  std::string text_of(const std::string& file) {
    std::ifstream in(folder_.file(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool applies(const std::string& name) {
    const Arguments apply = {"apply", "-f", "-"};
    const auto applied = [&] { return run(apply, service_yaml(name)).exit_code == 0; };
    return eventually(applied, 20s);
  }

  LoopbackPair pair_{"witness"};
  TempDir folder_;
};

TEST_F(CliAtAPair, AWatchBeginsAtTheActiveHalfWhicheverIsAskedFirst) {
  ASSERT_TRUE(applies("web"));
  for (int round = 0; round < 8; ++round) {  // whom it asks first is chance
    const ProgramOutcome watched = run({"watch", "services", "--after", "1", "--count", "1"});
    EXPECT_EQ(watched.exit_code, 0) << watched.error;
    EXPECT_THAT(watched.output, HasSubstr("service/web"));
  }
  const ProgramOutcome only =
      run({"--server", backup().tcp_server(), "watch", "services", "--after", "1", "--count", "1"});
  EXPECT_EQ(only.exit_code, 0) << only.error;
}

// The backup was never active, and its history begins with the copy that it took.
TEST_F(CliAtAPair, AWatchGoesThroughSwitchoversWithoutAGap) {
  ASSERT_TRUE(applies("before"));
  ChildProcess watch({.arguments = holdfast({"watch", "services", "--count", "3"}),
                      .output_file = folder_.file("watch.log")});
  ASSERT_TRUE(eventually([&] { return text_of("watch.log").contains("watching"); }, 10s));

  for (const char* name : {"first", "second", "third"}) {
    ASSERT_TRUE(applies(name));
    const auto switches = [&] { return run({"ha", "switchover"}).exit_code == 0; };
    ASSERT_TRUE(eventually(switches, 20s)) << pair_.describe();
  }

  EXPECT_EQ(watch.wait(30s), 0) << text_of("watch.log");
  EXPECT_THAT(text_of("watch.log"), AllOf(HasSubstr("service/first"), HasSubstr("service/second"),
                                          HasSubstr("service/third"), Not(HasSubstr("HF6023")),
                                          Not(HasSubstr("not known any more"))));
}

TEST_F(CliAtAPair, CheckFindsAWholePairWellAtEitherHalf) {
  // A half that stood still for a moment is one that the other has not confirmed.
  ProgramOutcome found;
  const auto is_well = [&](const ProgramOutcome& outcome) {
    found = outcome;
    return found.exit_code == 0;
  };
  for (const Arguments& check :
       {Arguments{"check"}, {"--server", backup().tcp_server(), "check"}}) {
    EXPECT_TRUE(eventually([&] { return is_well(run(check)); }, 30s)) << found.output;
    EXPECT_THAT(found.output, AllOf(HasSubstr("the pair is whole"), HasSubstr("none on either")));
  }
  EXPECT_TRUE(eventually([&] { return is_well(backup().cli({"check"})); }, 30s)) << found.output;
  const ProgramOutcome& passive = found;
  EXPECT_THAT(passive.output,
              AllOf(HasSubstr("the passive half"), HasSubstr("passive; primary is active")));
}

TEST_F(CliAtAPair, CheckSaysWhatAPairLacks) {
  backup().kill();
  ASSERT_NE(backup().wait(10s), -1);
  pair_.witness().kill();
  const auto found = [&] { return run({"check", "--fail-on", "warning"}); };

  EXPECT_TRUE(eventually([&] { return found().output.contains("HF4102"); }, 20s))
      << found().output << found().error;
  EXPECT_TRUE(eventually([&] { return found().output.contains("HF4111"); }, 20s))
      << found().output << found().error;
  EXPECT_NE(found().exit_code, 0);
}

TEST_F(CliAtAPair, CheckEndsSoonWhenNobodyServes) {
  pair_.witness().kill();
  primary().kill();
  ASSERT_NE(primary().wait(10s), -1);
  const auto begun = std::chrono::steady_clock::now();

  const ProgramOutcome found = backup().cli({"check"});

  EXPECT_LT(std::chrono::steady_clock::now() - begun, 9s) << "not one timeout after the other";
  EXPECT_NE(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr("FAIL")) << found.error;
}

// It cannot be told what becomes of it, so nothing is begun.
TEST_F(CliAtAPair, ASwitchoverWithoutItsWitnessIsRefusedAndStopsNothing) {
  pair_.witness().kill();
  const auto known = [&] { return run({"ha", "status"}).output.contains("HF4111"); };
  ASSERT_TRUE(eventually(known, 20s)) << pair_.describe();

  // The half that is asked may learn it later than the one that said so. Until then it begins, is
  // not confirmed, and goes on: nothing moves either way.
  const auto is_refused = [&] {
    const ProgramOutcome refused = run({"ha", "switchover"});
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_THAT(refused.error, HasSubstr("HF4104"));
    return refused.error.contains("nothing was changed");
  };
  EXPECT_TRUE(eventually(is_refused, 30s)) << pair_.describe();
  EXPECT_EQ(run({"apply", "-f", "-"}, service_yaml("web")).exit_code, 0) << pair_.describe();
}

// It goes away when it has just been asked, or is about to be.
TEST_F(CliAtAPair, WritesGoOnAfterASwitchoverThatTheWitnessNeverAnswered) {
  ASSERT_TRUE(applies("before"));
  pair_.witness().freeze();
  const ProgramOutcome lost = run({"ha", "switchover"});
  EXPECT_THAT(lost.error, HasSubstr("HF4104")) << lost.output;
  EXPECT_TRUE(applies("after")) << pair_.describe();
  pair_.witness().thaw();
  EXPECT_TRUE(applies("at-last")) << pair_.describe();
}

}  // namespace
}  // namespace holdfast::test
