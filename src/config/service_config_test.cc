#include "config/service_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace holdfast::config {
namespace {

using resource::ErrorCode;
using resource::Position;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ServiceConfig, TheDefaultIsReconnectWithTheHealthOfTheWholeServer) {
  const v1::ServiceConfig config = default_service_config();

  ASSERT_EQ(config.load_balancing_config_size(), 1);
  EXPECT_EQ(config.load_balancing_config(0).pick_healthy().mode(), "reconnect");
  ASSERT_TRUE(config.health_check_config().has_service_name());
  EXPECT_EQ(config.health_check_config().service_name(), "");
}

TEST(ServiceConfig, IsReadInEverySpelling) {
  for (const char* json : {
           R"({"loadBalancingConfig":[{"pick_healthy":{"mode":"reconnect"}}],
               "healthCheckConfig":{"serviceName":""}})",
           R"({"load_balancing_config":[{"pickHealthy":{"mode":"reconnect"}}],
               "health_check_config":{"service_name":""}})",
           R"({"grpc_client_lb_policy":{"loadBalancingConfig":[{"teleport_pick_healthy":
               {"mode":"reconnect"}}],"healthCheckConfig":{"serviceName":""}}})",
       }) {
    const ServiceConfigReading reading = parse_service_config(json);

    EXPECT_THAT(reading.errors, IsEmpty()) << json;
    EXPECT_THAT(reading.warnings, IsEmpty()) << json;
    EXPECT_EQ(service_config_json(reading.config), service_config_json(default_service_config()));
  }
}

TEST(ServiceConfig, WhatIsPrintedReadsBackTheSame) {
  for (const char* json :
       {R"({"loadBalancingConfig":[]})", R"({"loadBalancingConfig":[],"healthCheckConfig":{}})",
        R"({"loadBalancingConfig":[{"pick_healthy":{"mode":"pick_first"}}],)"
        R"("healthCheckConfig":{"serviceName":"a \"b\""}})"}) {
    EXPECT_EQ(service_config_json(parse_service_config(json).config), json);
  }
}

TEST(ServiceConfig, MalformedJsonIsAnErrorWithItsPlace) {
  const ServiceConfigReading reading =
      parse_service_config("{\"loadBalancingConfig\": [\n  {\"pick_healthy\": {},}]}");

  ASSERT_THAT(reading.errors, SizeIs(1));
  EXPECT_EQ(reading.errors[0].code, ErrorCode::Syntax);
  EXPECT_EQ(reading.errors[0].at, (Position{2, 23}));
}

TEST(ServiceConfig, AWrongModeIsAnErrorWithItsPlace) {
  const ServiceConfigReading reading = parse_service_config(
      "{\"loadBalancingConfig\": [{\"pick_healthy\":\n {\"mode\": \"first\"}}]}");

  ASSERT_THAT(reading.errors, SizeIs(1));
  EXPECT_EQ(reading.errors[0].at, (Position{2, 11}));
  EXPECT_EQ(reading.errors[0].field, "loadBalancingConfig[0].pick_healthy.mode");
  EXPECT_EQ(reading.errors[0].message, "\"first\" is not a mode; use pick_first or reconnect");
}

TEST(ServiceConfig, EveryMistakeIsSaid) {
  const ServiceConfigReading reading = parse_service_config(
      R"({"loadBalancingConfig":[{"pick_healthy":{"mode":1}},{},5],"helthCheckConfig":{},)"
      R"("healthCheckConfig":{"serviceName":7},"health_check_config":{}})");

  EXPECT_THAT(reading.errors, SizeIs(6));
}

TEST(ServiceConfig, APolicyNobodyKnowsIsLeftOutWithAWarning) {
  const ServiceConfigReading reading = parse_service_config(
      R"({"loadBalancingConfig":[{"round_robin":{}},{"pick_healthy":{"mode":"pick_first"}}]})");

  EXPECT_THAT(reading.errors, IsEmpty());
  ASSERT_THAT(reading.warnings, SizeIs(1));
  EXPECT_THAT(reading.warnings[0].message, HasSubstr("\"round_robin\""));
  EXPECT_EQ(reading.config.load_balancing_config_size(), 1);
}

TEST(ServiceConfig, AListOfNothingButUnknownPoliciesIsAnError) {
  EXPECT_THAT(parse_service_config(R"({"loadBalancingConfig":[{"round_robin":{}}]})").errors,
              SizeIs(1));
}

TEST(ServiceConfig, ReconnectWithoutHealthIsAWarning) {
  const ServiceConfigReading reading =
      parse_service_config(R"({"loadBalancingConfig":[{"pick_healthy":{"mode":"reconnect"}}]})");

  EXPECT_THAT(reading.errors, IsEmpty());
  EXPECT_THAT(reading.warnings, SizeIs(1));
}

TEST(ServiceConfig, HasLimits) {
  std::string many = R"({"loadBalancingConfig":[)";
  for (int i = 0; i < 17; ++i) many += R"({"pick_healthy":{}},)";
  many.back() = ']';

  EXPECT_THAT(parse_service_config(many + "}").errors, SizeIs(1));
  EXPECT_EQ(parse_service_config(std::string(70'000, ' ')).errors.at(0).code, ErrorCode::TooLarge);
  EXPECT_THAT(parse_service_config(R"({"healthCheckConfig":{"serviceName":")" +
                                   std::string(300, 'a') + "\"}}")
                  .errors,
              SizeIs(1));
}

}  // namespace
}  // namespace holdfast::config
