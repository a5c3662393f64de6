#include "tunnel/greeting.h"

#include <gtest/gtest.h>

#include "base/reason.h"
#include "resource/proto_time.h"
#include "tunnel/exposed_facts.h"

namespace holdfast::tunnel {
namespace {

using identity::Role;
using std::chrono::seconds;

const identity::Identity kAgent{.role = Role::Agent, .cluster = "prod", .name = "edge-1"};
const GreetingRules kRules{.role = Role::Agent, .cluster = "prod"};

std::string hello(const std::string& name, int services = 1) {
  v1::TunnelMessage message;
  message.mutable_hello()->set_name(name);
  for (int i = 0; i < services; ++i) {
    message.mutable_hello()->mutable_exposed()->add_services()->set_service("web");
  }
  return message.SerializeAsString();
}

std::string code_of(const Status& status) {
  return std::string(split_reason(status).code);
}

TEST(Greeting, OnlyTheRightRoleOfOurClusterMayDial) {
  EXPECT_TRUE(check_caller(kAgent, kRules).ok());
  identity::Identity proxy = kAgent;
  proxy.role = Role::Proxy;
  EXPECT_EQ(code_of(check_caller(proxy, kRules)), "HF2101");
  identity::Identity foreign = kAgent;
  foreign.cluster = "staging";
  EXPECT_EQ(code_of(check_caller(foreign, kRules)), "HF2101");
}

TEST(Greeting, AHelloWithTheNameOfItsCertificateIsRead) {
  const Result<v1::TunnelHello> read = read_hello(hello("edge-1"), kAgent);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->exposed().services(0).service(), "web");
}

TEST(Greeting, AHelloWithAnothersNameIsRefused) {
  EXPECT_EQ(code_of(read_hello(hello("edge-2"), kAgent).status()), "HF2102");
}

TEST(Greeting, WhateverElseComesFirstIsNoHello) {
  v1::TunnelMessage exposed;
  exposed.mutable_exposed();
  EXPECT_EQ(code_of(read_hello(exposed.SerializeAsString(), kAgent).status()), "HF2108");
  EXPECT_EQ(code_of(read_hello("\xff\xff garbage", kAgent).status()), "HF2108");
  EXPECT_EQ(code_of(read_hello("", kAgent).status()), "HF2108");
}

TEST(Greeting, ExposingMoreThanTheLimitIsRefused) {
  EXPECT_TRUE(read_hello(hello("edge-1", 1'024), kAgent).ok());
  EXPECT_EQ(code_of(read_hello(hello("edge-1", 1'025), kAgent).status()), "HF2109");
}

TEST(Greeting, LongNamesLabelsAndReasonsAreRefused) {
  const auto refused = [](const v1::Exposed& exposed) {
    return code_of(check_exposed(exposed)) == "HF2109";
  };
  v1::Exposed name;
  name.add_services()->set_service(std::string(254, 'a'));
  EXPECT_TRUE(refused(name));
  v1::Exposed reason;
  reason.add_services()->set_reason(std::string(1'025, 'a'));
  EXPECT_TRUE(refused(reason));
  v1::Exposed label;
  (*label.mutable_labels())["tier"] = std::string(257, 'a');
  EXPECT_TRUE(refused(label));
  v1::Exposed many;
  for (int i = 0; i < 65; ++i) (*many.mutable_labels())[std::to_string(i)] = "x";
  EXPECT_TRUE(refused(many));
}

TEST(Greeting, ARefusalCarriesCodeReasonAndWhenToComeBack) {
  v1::TunnelMessage message;
  ASSERT_TRUE(message.ParseFromString(
      refusal(coded(absl::StatusCode::kUnavailable, "HF2103", "too many at once"), seconds(3))));
  EXPECT_EQ(message.refusal().code(), "HF2103");
  EXPECT_EQ(message.refusal().reason(), "too many at once");
  EXPECT_EQ(resource::to_duration(message.refusal().retry_after()), seconds(3));
  EXPECT_EQ(code_of(read_refusal(message.refusal())), "HF2103");
}

TEST(Greeting, AdviceWithoutAnEndSaysNone) {
  v1::TunnelMessage message;
  ASSERT_TRUE(message.ParseFromString(advice("HF2111", "evening out", Duration::zero())));
  EXPECT_FALSE(message.advice().has_closes_in());
  ASSERT_TRUE(message.ParseFromString(advice("HF2110", "draining", seconds(300))));
  EXPECT_EQ(resource::to_duration(message.advice().closes_in()), seconds(300));
}

}  // namespace
}  // namespace holdfast::tunnel
