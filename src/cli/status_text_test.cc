// What people see of a controller and of one resource.
#include "cli/status_text.h"

#include <gtest/gtest.h>

#include "cli/describe.h"
#include "cli/presence.h"
#include "cli/times.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kStatusTextNowSeconds = 1'700'000'000;
constexpr WallTime kStatusTextNow(std::chrono::seconds{kStatusTextNowSeconds});

v1::GetStatusResponse status_text_healthy() {
  v1::GetStatusResponse status;
  status.set_controller("ctl-1");
  status.set_version("0.1.0");
  status.set_cluster("prod");
  status.mutable_now()->set_seconds(kStatusTextNowSeconds);
  status.mutable_started()->set_seconds(kStatusTextNowSeconds - 192);
  status.set_store("sqlite");
  status.set_revision(42);
  status.set_watchers(3);
  v1::ComponentStatus& store = *status.add_components();
  store.set_name("store");
  store.mutable_since()->set_seconds(kStatusTextNowSeconds - 60);
  v1::NodeCount& agents = *status.add_nodes();
  agents.set_kind("agent");
  agents.set_online(24);
  status.mutable_certificate_expires()->set_seconds(kStatusTextNowSeconds + 23 * 3600);
  return status;
}

TEST(StatusText, OneScreenSaysItAll) {
  EXPECT_EQ(render_status(status_text_healthy(), Console()),
            "prod   ok   healthy   controller ctl-1, version 0.1.0, up 3m12s\n"
            "COMPONENT   STATE   FOR     CODE   REASON\n"
            "store       ok      1m00s   -      -\n"
            "NODES    ONLINE   OFFLINE\n"
            "agents   24       0\n"
            "store      sqlite, revision 42, 3 watching\n"
            "identity   no rotation, certificate expires in 23h00m\n");
}

TEST(StatusText, WhatIsWrongIsFirst) {
  v1::GetStatusResponse status = status_text_healthy();
  status.set_state(v1::HEALTH_STATE_DEGRADED);
  status.clear_cluster();
  const std::string text = render_status(status, Console());
  EXPECT_TRUE(text.starts_with("(no cluster)   FAIL degraded")) << text;
  EXPECT_TRUE(text.contains("holdfast init")) << text;
}

TEST(StatusText, WhatAControllerSaysCannotMoveTheCursor) {
  v1::GetStatusResponse status = status_text_healthy();
  status.set_controller("\x1b[2J");
  status.mutable_components(0)->set_reason("\x1b[2J");
  status.set_store("\x1b[2J");
  EXPECT_FALSE(render_status(status, Console()).contains('\x1b'));
}

TEST(StatusText, JsonSpellsOutZeros) {
  const std::string json = status_json(status_text_healthy());
  for (const char* part : {"\"apiVersion\": \"holdfast.dev/v1\"", "\"kind\": \"status\"",
                           "\"state\": \"ok\"", "\"offline\": 0", "\"phase\": \"none\""}) {
    EXPECT_TRUE(json.contains(part)) << part << json;
  }
}

v1::Resource agent(int64_t heard_seconds_ago) {
  v1::Resource resource = resource::make_resource(resource::Kind::Agent, "edge-07");
  resource.mutable_agent()->set_zone("a");
  resource.mutable_agent()->mutable_last_heartbeat()->set_seconds(kStatusTextNowSeconds -
                                                                  heard_seconds_ago);
  resource.mutable_agent()->mutable_announcement()->mutable_ttl()->set_seconds(60);
  return resource;
}

TEST(Presence, IsOnlineLateOrOffline) {
  EXPECT_EQ(presence_text(agent(3), kStatusTextNow), "online, heard 3s ago");
  EXPECT_EQ(presence_text(agent(125), kStatusTextNow), "late, heard 2m05s ago");
  v1::Resource gone = agent(400);
  gone.mutable_agent()->mutable_announcement()->mutable_offline_since()->set_seconds(
      kStatusTextNowSeconds - 250);
  EXPECT_EQ(presence_text(gone, kStatusTextNow), "offline for 4m10s");
  EXPECT_EQ(presence_text(resource::make_resource(resource::Kind::Agent, "x"), kStatusTextNow),
            "never heard");
  EXPECT_EQ(presence_text(resource::make_resource(resource::Kind::Service, "x"), kStatusTextNow),
            "");
}

TEST(Describe, AServiceShowsTheAgentsThatCarryIt) {
  v1::Resource service = resource::make_resource(resource::Kind::Service, "web");
  service.mutable_metadata()->set_revision(7);
  (*service.mutable_metadata()->mutable_labels())["tier"] = "front";
  service.mutable_service()->add_ports()->set_port(80);
  (*service.mutable_service()->mutable_agent_selector())["tier"] = "front";

  v1::Resource carrier = agent(3);
  (*carrier.mutable_metadata()->mutable_labels())["tier"] = "front";
  carrier.mutable_agent()->add_services()->set_service("web");
  carrier.mutable_agent()->mutable_services(0)->set_healthy(true);
  carrier.mutable_agent()->add_tunnels()->set_proxy("px-1");

  EXPECT_EQ(render_description(service, {carrier}, kStatusTextNow),
            "Kind:        service\n"
            "Name:        web\n"
            "Labels:      tier=front\n"
            "Revision:    7\n"
            "Spec:\n"
            "  ports:\n"
            "    - port: 80\n"
            "  agent_selector:\n"
            "    tier: front\n"
            "Agents:      1\n"
            "  NAME      ZONE   TUNNELS   STATE                  HEALTH\n"
            "  edge-07   a      1         online, heard 3s ago   healthy\n");
  EXPECT_TRUE(render_description(service, {}, kStatusTextNow)
                  .ends_with("Agents:      none carries it: no agent exposes it\n"));
}

TEST(Describe, AServiceAndAnAgentShowWhatIsNotHealthyAndWhy) {
  v1::Resource service = resource::make_resource(resource::Kind::Service, "web");
  v1::Resource carrier = agent(3);
  carrier.mutable_agent()->add_services()->set_service("web");
  carrier.mutable_agent()->mutable_services(0)->set_reason("HTTP 500");
  carrier.mutable_agent()->add_services()->set_service("db");
  carrier.mutable_agent()->mutable_services(1)->set_healthy(true);
  carrier.mutable_agent()->add_tunnels()->set_proxy("px-1");

  const std::string of_service = render_description(service, {carrier}, kStatusTextNow);
  const std::string of_agent = render_description(carrier, {}, kStatusTextNow);

  EXPECT_TRUE(of_service.contains("online, heard 3s ago   not healthy: HTTP 500\n")) << of_service;
  EXPECT_TRUE(of_service.contains("edge-07 exposes it but it is not healthy there: HTTP 500"));
  EXPECT_TRUE(
      of_agent.contains("Services:    1 of 2 healthy\n"
                        "  NAME   HEALTH\n"
                        "  web    not healthy: HTTP 500\n"
                        "  db     healthy\n"))
      << of_agent;
}

TEST(Describe, ANodeShowsItsStateAndWhenItExpires) {
  v1::Resource node = agent(3);
  node.mutable_metadata()->mutable_expires()->set_seconds(kStatusTextNowSeconds + 60);
  const std::string text = render_description(node, {}, kStatusTextNow);
  EXPECT_TRUE(text.contains("State:       online, heard 3s ago\n")) << text;
  EXPECT_TRUE(text.contains("(in 1m00s)\n")) << text;
}

TEST(Times, DurationsAreSecondsOrUnits) {
  EXPECT_EQ(parse_duration("90").value(), 90s);
  EXPECT_EQ(parse_duration("0.3").value(), 300ms);
  EXPECT_EQ(parse_duration("1m30s").value(), 90s);
  for (const char* wrong : {"", "0", "-1", "0s", "1e30", "nan", "soon", "10 s", "9999999h"}) {
    EXPECT_FALSE(parse_duration(wrong).ok()) << wrong;
  }
}

TEST(Times, AreToldFromNow) {
  EXPECT_EQ(relative(kStatusTextNow - 5s, kStatusTextNow), "5s ago");
  EXPECT_EQ(relative(kStatusTextNow + 25h, kStatusTextNow), "in 1d1h");
  EXPECT_EQ(age(kStatusTextNow + 5s, kStatusTextNow), "0ms");
  google::protobuf::Timestamp never;
  never.set_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(relative(to_wall(never), kStatusTextNow).starts_with("in "))
      << "and does not overflow";
}

}  // namespace
}  // namespace holdfast::cli
