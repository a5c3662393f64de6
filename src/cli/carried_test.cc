#include "cli/carried.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

v1::Resource service_web(const char* key = nullptr, const char* value = "") {
  v1::Resource service;
  service.mutable_metadata()->set_name("web");
  service.mutable_service();
  if (key != nullptr) (*service.mutable_service()->mutable_agent_selector())[key] = value;
  return service;
}

// Exposes "web", is online and has a tunnel.
v1::Resource agent_named(const char* name) {
  v1::Resource agent;
  agent.mutable_metadata()->set_name(name);
  agent.mutable_agent()->set_zone("a");
  v1::ExposedService& web = *agent.mutable_agent()->add_services();
  web.set_service("web");
  web.set_healthy(true);
  agent.mutable_agent()->add_tunnels()->set_proxy("px-1");
  return agent;
}

TEST(Carried, ByAnAgentThatExposesItIsSelectedAndCanBeReached) {
  EXPECT_EQ(why_not_carried(service_web(), {agent_named("edge-1")}), "");
  EXPECT_EQ(why_not_carried(service_web("holdfast.zone", "a"), {agent_named("edge-1")}), "");
  EXPECT_EQ(why_not_carried(service_web("holdfast.name", "edge-1"), {agent_named("edge-1")}), "");
}

TEST(Carried, SaysWhatIsMissing) {
  EXPECT_EQ(why_not_carried(service_web(), {}), "no agent exposes it");

  EXPECT_EQ(why_not_carried(service_web("tier", "gold"), {agent_named("edge-1")}),
            "edge-1 exposes it but has not the label tier=gold that it selects");

  v1::Resource offline = agent_named("edge-1");
  offline.mutable_agent()->mutable_announcement()->mutable_offline_since()->set_seconds(1);
  EXPECT_EQ(why_not_carried(service_web(), {offline}), "edge-1 exposes it but is offline");

  v1::Resource alone = agent_named("edge-1");
  alone.mutable_agent()->clear_tunnels();
  EXPECT_EQ(why_not_carried(service_web(), {alone}),
            "edge-1 exposes it but has no tunnel to a proxy");

  v1::Resource sick = agent_named("edge-1");
  sick.mutable_agent()->mutable_services(0)->set_healthy(false);
  sick.mutable_agent()->mutable_services(0)->set_reason("connection refused");
  EXPECT_EQ(why_not_carried(service_web(), {sick, alone}),
            "edge-1 exposes it but it is not healthy there: connection refused, nor do 1 others "
            "carry it");
}

TEST(Carried, CarriersAreThoseSelectedReachableOrNot) {
  v1::Resource alone = agent_named("edge-2");
  alone.mutable_agent()->clear_tunnels();
  v1::Resource other = agent_named("edge-3");
  other.mutable_agent()->mutable_services(0)->set_service("db");

  const std::vector<v1::Resource> found =
      carriers_of(service_web(), {agent_named("edge-1"), alone, other});

  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].metadata().name(), "edge-2");
}

}  // namespace
}  // namespace holdfast::cli
