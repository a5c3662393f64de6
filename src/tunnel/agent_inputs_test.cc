#include "tunnel/agent_inputs.h"

#include <gtest/gtest.h>

#include "base/reason.h"
#include "resource/proto_time.h"
#include "tunnel/frame.h"
#include "tunnel/recovery.h"

namespace holdfast::tunnel {
namespace {

using std::chrono::seconds;

KnownProxy known(const std::string& name, const std::string& address) {
  KnownProxy made{.name = name};
  made.proxy.set_zone("a");
  made.proxy.set_tunnel_address(address);
  *made.proxy.mutable_announce_ttl() = resource::to_proto(Duration(seconds(30)));
  return made;
}

TEST(AgentInputs, OnlyProxiesThatTakeTunnelsAreListed) {
  const std::vector<ListedProxy> listing =
      to_listing({known("p1", "10.0.0.1:7444"), known("p2", "")});
  ASSERT_EQ(listing.size(), 1U);
  EXPECT_EQ(listing[0].info.name, "p1");
  EXPECT_EQ(listing[0].info.ttl, seconds(30));
  EXPECT_FALSE(listing[0].info.draining);
}

TEST(AgentInputs, WhatAProxySaysIsCutToWhatALogBears) {
  v1::TunnelRefusal said;
  said.set_code("not a code");
  said.set_reason(std::string(10'000, 'x') + "\n\x01");
  const Refusal refusal = to_refusal(said);
  EXPECT_EQ(refusal.code, "");
  EXPECT_LE(refusal.reason.size(), 210U);
  EXPECT_FALSE(refusal.retry_after.has_value());
  v1::Advice advice;
  advice.set_code("HF2110");
  EXPECT_EQ(to_advice(advice).code, "HF2110");
  EXPECT_FALSE(to_advice(advice).closes_in.has_value());
}

TEST(AgentInputs, ReasonsGiveWayWhenTooMuchIsExposedForOneMessage) {
  v1::Exposed exposed;
  for (int at = 0; at < 1'000; ++at) {
    v1::ExposedService& service = *exposed.add_services();
    service.set_service("service-" + std::to_string(at));
    service.set_reason(std::string(300, 'r'));
  }
  const Result<v1::Exposed> fits = fitting(exposed);
  ASSERT_TRUE(fits.ok()) << fits.status();
  EXPECT_EQ(fits->services_size(), 1'000);
  EXPECT_LT(fits->ByteSizeLong(), kMaxMessageBytes);
  EXPECT_EQ(fits->services(0).reason(), "");
  for (v1::ExposedService& service : *exposed.mutable_services()) {
    service.set_service(std::string(100, 's'));
  }
  EXPECT_EQ(split_reason(fitting(exposed).status()).code, "HF2121");
}

TEST(Recovery, IsTheTimeFromTheFirstLossUntilThereAreEnough) {
  Recovery recovery;
  const Time start{seconds(10)};
  EXPECT_FALSE(recovery.observe(2, 2, start));
  recovery.lost(start);
  EXPECT_FALSE(recovery.observe(1, 2, start));
  recovery.lost(start + seconds(1));
  EXPECT_FALSE(recovery.observe(0, 0, start + seconds(2)));
  EXPECT_FALSE(recovery.observe(1, 2, start + seconds(3)));
  EXPECT_EQ(recovery.observe(2, 2, start + seconds(4)), seconds(4));
  EXPECT_FALSE(recovery.observe(2, 2, start + seconds(5)));
  EXPECT_EQ(recovery.count(), 1U);
  EXPECT_EQ(recovery.last(), seconds(4));
}

}  // namespace
}  // namespace holdfast::tunnel
