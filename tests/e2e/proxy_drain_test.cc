// A proxy is taken out of service by a person at another machine, and by signals: who follows it
// hears how it ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "e2e/connect_fleet.h"
#include "e2e/fleet.h"
#include "support/eventually.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class ProxyDrainTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fleet_.reaches("ann", "p-1")) << fleet_.logs();
    // Until then a controller cannot say where it is.
    ASSERT_TRUE(eventually(
        [&] { return fleet_.as("ann", {"get", "proxies"}).output.contains(public_); }, 20s));
  }

  // A connection through the proxy that goes on until someone ends it.
  std::unique_ptr<HttpClient> run_connection() {
    port_ =
        std::make_unique<ConnectPort>(fleet_, "ann", Arguments{"web", "--listen", "127.0.0.1:0"});
    auto client = std::make_unique<HttpClient>(port_->address());
    const Record first{.connection = 1, .number = 1};
    std::string bytes(sizeof first, '\0');
    std::memcpy(bytes.data(), &first, sizeof first);
    client->send(bytes);
    EXPECT_EQ(client->read_until(bytes), bytes) << port_->errors();
    return client;
  }
  ChildProcess& proxy() { return fleet_.fleet().process("p-1"); }
  std::string proxy_log() const { return fleet_.logs(); }

  ConnectFleet fleet_;
  const std::string public_ = fleet_.public_address("p-1");
  std::unique_ptr<ConnectPort> port_;
};

TEST_F(ProxyDrainTest, WhoDrainsItFromAfarFollowsItToItsEnd) {
  const auto running = run_connection();
  const std::string output = fleet_.file("drain.out");
  const std::string errors = fleet_.file("drain.err");
  ChildProcess drain(
      {.arguments = fleet_.command("ann", {"proxy", "drain", "p-1", "--timeout", "8s"}),
       .output_file = output,
       .error_file = errors});

  EXPECT_TRUE(eventually(
      [&] {
        return fleet_.as("ann", {"connect", "web", "--proxy", public_}).error.contains("HF2315");
      },
      8s))
      << proxy_log();
  EXPECT_EQ(drain.wait(30s), 0) << read_text(errors) << proxy_log();
  EXPECT_THAT(read_text(output), ContainsRegex("proxy/p-1 drained in [0-9]+s; 1 connection cut"));
  EXPECT_THAT(read_text(errors), HasSubstr("1 connection left"));
  EXPECT_TRUE(running->is_closed());
  EXPECT_TRUE(eventually(
      [&] { return fleet_.as("ann", {"get", "proxies"}).output.contains(" drained "); }, 10s))
      << fleet_.as("ann", {"get", "proxies"}).output;
  EXPECT_TRUE(proxy().running()) << "until it is stopped";
}

TEST_F(ProxyDrainTest, ASecondDrainMayEndItSooner) {
  const auto running = run_connection();
  const std::string errors = fleet_.file("drain.err");
  ChildProcess first(
      {.arguments = fleet_.command("ann", {"proxy", "drain", "p-1", "--timeout", "10m"}),
       .output_file = fleet_.file("drain.out"),
       .error_file = errors});
  ASSERT_TRUE(eventually([&] { return read_text(errors).contains("1 connection left"); }, 20s));

  const ProgramOutcome second = fleet_.as("ann", {"proxy", "drain", "p-1", "--timeout", "1s"});

  EXPECT_EQ(second.exit_code, 0) << second.error << proxy_log();
  EXPECT_THAT(second.output, HasSubstr("1 connection cut"));
  EXPECT_EQ(first.wait(30s), 0) << read_text(errors);
  EXPECT_TRUE(running->is_closed());
}

TEST_F(ProxyDrainTest, WithNothingRunningNothingIsCutAndARestartUndoesIt) {
  const ProgramOutcome drained = fleet_.as("ann", {"proxy", "drain", "p-1", "--timeout", "2s"});

  EXPECT_EQ(drained.exit_code, 0) << drained.error << proxy_log();
  EXPECT_THAT(drained.output, ContainsRegex("proxy/p-1 drained in .*; nothing was cut"));
  const ProgramOutcome again = fleet_.as("ann", {"proxy", "drain", "p-1", "--proxy", public_});
  EXPECT_EQ(again.output, drained.output) << "how it was, not how long ago";
  proxy().terminate();
  EXPECT_EQ(proxy().wait(10s), 0) << proxy_log();
  fleet_.fleet().start("p-1");
  EXPECT_TRUE(fleet_.reaches("ann", "p-1")) << proxy_log();
}

TEST_F(ProxyDrainTest, AnotherProxyThanTheOneThatIsNamedIsNotDrained) {
  const ProgramOutcome drained = fleet_.as("ann", {"proxy", "drain", "p-2", "--proxy", public_});

  EXPECT_EQ(drained.exit_code, 65) << drained.error;
  EXPECT_THAT(drained.error, AllOf(HasSubstr("HF2146"), HasSubstr("proxy/p-1")));
  EXPECT_TRUE(fleet_.reaches("ann", "p-1"));
}

TEST_F(ProxyDrainTest, WhoMayOnlyLookDrainsNothing) {
  const ProgramOutcome refused = fleet_.as("bob", {"proxy", "drain", "p-1", "--timeout", "2s"});

  EXPECT_EQ(refused.exit_code, 77) << refused.output;
  EXPECT_THAT(refused.error, AllOf(HasSubstr("HF5001"), HasSubstr("next:")));
  EXPECT_TRUE(fleet_.reaches("ann", "p-1"));
}

TEST_F(ProxyDrainTest, WhoFollowsHearsTheEndOfAProxyThatIsStoppedMeanwhile) {
  const auto running = run_connection();
  const std::string output = fleet_.file("drain.out");
  const std::string errors = fleet_.file("drain.err");
  ChildProcess drain(
      {.arguments = fleet_.command("ann", {"proxy", "drain", "p-1", "--timeout", "4s"}),
       .output_file = output,
       .error_file = errors});
  ASSERT_TRUE(eventually([&] { return !read_text(errors).empty(); }, 10s));

  proxy().terminate();

  EXPECT_EQ(proxy().wait(20s), 0) << proxy_log();
  EXPECT_EQ(drain.wait(10s), 0) << read_text(errors);
  EXPECT_THAT(read_text(output), HasSubstr("1 connection cut"));
}

TEST_F(ProxyDrainTest, OfAProxyThatDiesMeanwhileNothingIsSaidThatIsNotKnown) {
  const auto running = run_connection();
  const std::string output = fleet_.file("drain.out");
  const std::string errors = fleet_.file("drain.err");
  ChildProcess drain(
      {.arguments = fleet_.command("ann", {"proxy", "drain", "p-1", "--timeout", "1m"}),
       .output_file = output,
       .error_file = errors});
  ASSERT_TRUE(eventually([&] { return !read_text(errors).empty(); }, 10s));

  proxy().kill();

  EXPECT_EQ(drain.wait(30s), 69) << read_text(errors);
  EXPECT_THAT(read_text(errors), AllOf(HasSubstr("HF2144"), HasSubstr("1 connection left")));
  EXPECT_EQ(read_text(output), "");
}

TEST_F(ProxyDrainTest, ASecondSignalCutsAtOnce) {
  const auto running = run_connection();
  proxy().terminate();
  ASSERT_TRUE(eventually([&] { return proxy_log().contains("draining"); }, 10s));
  EXPECT_EQ(proxy().wait(1s), -1) << "a connection runs, and has 20 s";

  proxy().terminate();

  EXPECT_EQ(proxy().wait(15s), 0) << proxy_log();
  EXPECT_TRUE(running->is_closed());
}

}  // namespace
}  // namespace holdfast::test
