// Six proxies in three zones, sixty agents and an application behind all of them, real processes;
// traffic that is counted record by record goes through while things fail. Each test prints its
// ledger. Whatever fails, nothing is doubled, and no byte is lost in silence: a connection that
// cannot go on is reset. HF_LEDGER_SECONDS (4) is how long each fault lasts: `make ledger` takes
// ten minutes for the one where every controller is gone.
#include "e2e/tunnel_ledger.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>

#include "e2e/tunnel_app.h"
#include "e2e/tunnel_fleet.h"
#include "support/eventually.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr int kProxies = 6;
constexpr int kAgents = kSanitized ? 12 : 60;

Duration fault_time() {
  const char* text = std::getenv("HF_LEDGER_SECONDS");
  return std::chrono::seconds(text == nullptr ? 4 : std::max(1, std::atoi(text)));
}

// As a session of psql: longer the longer the faults.
Duration long_life() {
  return std::clamp<Duration>(fault_time() / 5, 3s, 30s);
}

Duration since(Time begin) {
  return SystemClock().now() - begin;
}

// One fleet for all tests: starting it takes longer than most of them.
struct World {
  World() {
    fleet.apply(
        "kind: service\nmetadata: {name: app}\n"
        "spec: {ports: [{name: main, port: 9000, protocol: tcp}]}\n");
    const char* zones[] = {"a", "b", "c"};
    for (int i = 0; i < kProxies; ++i)
      fleet.add_proxy(fmt::format("px-{}", i), zones[i % 3], {"app"}, soon_old);
    const std::string service = fmt::format("app=127.0.0.1:{}", app.port());
    for (int i = 0; i < kAgents; ++i)
      fleet.add_agent(fmt::format("edge-{:02}", i), zones[i % 3], {service}, soon_old);
  }

  // So that what nodes know is past its bound in every run without controllers.
  const Arguments soon_old = {"--set", "node.max_staleness=1s"};
  TunnelTestApp app;
  TunnelFleet fleet{{"presence.proxy_ttl=4s", "presence.agent_ttl=10s"}};
};

class TunnelLedger : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(eventually([this] { return tunnels() >= 2 * kAgents; }, 60s))
        << tunnels() << " tunnels\n"
        << fleet.log("edge-00") << fleet.log("px-0");
  }

  // Who skips or repeats a record on the way there does so in any test.
  void TearDown() override {
    EXPECT_EQ(app.skipped(), 0);
    EXPECT_EQ(app.doubled(), 0);
    EXPECT_EQ(app.strangers(), 0) << "connections whose first record was lost";
  }

  uint16_t port(const std::string& proxy) const { return fleet.ports(proxy).ingress[0]; }
  LedgerTrafficOptions usual() const {
    LedgerTrafficOptions options{.long_life = long_life()};
    for (const std::string& name : fleet.names("proxy")) options.ports.push_back(port(name));
    return options;
  }

  // As the agents announce them, by proxy.
  std::map<std::string, size_t> tunnels_by_proxy() {
    std::istringstream lines(fleet.cli({"get", "tunnels"}).output);
    std::map<std::string, size_t> count;
    for (std::string line; std::getline(lines, line);) {
      if (!line.contains(" connected ")) continue;
      for (const std::string& name : fleet.names("proxy")) {
        if (line.contains(name + " ")) ++count[name];
      }
    }
    return count;
  }
  // Without those to one proxy.
  size_t tunnels(const std::string& besides = "") {
    size_t all = 0;
    for (const auto& [proxy, count] : tunnels_by_proxy()) all += proxy == besides ? 0 : count;
    return all;
  }
  size_t tunnels_to(const std::vector<std::string>& proxies) {
    std::map<std::string, size_t> count = tunnels_by_proxy();
    size_t all = 0;
    for (const std::string& proxy : proxies) all += count[proxy];
    return all;
  }

  // Prints an interval, and expects of it what holds in all.
  static void report(const std::string& what, const LedgerTotals& totals) {
    std::cout << "LEDGER " << what << ": " << to_string(totals) << "\n";
    EXPECT_EQ(totals.bytes_silently_lost, 0) << what;
    EXPECT_EQ(totals.bytes_doubled, 0) << what;
  }

  static World& world() {
    static World made;
    return made;
  }
  TunnelTestApp& app = world().app;
  TunnelFleet& fleet = world().fleet;
};

void expect_nothing_lost(const LedgerTotals& totals) {
  EXPECT_EQ(totals.lost, 0);
  EXPECT_EQ(totals.unreachable, 0);
  EXPECT_EQ(totals.bytes_lost, 0);
  EXPECT_GT(totals.finished, 50);
}

TEST_F(TunnelLedger, WithoutFaultsNothingIsLost) {
  Traffic traffic(usual());

  let_pass(fault_time());

  const LedgerTotals totals = traffic.stop();
  report("no fault", totals);
  expect_nothing_lost(totals);
}

TEST_F(TunnelLedger, DrainingAProxyLosesNothing) {
  Traffic traffic(usual());
  let_pass(1s);

  const Time begin = SystemClock().now();
  fleet.process("px-0").terminate();
  const int exit_code = fleet.process("px-0").wait(60s);
  const Duration took = since(begin);
  let_pass(1s);

  const LedgerTotals totals = traffic.stop();
  report(fmt::format("drain, done in {}", to_short_string(took)), totals);
  EXPECT_EQ(exit_code, 0) << fleet.log("px-0");
  expect_nothing_lost(totals);
  fleet.start("px-0");
  EXPECT_TRUE(eventually([this] { return tunnels() >= 2 * kAgents; }, 30s));
}

TEST_F(TunnelLedger, ARollingUpgradeLosesNothing) {
  Traffic traffic(usual());
  let_pass(1s);

  const Time begin = SystemClock().now();
  std::vector<std::string> upgraded;
  for (const std::string& name : fleet.names("proxy")) {
    fleet.process(name).terminate();
    ASSERT_EQ(fleet.process(name).wait(120s), 0) << fleet.log(name);
    fleet.start(name, {"--generation", "2"});
    upgraded.push_back(name);
    // Every agent goes to the new generation, and is redundant there once it can be.
    const size_t wanted = kAgents * std::min<size_t>(upgraded.size(), 2);
    EXPECT_TRUE(eventually([&] { return tunnels_to(upgraded) >= wanted; }, 60s))
        << tunnels_to(upgraded) << " tunnels to " << upgraded.size() << " new proxies\n"
        << fleet.log(name);
  }
  const Duration took = since(begin);
  let_pass(1s);

  const LedgerTotals totals = traffic.stop();
  report(fmt::format("rolling upgrade of {} proxies in {}", kProxies, to_short_string(took)),
         totals);
  expect_nothing_lost(totals);
}

TEST_F(TunnelLedger, AKilledProxyCostsItsOwnConnectionsOnly) {
  Traffic traffic(usual());
  let_pass(2s);

  traffic.about_to_kill(port("px-1"));
  fleet.process("px-1").kill();
  const Time begin = SystemClock().now();
  const bool again = eventually([this] { return tunnels("px-1") >= 2 * kAgents; }, 30s);
  const Duration redundant = since(begin);
  const LedgerTotals during = traffic.take();
  let_pass(fault_time());
  const LedgerTotals after = traffic.take();
  fleet.start("px-1");
  const LedgerTotals back = traffic.stop();

  report(fmt::format("kill -9, redundant again in {}", to_short_string(redundant)), during);
  report("kill -9, afterwards", after);
  report("kill -9, it is back", back);
  EXPECT_TRUE(again);
  // Those that ran through it: a sixth of thirty came in at it, and as many were handed to it by
  // the proxies they came in at; ten, give or take. Once it is gone it costs no more.
  EXPECT_GT(during.lost, 0);
  EXPECT_LT(during.lost, 22);
  EXPECT_EQ(after.lost, 0);
  EXPECT_EQ(after.bytes_lost, 0);
  EXPECT_EQ(during.unreachable + after.unreachable, 0);
}

TEST_F(TunnelLedger, AFrozenProxyIsLeftBySeconds) {
  Traffic traffic(usual());
  let_pass(2s);

  fleet.process("px-2").freeze();
  const Time begin = SystemClock().now();
  const bool again = eventually([this] { return tunnels("px-2") >= 2 * kAgents; }, 60s);
  const Duration redundant = since(begin);
  // Connections that hang in it are its own; new ones find another after their first timeout.
  const LedgerTotals leaving = traffic.take();
  let_pass(fault_time());
  const LedgerTotals left = traffic.take();
  fleet.process("px-2").thaw();
  const LedgerTotals back = traffic.stop();

  report(fmt::format("SIGSTOP, left within {}", to_short_string(redundant)), leaving);
  report("SIGSTOP, afterwards", left);
  report("SIGSTOP, it goes on", back);
  EXPECT_TRUE(again);
  EXPECT_EQ(leaving.unreachable + left.unreachable, 0);
}

TEST_F(TunnelLedger, WithEveryControllerGoneTrafficAndNewConnectionsGoOn) {
  Traffic traffic(usual());
  let_pass(1s);

  fleet.controller().kill();
  let_pass(fault_time());
  fleet.process("edge-00").kill();  // a node that starts while nobody holds the truth
  fleet.start("edge-00");
  let_pass(fault_time());
  const LedgerTotals totals = traffic.take();
  fleet.controller().start();
  const LedgerTotals back = traffic.stop();

  report("no controller", totals);
  report("no controller, it is back", back);
  EXPECT_EQ(totals.unreachable, 0);
  EXPECT_LT(totals.lost, 10) << "those of one killed agent";
  EXPECT_GT(totals.finished, 50);
}

TEST_F(TunnelLedger, EverythingKilledAndStartedAgainServesAgain) {
  for (const std::string& role : {"proxy", "agent"}) {
    for (const std::string& name : fleet.names(role)) fleet.process(name).kill();
  }
  fleet.controller().kill();

  const Time begin = SystemClock().now();
  fleet.controller().start();
  for (const std::string& role : {"proxy", "agent"}) {
    for (const std::string& name : fleet.names(role)) fleet.start(name);
  }
  LedgerTrafficOptions patient = usual();
  patient.give_up = 60s;
  Traffic traffic(patient);
  const bool serves = eventually([&] { return traffic.totals().opened > 30; }, 60s);
  const Duration took = since(begin);
  const bool whole = eventually([this] { return tunnels() >= 2 * kAgents; }, 60s);
  const LedgerTotals totals = traffic.stop();

  report(fmt::format("all restarted, serving after {}", to_short_string(took)), totals);
  EXPECT_TRUE(serves);
  EXPECT_TRUE(whole);
  EXPECT_EQ(totals.lost, 0);
  EXPECT_EQ(totals.bytes_lost, 0);
}

}  // namespace
}  // namespace holdfast::test
