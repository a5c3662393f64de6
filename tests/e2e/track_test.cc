// A service with a virtual IP and endpoints in three zones, real clients in the tracked cgroup:
// they are translated, counted and limited, and what the cluster changes is taken over under them.
// What becomes of it when parts are killed is in track_failure_test.cc.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "e2e/track_fleet.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class Track : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TrackFleet::why_not(); !why.empty()) {
      GTEST_SKIP() << "not counted in the kernel here: " << why;
    }
    fleet_ = std::make_unique<TrackFleet>();
    fleet_->load();
  }

  ProgramOutcome check() { return fleet_->cluster().cli({"check", "--only", "tracking"}); }

  std::unique_ptr<TrackFleet> fleet_;
};

TEST_F(Track, ClientsAreTranslatedToTheOwnZoneAndCounted) {
  fleet_->apply_web();
  fleet_->start_agent();
  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();
  ASSERT_TRUE(fleet_->comes_to("a", "1/1/0")) << fleet_->counts("a");

  for (int i = 0; i < 10; ++i) EXPECT_EQ(fleet_->curl(), "a");
  const ProgramOutcome nc = fleet_->run_inside(
      {"sh", "-c", fmt::format("printf 'GET / HTTP/1.1\\r\\n\\r\\n' | nc -q 1 {} 80", kWebIp)});
  const Holder python(*fleet_, 5);

  EXPECT_THAT(nc.output, HasSubstr("a"));
  EXPECT_THAT(python.names(), AllOf(SizeIs(5), Each(std::string("a"))));
  EXPECT_TRUE(fleet_->comes_to("a", "17/12/5")) << fleet_->counts("a");
  EXPECT_EQ(fleet_->counts("b"), "0/0/0");
  EXPECT_THAT(
      fleet_->metrics(),
      HasSubstr(fmt::format("holdfast_active_connections{{dst_zone=\"a\",src_zone=\"a\",svc_ip=\"{}"
                            "\",svc_port=\"80\",svc_proto=\"tcp\"}} 5",
                            kWebIp)));
  EXPECT_EQ(fleet_->metric("holdfast_track_up"), 1);
  std::cout << "counted: zone a " << fleet_->counts("a") << " (opened/closed/active)\n";
}

TEST_F(Track, WhoIsNotInTheCgroupIsLeftAlone) {
  fleet_->apply_web();
  fleet_->start_agent();
  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();

  const ProgramResult outside =
      run_program({"curl", "-s", "-m", "2", fmt::format("http://{}/", kWebIp)}, 5s);

  EXPECT_NE(outside.exit_code, 0);
  EXPECT_EQ(outside.output, "");
}

// It is dealt as connections come: a little ahead of them, and never more than there is.
TEST_F(Track, TheControllerLeasesPlacesAndSeesThemTaken) {
  fleet_->apply_web("zone_capacity: {a: 12}");
  fleet_->start_agent();
  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();
  const auto load = [&] {
    return fleet_->cluster().cli({"get", "load", "web", "-o", "wide"}).output;
  };
  // Not in brackets: it is a lease, not the fixed share.
  ASSERT_TRUE(eventually(
      [&] { return load().contains("agent/edge-1 0/") && !load().contains("agent/edge-1 0/("); },
      20s))
      << load();

  const Holder clients(*fleet_, 18, 400ms);

  EXPECT_LE(clients.count("a"), 12U);
  EXPECT_GE(clients.count("a"), 9U) << "few spill before the zone is full";
  EXPECT_EQ(clients.count("a") + clients.count("b"), 18U);
  const std::string taken = fmt::format("agent/edge-1 {}/", clients.count("a"));
  EXPECT_TRUE(eventually([&] { return load().contains(taken); }, 5s)) << load();
  std::cout << "capacity 12, 18 clients: " << clients.count("a") << " in a, " << clients.count("b")
            << " in b\n"
            << load();
}

// With one holder the fixed share is everything. It holds once the lease has run out, and as long
// again; and a new life of the agent, of two holders as it is told, goes on with what was dealt.
TEST_F(Track, CapacityIsKeptAndSpillsWithNobodyToAsk) {
  fleet_->apply_web("zone_capacity: {a: 5, b: 3, c: 2}, when_full: reject");
  fleet_->start_agent();
  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();
  ASSERT_TRUE(fleet_->comes_to("a", "1/1/0")) << fleet_->counts("a");
  ASSERT_TRUE(eventually([&] { return fleet_->metric("holdfast_load_reports_total") > 0; }, 10s))
      << fleet_->metrics();
  let_pass(2s);
  fleet_->cluster().controller().kill();
  let_pass(14s);

  for (const bool again : {false, true}) {
    if (again) {
      fleet_->kill_agent();
      fleet_->start_agent({"agent.tracking.holders=2"});
      ASSERT_TRUE(eventually([&] { return fleet_->metric("holdfast_track_up") == 1; }, 20s));
      ASSERT_TRUE(eventually(
          [&] {
            return fleet_->counts("a").ends_with("/0") && fleet_->counts("c").ends_with("/0");
          },
          10s));
      let_pass(2s);  // a reading or two after it knows the services
    }
    const Holder clients(*fleet_, 13);

    EXPECT_EQ(clients.count("a"), 5U) << fleet_->agent_log();
    EXPECT_EQ(clients.count("b"), 3U);
    EXPECT_EQ(clients.count("c"), 2U);
    EXPECT_EQ(clients.count("refused"), 3U);
    std::cout << "capacity 5, 3, 2 with the controller dead" << (again ? ", a new agent" : "")
              << ": " << clients.count("a") << " in a, " << clients.count("b") << " in b, "
              << clients.count("c") << " in c, " << clients.count("refused") << " refused\n";
  }
}

TEST_F(Track, AnEndpointIsReplacedUnderLiveConnections) {
  fleet_->add_app("a2");
  fleet_->apply_web();
  fleet_->start_agent();
  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();
  Holder old(*fleet_, 4);
  ASSERT_THAT(old.names(), Each(std::string("a")));

  fleet_->apply_web("", {{"a", "a2"}, {"b", "b"}});
  ASSERT_TRUE(fleet_->answers("a2")) << fleet_->agent_log();
  Holder fresh(*fleet_, 3);

  EXPECT_THAT(old.ask(), AllOf(SizeIs(4), Each(std::string("a")))) << "what runs goes on";
  EXPECT_THAT(fresh.names(), Each(std::string("a2")));
  EXPECT_TRUE(eventually([&] { return fleet_->counts("a").ends_with("/7"); }, 5s))
      << fleet_->counts("a");
  old.end();
  fresh.end();
  EXPECT_TRUE(eventually([&] { return fleet_->counts("a").ends_with("/0"); }, 5s))
      << fleet_->counts("a");
  const double opened = *fleet_->metric("holdfast_opened_connections_total");
  EXPECT_EQ(opened, *fleet_->metric("holdfast_closed_connections_total"));
}

TEST_F(Track, ARemovedServiceIsCountedToItsLastConnection) {
  fleet_->apply_web();
  fleet_->start_agent();
  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();
  Holder clients(*fleet_, 3);
  ASSERT_TRUE(eventually([&] { return fleet_->counts("a").ends_with("/3"); }, 5s));

  ASSERT_EQ(fleet_->cluster().cli({"delete", "service", "web"}).exit_code, 0);

  ASSERT_TRUE(fleet_->answers("")) << "it is not translated any more";
  EXPECT_THAT(clients.ask(), Each(std::string("a"))) << "what runs goes on";
  EXPECT_TRUE(fleet_->counts("a").ends_with("/3")) << fleet_->counts("a");
  clients.end();
  EXPECT_TRUE(
      eventually([&] { return !fleet_->metric("holdfast_active_connections").has_value(); }, 10s))
      << "its series go with it: " << fleet_->counts("a");
}

TEST_F(Track, ZonesThatAreNotListedAreTranslatedAndNotCounted) {
  fleet_->cluster().apply(
      "kind: zone_map\nmetadata: {name: default}\nspec: {zones: [{name: b, id: 2}]}\n");
  fleet_->apply_web("", {{"a", "a"}});
  fleet_->start_agent();

  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();

  let_pass(1500ms);  // a reading
  EXPECT_FALSE(fleet_->metric("holdfast_opened_connections_total").has_value());
  EXPECT_THAT(check().output, HasSubstr("1 of 1, 1 virtual IPs and ports"));
}

TEST_F(Track, TwoServicesWithOneVirtualIpAreToldOf) {
  fleet_->apply_web();
  fleet_->cluster().apply(fmt::format(
      "kind: service\nmetadata: {{name: zoo}}\nspec: {{virtual_ip: {}, ports: [{{port: 80, "
      "protocol: tcp}}], endpoints: [{{address: '127.0.0.1:1', zone: a}}]}}\n",
      kWebIp));
  fleet_->start_agent();

  ASSERT_TRUE(fleet_->answers("a")) << fleet_->agent_log();

  EXPECT_TRUE(eventually([&] { return check().output.contains("HF8113"); }, 10s)) << check().output;
  EXPECT_THAT(check().output, HasSubstr("zoo: tcp 10.96.0.1:80 is already web's"));
}

}  // namespace
}  // namespace holdfast::test
