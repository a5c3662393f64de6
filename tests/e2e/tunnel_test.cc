// An agent, a proxy and a client as real processes: what an operator does with them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "e2e/fleet.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr const char* kService =
    "kind: service\nmetadata: {name: web}\nspec: {ports: [{port: 80, protocol: http}]}\n";

// The service is the agent's own health endpoint: an application that is there anyway.
class TunnelTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<uint16_t> ports = free_ports(2);
    app_ = fmt::format("127.0.0.1:{}", ports[0]);
    door_ = fmt::format("127.0.0.1:{}", ports[1]);
    const ProgramOutcome applied = fleet_.controller().cli({"apply", "-f", "-"}, kService);
    ASSERT_EQ(applied.exit_code, 0) << applied.error;
    fleet_.add("proxy", "p-1", {"--ingress", "tcp:" + door_ + "=web"});
    fleet_.add("agent", "a-1", {"--listen", app_, "--service", "web=" + app_});
  }

  bool reaches() { return HttpClient(door_).ask("GET /livez").status == 200; }
  std::string logs() const { return fleet_.log("p-1") + fleet_.log("a-1"); }

  Fleet fleet_;
  std::string app_, door_;
};

TEST_F(TunnelTest, AClientReachesAServiceAndAnOperatorSeesHow) {
  ASSERT_TRUE(eventually([&] { return reaches(); }, 20s)) << logs();

  EXPECT_TRUE(eventually(
      [&] {
        const std::string tunnels = fleet_.cli({"get", "tunnels"}).output;
        return tunnels.contains("p-1") && tunnels.contains("connected");
      },
      10s))
      << fleet_.cli({"get", "tunnels"}).output;
  EXPECT_THAT(fleet_.cli({"get", "tunnels", "--node", fleet_.data_dir("a-1")}).output,
              ContainsRegex("a-1 .*p-1 +connected"));
  EXPECT_THAT(fleet_.cli({"get", "tunnels", "--node", fleet_.data_dir("p-1")}).output,
              ContainsRegex("a-1 .*p-1 +connected"));
  // Two are wanted, and there is one proxy: worth a note, and nothing is broken.
  EXPECT_TRUE(eventually(
      [&] { return fleet_.cli({"get", "agents"}).output.contains("online (HF2133)"); }, 10s));
  EXPECT_THAT(fleet_.cli({"get", "agents"}).output, ContainsRegex("a-1 +online .HF2133. +1/2 "));
  EXPECT_EQ(HttpClient(app_).ask("GET /readyz").status, 200);
  EXPECT_THAT(fleet_.cli({"get", "proxies"}).output, ContainsRegex("p-1 +online +1 "));
}

TEST_F(TunnelTest, AProxyThatDrainsSaysSoAndEndsAtSigterm) {
  ASSERT_TRUE(eventually([&] { return reaches(); }, 20s)) << logs();

  const ProgramOutcome drained =
      fleet_.cli({"proxy", "drain", "p-1", "--timeout", "5s", "--node", fleet_.data_dir("p-1")});

  EXPECT_EQ(drained.exit_code, 0) << drained.error << logs();
  EXPECT_THAT(drained.output, HasSubstr("proxy/p-1 drained in"));
  EXPECT_TRUE(
      eventually([&] { return fleet_.cli({"get", "proxies"}).output.contains("drained"); }, 10s));
  fleet_.process("p-1").terminate();
  EXPECT_EQ(fleet_.process("p-1").wait(20s), 0) << logs();
}

TEST_F(TunnelTest, AReloadExposesAnotherService) {
  const std::string file = fleet_.data_dir("agent.yaml");
  const auto write = [&](std::string_view services) {
    std::ofstream(file) << fmt::format("agent: {{services: [{}]}}\n", services);
  };
  write("");
  fleet_.add("agent", "a-2", {"--config", file});
  ASSERT_TRUE(eventually([&] { return fleet_.all_online(); }, 10s)) << fleet_.log("a-2");

  write("\"shop=127.0.0.1:1\"");
  ::kill(fleet_.process("a-2").pid(), SIGHUP);

  EXPECT_TRUE(eventually(
      [&] { return fleet_.cli({"get", "agent/a-2", "-o", "yaml"}).output.contains("shop"); }, 10s))
      << fleet_.log("a-2");
}

TEST_F(TunnelTest, AReloadChangesHowLongAStoppingAgentWaits) {
  const std::string file = fleet_.data_dir("agent.yaml");
  const auto write = [&](std::string_view patience) {
    std::ofstream(file) << fmt::format("agent: {{services: [\"web={}\"], stop_timeout: {}}}\n",
                                       app_, patience);
  };
  write("1h");
  fleet_.process("a-1").kill();
  fleet_.add("agent", "a-2", {"--listen", app_, "--config", file});
  ASSERT_TRUE(eventually([&] { return reaches(); }, 20s)) << fleet_.log("a-2");
  HttpClient running(door_);
  ASSERT_TRUE(running.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_EQ(running.read_reply().status, 200);

  write("0s");
  ::kill(fleet_.process("a-2").pid(), SIGHUP);
  ASSERT_TRUE(eventually([&] { return fleet_.log("a-2").contains("read again"); }, 10s));
  fleet_.process("a-2").terminate();

  EXPECT_EQ(fleet_.process("a-2").wait(15s), 0) << fleet_.log("a-2");
}

TEST_F(TunnelTest, ASecondSignalEndsAStoppingAgentAtOnce) {
  const std::string file = fleet_.data_dir("agent.yaml");
  std::ofstream(file) << fmt::format("agent: {{services: [\"web={}\"], stop_timeout: 1h}}\n", app_);
  fleet_.process("a-1").kill();
  fleet_.add("agent", "a-2", {"--listen", app_, "--config", file});
  ASSERT_TRUE(eventually([&] { return reaches(); }, 20s)) << fleet_.log("a-2");
  HttpClient running(door_);
  ASSERT_TRUE(running.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_EQ(running.read_reply().status, 200);
  fleet_.process("a-2").terminate();
  ASSERT_TRUE(eventually([&] { return fleet_.log("a-2").contains("stopping"); }, 10s));
  EXPECT_EQ(fleet_.process("a-2").wait(1s), -1) << "a connection runs, and has an hour";

  fleet_.process("a-2").terminate();

  EXPECT_EQ(fleet_.process("a-2").wait(20s), 0) << fleet_.log("a-2");
}

// Between announcements that only say that a proxy is still there lie minutes here.
TEST(TunnelCount, IsAnnouncedWhenItChanges) {
  Fleet fleet({"presence.proxy_ttl=10m"});
  const auto says = [&fleet](const std::string& row) {
    return eventually(
        [&] { return testing::Matches(ContainsRegex(row))(fleet.cli({"get", "proxies"}).output); },
        20s);
  };
  fleet.add("proxy", "p-1");
  ASSERT_TRUE(says("p-1 +online +0 ")) << fleet.log("p-1");

  fleet.add("agent", "a-1");
  EXPECT_TRUE(says("p-1 +online +1 ")) << fleet.cli({"get", "proxies"}).output;

  fleet.process("a-1").terminate();
  EXPECT_TRUE(says("p-1 +online +0 ")) << fleet.cli({"get", "proxies"}).output;
  const std::string entry = fleet.cli({"get", "proxy/p-1", "-o", "yaml"}).output;
  EXPECT_TRUE(entry.contains("announce_ttl: 10m")) << "as the controllers say: " << entry;
}

// Three proxies and an agent; what the cluster asks of them changes while they run.
class NetworkingConfig : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"p-1", "p-2", "p-3"}) fleet_.add("proxy", name);
    fleet_.add("agent", "a-1");
  }

  void configure(std::string_view spec) {
    const ProgramOutcome applied = fleet_.controller().cli(
        {"apply", "-f", "-"},
        fmt::format("kind: networking_config\nmetadata: {{name: default}}\nspec: {}\n", spec));
    EXPECT_EQ(applied.exit_code, 0) << applied.error;
  }
  size_t tunnels() {
    std::istringstream lines(fleet_.cli({"get", "tunnels"}).output);
    size_t count = 0;
    for (std::string line; std::getline(lines, line);)
      count += line.contains(" connected ") ? 1 : 0;
    return count;
  }
  testing::AssertionResult comes_to(size_t count) {
    if (eventually([&] { return tunnels() == count; }, 30s)) return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << fleet_.cli({"get", "tunnels"}).output << fleet_.log("a-1");
  }

  Fleet fleet_;
};

TEST_F(NetworkingConfig, ChangesTheTunnelsOfAnAgentThatRuns) {
  ASSERT_TRUE(comes_to(2));

  configure("{agent_connection_count: 1, disconnect_threshold: 1s}");
  EXPECT_TRUE(comes_to(1));

  configure("{tunnel_strategy: agent_mesh}");
  EXPECT_TRUE(comes_to(3));

  configure("{agent_connection_count: 2, disconnect_threshold: 1s}");
  EXPECT_TRUE(comes_to(2));
  for (const std::string& name : fleet_.names()) {
    EXPECT_TRUE(fleet_.process(name).running()) << fleet_.log(name);
  }
}

}  // namespace
}  // namespace holdfast::test
