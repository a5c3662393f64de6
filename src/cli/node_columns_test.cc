#include "cli/node_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using resource::Kind;
using testing::ElementsAre;

constexpr int64_t kNodeColumnsNowSeconds = 1'700'000'000;
constexpr WallTime kNodeColumnsNow(std::chrono::seconds{kNodeColumnsNowSeconds});

v1::Resource agent_row() {
  v1::Resource out = resource::make_resource(Kind::Agent, "edge-1");
  v1::Agent& body = *out.mutable_agent();
  body.set_zone("a");
  body.set_version("1.2.3");
  body.set_tunnels_wanted(2);
  body.mutable_last_heartbeat()->set_seconds(kNodeColumnsNowSeconds - 3);
  body.mutable_announcement()->mutable_ttl()->set_seconds(60);
  body.add_tunnels()->set_state("connected");
  body.add_services()->set_service("web");
  return out;
}

TEST(NodeColumns, AnAgentShowsHowManyTunnelsItHasOfThoseItWants) {
  v1::Resource edge = agent_row();
  edge.mutable_agent()->set_code("HF2120");
  edge.mutable_agent()->mutable_services(0)->set_healthy(true);

  EXPECT_THAT(node_row(edge, false, kNodeColumnsNow),
              ElementsAre("edge-1", "degraded (HF2120)", "1/2", "a", "1.2.3", "3s", "web"));
  for (const bool wide : {false, true}) {
    EXPECT_EQ(node_row(edge, wide, kNodeColumnsNow).size(), node_headers(Kind::Agent, wide).size());
  }
}

TEST(NodeColumns, AServiceThatIsNotHealthyIsMarkedAndTheWideFormSaysWhy) {
  v1::Resource edge = agent_row();
  edge.mutable_agent()->mutable_services(0)->set_reason("HTTP 500");
  edge.mutable_agent()->add_services()->set_service("db");
  edge.mutable_agent()->mutable_services(1)->set_healthy(true);

  EXPECT_EQ(node_row(edge, false, kNodeColumnsNow).back(), "web(unhealthy),db");
  EXPECT_EQ(node_row(edge, true, kNodeColumnsNow).back(), "web(unhealthy: HTTP 500),db");
}

TEST(NodeColumns, AnAgentThatHasAllThereAreIsWellAndSaysSo) {
  v1::Resource edge = agent_row();
  edge.mutable_agent()->set_code("HF2133");

  EXPECT_EQ(node_state(edge, kNodeColumnsNow), "online (HF2133)");
  edge.mutable_agent()->set_code("HF8108");
  EXPECT_EQ(node_state(edge, kNodeColumnsNow), "online (HF8108)")
      << "it carries, and does not count";
}

TEST(NodeColumns, WhyNothingIsCountedStandsBesideOtherReasons) {
  v1::Resource edge = agent_row();
  edge.mutable_agent()->set_code("HF2130");
  edge.mutable_agent()->set_reason("no proxy is known");
  edge.mutable_agent()->mutable_tracking()->set_code("HF8108");
  edge.mutable_agent()->mutable_tracking()->set_reason("no pins");

  const Row row = node_row(edge, true, kNodeColumnsNow);

  EXPECT_EQ(row.at(row.size() - 2), "no proxy is known; tracking: HF8108 no pins");
}

TEST(NodeColumns, WhatTheControllersKnowCountsMoreThanWhatANodeSaid) {
  v1::Resource edge = agent_row();
  EXPECT_EQ(node_state(edge, kNodeColumnsNow), "online");
  EXPECT_EQ(node_state(edge, kNodeColumnsNow + std::chrono::minutes(2)), "late");

  edge.mutable_agent()->mutable_announcement()->mutable_offline_since()->set_seconds(
      kNodeColumnsNowSeconds);

  EXPECT_EQ(node_state(edge, kNodeColumnsNow), "offline");
}

TEST(NodeColumns, AProxyThatDrainsSaysSo) {
  v1::Resource front = resource::make_resource(Kind::Proxy, "front-1");
  front.mutable_proxy()->mutable_last_heartbeat()->set_seconds(kNodeColumnsNowSeconds);
  front.mutable_proxy()->set_draining(true);
  front.mutable_proxy()->set_code("HF2141");

  EXPECT_EQ(node_state(front, kNodeColumnsNow), "draining");
  front.mutable_proxy()->set_code("HF2143");
  EXPECT_EQ(node_state(front, kNodeColumnsNow), "drained");
  for (const bool wide : {false, true}) {
    EXPECT_EQ(node_row(front, wide, kNodeColumnsNow).size(),
              node_headers(Kind::Proxy, wide).size());
  }
}

}  // namespace
}  // namespace holdfast::cli
