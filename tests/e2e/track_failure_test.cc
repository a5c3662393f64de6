// What becomes of the kernel's counts when the agent dies under load, when programs were away, when
// nothing is loaded at all, and when the agent has no rights.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "e2e/track_fleet.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kNobody = "65534";

class TrackFailure : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TrackFleet::why_not(); !why.empty()) {
      GTEST_SKIP() << "not counted in the kernel here: " << why;
    }
    fleet_ = std::make_unique<TrackFleet>();
    fleet_->apply_web();
  }

  std::string check() { return fleet_->cluster().cli({"check", "--only", "tracking"}).output; }
  double total(const char* name) { return fleet_->metric(name).value_or(-1); }
  double opened() { return total("holdfast_opened_connections_total"); }
  double closed() { return total("holdfast_closed_connections_total"); }

  std::unique_ptr<TrackFleet> fleet_;
};

// The sockets of this network that are connected to a port, or whose end is on its way.
size_t connected_to(uint16_t port) {
  std::ifstream table("/proc/net/tcp");
  const std::string suffix = fmt::format(":{:04X}", port);
  size_t count = 0;
  std::string slot, local, remote, state;
  for (std::string line; std::getline(table, line);) {
    std::istringstream(line) >> slot >> local >> remote >> state;
    const bool open = state == "01" || state == "04";  // ESTABLISHED, FIN_WAIT1
    if (open && remote.ends_with(suffix)) ++count;
  }
  return count;
}

// Connects and closes all the time, for so many seconds; count() waits for its end.
class Churn {
 public:
  Churn(const TrackFleet& fleet, int seconds)
      : patience_(std::chrono::seconds(seconds + 30)),
        process_(
            {.arguments = fleet.inside({"/usr/bin/python3", in_tree("tests/e2e/track_client.py"),
                                        "churn", kWebIp, "80", std::to_string(seconds)}),
             .output_file = dir_.file("output")}) {}

  long count() {
    EXPECT_EQ(process_.wait(patience_), 0);
    std::ifstream file(dir_.file("output"));
    long connected = -1;
    file >> connected;
    return connected;
  }

 private:
  Duration patience_;
  TempDir dir_;
  ChildProcess process_;
};

TEST_F(TrackFailure, AnAgentKilledUnderLoadLosesNothing) {
  fleet_->load();
  fleet_->start_agent();
  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();
  ASSERT_TRUE(eventually([&] { return opened() >= 1 && opened() == closed(); }, 10s));
  const double before = opened();

  Churn one(*fleet_, 9);
  Churn two(*fleet_, 9);
  for (int kill = 0; kill < 2; ++kill) {
    let_pass(2s);
    fleet_->kill_agent();
    let_pass(1s);  // connections come and go with nobody there
    fleet_->start_agent();
  }
  const double made = static_cast<double>(one.count() + two.count());

  EXPECT_GT(made, 200);
  EXPECT_TRUE(eventually([&] { return opened() == before + made && closed() == opened(); }, 20s))
      << opened() << " opened and " << closed() << " closed, " << before + made << " made";
  EXPECT_EQ(total("holdfast_active_connections"), 0);
  EXPECT_EQ(total("holdfast_track_drift_connections_total"), 0);
  std::cout << "agent killed twice under load: " << made << " connections made, "
            << opened() - before << " counted, drift "
            << total("holdfast_track_drift_connections_total") << "\n";
}

TEST_F(TrackFailure, EndsThatNobodySawAreFoundAndRepaired) {
  fleet_->load();
  fleet_->start_agent();
  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();
  Holder clients(*fleet_, 12);
  const Holder others(*fleet_, 3);
  ASSERT_TRUE(eventually([&] { return total("holdfast_active_connections") == 15; }, 5s));
  fleet_->kill_agent();
  ASSERT_TRUE(fleet_->detach_sockops());
  clients.end();
  ASSERT_TRUE(eventually([&] { return connected_to(fleet_->port_of("a")) == 3; }, 10s));
  EXPECT_THAT(fleet_->track("check").output, HasSubstr("HF8110: hf_sockops"));
  fleet_->load();

  fleet_->start_agent();

  EXPECT_TRUE(eventually([&] { return total("holdfast_active_connections") == 3; }, 15s))
      << total("holdfast_active_connections");
  const double drift = total("holdfast_track_drift_connections_total");
  EXPECT_EQ(drift, 12);
  EXPECT_THAT(fleet_->agent_log(),
              ContainsRegex("counts were not what the sockets say.*missed_ends.*12"));
  std::cout << "drift found and repaired: " << drift << " ends of tcp 10.96.0.1:80 in zone a\n";
}

TEST_F(TrackFailure, WithoutProgramsTheAgentIsReadyAndSaysWhy) {
  fleet_->start_agent();
  ASSERT_TRUE(eventually([&] { return fleet_->ready().ends_with("\n200"); }, 15s))
      << fleet_->ready();

  ASSERT_TRUE(eventually([&] { return check().contains("edge-1: HF8108 opening"); }, 10s))
      << check();

  EXPECT_THAT(check(), HasSubstr("1 warning"));
  EXPECT_THAT(fleet_->ready(), AllOf(HasSubstr("tracking"), HasSubstr("HF8108")));
  EXPECT_THAT(fleet_->cluster().cli({"get", "agents", "-o", "wide"}).output,
              HasSubstr("tracking: HF8108"));
  std::cout << "off:\n" << check();

  fleet_->load();
  ASSERT_TRUE(fleet_->answers("a")) << "no restart is needed: " << fleet_->agent_log();
  EXPECT_TRUE(eventually([&] { return check().contains("1 passed"); }, 10s)) << check();
  EXPECT_TRUE(eventually([&] { return !fleet_->ready().contains("HF81"); }, 10s))
      << fleet_->ready();
  std::cout << "on:\n" << check();

  ASSERT_EQ(fleet_->track("unload").exit_code, 0);
  EXPECT_TRUE(eventually([&] { return check().contains("HF8108"); }, 10s)) << check();
  EXPECT_TRUE(fleet_->ready().ends_with("\n200")) << "a warning, no more";

  // What is loaded anew counts from zero, which is not a jump.
  fleet_->load();
  ASSERT_TRUE(fleet_->answers("a"));
  EXPECT_TRUE(eventually([&] { return opened() > 0 && opened() < 1000; }, 10s)) << opened();
}

TEST_F(TrackFailure, SaysWhatKeepsAMachineFromIt) {
  const ProgramOutcome loaded =
      run_program({.arguments = {built("holdfastd"), "track", "load", "--pins", fleet_->pins(),
                                 "--cgroup", "/tmp/no-cgroup"}});
  const ProgramOutcome check =
      run_program({.arguments = {built("holdfastd"), "track", "check", "--pins", "/tmp/nothing",
                                 "--cgroup", "/tmp/no-cgroup"}});
  const ProgramOutcome joined =
      run_program({.arguments = {built("holdfastd"), "track", "exec", "--cgroup", "/tmp/no-cgroup",
                                 "--", "true"}});

  EXPECT_EQ(loaded.exit_code, 1);
  EXPECT_THAT(loaded.error, HasSubstr("HF8103"));
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_THAT(check.output, AllOf(HasSubstr("to load   HF8103"), HasSubstr("loaded    HF8108"),
                                  HasSubstr("agent.tracking.enabled is no")));
  EXPECT_EQ(joined.exit_code, 1);
  EXPECT_THAT(joined.error, HasSubstr("HF8103"));
}

TEST_F(TrackFailure, ABackendThatRefusesIsPassedOverAndShown) {
  fleet_->add_app("a2");
  fleet_->load();
  fleet_->start_agent({"agent.tracking.refusals_to_eject=3", "agent.tracking.probe_after=1m",
                       "agent.tracking.probe_at_most=1m"});
  const uint16_t nobody = free_ports(1).front();
  fleet_->cluster().apply(fmt::format(
      "kind: service\nmetadata: {{name: web}}\nspec: {{virtual_ip: {}, ports: [{{port: 80, "
      "protocol: http}}], endpoints: [{{address: '127.0.0.1:{}', zone: a}}, {{address: "
      "'127.0.0.1:{}', zone: a}}]}}\n",
      kWebIp, fleet_->port_of("a2"), nobody));
  ASSERT_TRUE(fleet_->answers("a2")) << fleet_->agent_log();

  int failed = 0;
  for (int i = 0; i < 40; ++i) failed += fleet_->curl() == "a2" ? 0 : 1;

  EXPECT_LE(failed, 3) << "after three refusals nobody is sent there";
  EXPECT_TRUE(
      eventually([&] { return fleet_->metric("holdfast_track_ejected_backends") == 1; }, 5s));
  EXPECT_EQ(fleet_->metric("holdfast_failed_connections_total", {"cause=\"refused\""}), 3);
  EXPECT_THAT(fleet_->agent_log(), HasSubstr(fmt::format("127.0.0.1:{}", nobody)));
}

// Each of them would count every connection, and the cluster would see twice as many.
TEST_F(TrackFailure, ASecondAgentOfTheMachineSaysThatThePinsAreTaken) {
  fleet_->load();
  fleet_->start_agent();
  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();
  TunnelFleet& cluster = fleet_->cluster();
  cluster.join("agent", "twin", "a");
  const std::string log = cluster.folder().file("twin.log");
  const ChildProcess twin(
      {.arguments = {built("holdfastd"), "agent", "--data-dir", cluster.data_dir("twin"),
                     "--listen", fmt::format("127.0.0.1:{}", free_ports(1).front()), "--set",
                     "agent.tracking.enabled=yes", "--set", "agent.tracking.pins=" + fleet_->pins(),
                     "--set", "agent.tracking.cgroup=" + fleet_->cgroup()},
       .output_file = log});
  ASSERT_TRUE(eventually([&] { return check().contains("twin: HF8114 another agent"); }, 15s))
      << check() << std::ifstream(log).rdbuf();

  const Holder clients(*fleet_, 10);

  const auto active = [&] {
    std::string text = cluster.cli({"get", "load", "web", "-o", "json"}).output;
    std::erase(text, ' ');
    return text;
  };
  EXPECT_TRUE(eventually([&] { return active().contains("\"charged\":10,"); }, 15s)) << active();
  EXPECT_THAT(active(), Not(HasSubstr("\"active\":20")));
  EXPECT_THAT(check(), HasSubstr("1 warning"));

  // Who dies keeps nobody out.
  fleet_->kill_agent();
  ASSERT_TRUE(eventually([&] { return !check().contains("HF8114"); }, 15s)) << check();
}

// Loaded by root for a user, and upgraded without a word of him; the agent is that user, without
// any capability.
TEST_F(TrackFailure, AnAgentWithoutRightsCountsWhatIsItsOwn) {
  ASSERT_EQ(fleet_->track("load", {"--owner", "nobody"}).exit_code, 0);
  ASSERT_EQ(fleet_->track("load").exit_code, 0);
  TunnelFleet& cluster = fleet_->cluster();
  cluster.join("agent", "plain", "a");
  ::chmod(cluster.folder().path().c_str(), 0755);
  ASSERT_EQ(run_program({"chown", "-R", "nobody", cluster.data_dir("plain")}, 5s).exit_code, 0);
  const std::string health = fmt::format("127.0.0.1:{}", free_ports(1).front());
  const std::string log = cluster.folder().file("plain.log");
  const ChildProcess agent({.arguments = {"setpriv",
                                          "--reuid",
                                          kNobody,
                                          "--regid",
                                          kNobody,
                                          "--clear-groups",
                                          "--inh-caps=-all",
                                          "--bounding-set=-all",
                                          "--no-new-privs",
                                          built("holdfastd"),
                                          "agent",
                                          "--data-dir",
                                          cluster.data_dir("plain"),
                                          "--listen",
                                          health,
                                          "--set",
                                          "agent.tracking.enabled=yes",
                                          "--set",
                                          "agent.tracking.pins=" + fleet_->pins(),
                                          "--set",
                                          "agent.tracking.cgroup=" + fleet_->cgroup(),
                                          "--set",
                                          "agent.tracking.audit_interval=1s"},
                            .output_file = log});

  ASSERT_TRUE(fleet_->answers("a")) << std::ifstream(log).rdbuf();

  const auto metrics = [&] {
    return run_program({"curl", "-s", "http://" + health + "/metrics"}, 5s).output;
  };
  EXPECT_TRUE(eventually(
      [&] {
        const std::string text = metrics();
        return text.contains("holdfast_track_up 1") &&
               !text.contains("holdfast_track_audits_total 0") &&
               text.contains("holdfast_opened_connections_total{dst_zone=\"a\"");
      },
      10s))
      << metrics();
  EXPECT_TRUE(eventually([&] { return check().contains("1 passed"); }, 10s)) << check();
}

}  // namespace
}  // namespace holdfast::test
