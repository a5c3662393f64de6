#include "cli/node_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using resource::Kind;
using testing::ElementsAre;

constexpr int64_t kNowSeconds = 1'700'000'000;
constexpr WallTime kNow(std::chrono::seconds{kNowSeconds});

v1::Resource agent() {
  v1::Resource out = resource::make_resource(Kind::Agent, "edge-1");
  v1::Agent& body = *out.mutable_agent();
  body.set_zone("a");
  body.set_version("1.2.3");
  body.set_tunnels_wanted(2);
  body.mutable_last_heartbeat()->set_seconds(kNowSeconds - 3);
  body.mutable_announcement()->mutable_ttl()->set_seconds(60);
  body.add_tunnels()->set_state("connected");
  body.add_services()->set_service("web");
  return out;
}

TEST(NodeColumns, AnAgentShowsHowManyTunnelsItHasOfThoseItWants) {
  v1::Resource edge = agent();
  edge.mutable_agent()->set_code("HF2120");
  edge.mutable_agent()->mutable_services(0)->set_healthy(true);

  EXPECT_THAT(node_row(edge, false, kNow),
              ElementsAre("edge-1", "degraded (HF2120)", "1/2", "a", "1.2.3", "3s", "web"));
  for (const bool wide : {false, true}) {
    EXPECT_EQ(node_row(edge, wide, kNow).size(), node_headers(Kind::Agent, wide).size());
  }
}

TEST(NodeColumns, AServiceThatIsNotHealthyIsMarkedAndTheWideFormSaysWhy) {
  v1::Resource edge = agent();
  edge.mutable_agent()->mutable_services(0)->set_reason("HTTP 500");
  edge.mutable_agent()->add_services()->set_service("db");
  edge.mutable_agent()->mutable_services(1)->set_healthy(true);

  EXPECT_EQ(node_row(edge, false, kNow).back(), "web(unhealthy),db");
  EXPECT_EQ(node_row(edge, true, kNow).back(), "web(unhealthy: HTTP 500),db");
}

TEST(NodeColumns, AnAgentThatHasAllThereAreIsWellAndSaysSo) {
  v1::Resource edge = agent();
  edge.mutable_agent()->set_code("HF2133");

  EXPECT_EQ(node_state(edge, kNow), "online (HF2133)");
  edge.mutable_agent()->set_code("HF8108");
  EXPECT_EQ(node_state(edge, kNow), "online (HF8108)") << "it carries, and does not count";
}

TEST(NodeColumns, WhyNothingIsCountedStandsBesideOtherReasons) {
  v1::Resource edge = agent();
  edge.mutable_agent()->set_code("HF2130");
  edge.mutable_agent()->set_reason("no proxy is known");
  edge.mutable_agent()->mutable_tracking()->set_code("HF8108");
  edge.mutable_agent()->mutable_tracking()->set_reason("no pins");

  const Row row = node_row(edge, true, kNow);

  EXPECT_EQ(row.at(row.size() - 2), "no proxy is known; tracking: HF8108 no pins");
}

TEST(NodeColumns, WhatTheControllersKnowCountsMoreThanWhatANodeSaid) {
  v1::Resource edge = agent();
  EXPECT_EQ(node_state(edge, kNow), "online");
  EXPECT_EQ(node_state(edge, kNow + std::chrono::minutes(2)), "late");

  edge.mutable_agent()->mutable_announcement()->mutable_offline_since()->set_seconds(kNowSeconds);

  EXPECT_EQ(node_state(edge, kNow), "offline");
}

TEST(NodeColumns, AProxyThatDrainsSaysSo) {
  v1::Resource front = resource::make_resource(Kind::Proxy, "front-1");
  front.mutable_proxy()->mutable_last_heartbeat()->set_seconds(kNowSeconds);
  front.mutable_proxy()->set_draining(true);
  front.mutable_proxy()->set_code("HF2141");

  EXPECT_EQ(node_state(front, kNow), "draining");
  front.mutable_proxy()->set_code("HF2143");
  EXPECT_EQ(node_state(front, kNow), "drained");
  for (const bool wide : {false, true}) {
    EXPECT_EQ(node_row(front, wide, kNow).size(), node_headers(Kind::Proxy, wide).size());
  }
}

}  // namespace
}  // namespace holdfast::cli
