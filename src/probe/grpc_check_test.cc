#include "probe/grpc_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::probe {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::StartsWith;

H2Answer answer(const std::string& message, const std::string& grpc_status = "0") {
  return {.status = 200,
          .content_type = "application/grpc",
          .grpc_status = grpc_status,
          .body = frame_message(message),
          .ended = true};
}

TEST(GrpcCheck, TheRequestIsTheKubelets) {
  const H2Request request = health_request(
      {.service = "liveness"},
      {.authority = "[::1]:9090", .user_agent = "kube-probe/1.0 x", .time_left = 999ms});

  EXPECT_EQ(request.headers, (std::vector<Header>{{":method", "POST"},
                                                  {":scheme", "http"},
                                                  {":path", "/grpc.health.v1.Health/Check"},
                                                  {":authority", "[::1]:9090"},
                                                  {"content-type", "application/grpc"},
                                                  {"user-agent", "kube-probe/1.0 x"},
                                                  {"te", "trailers"},
                                                  {"grpc-timeout", "999000u"}}));
  EXPECT_EQ(request.body, "\0\0\0\0\x0a\x0a\x08liveness"s);
  EXPECT_EQ(health_request({}, {}).body, "\0\0\0\0\0"s) << "no service, no message";
  EXPECT_EQ(health_request({.tls = true}, {}).headers[1].value, "https");
  const std::string long_name(300, 's');
  EXPECT_EQ(health_request({.service = long_name}, {}).body,
            "\0\0\0\x01\x2f\x0a\xac\x02"s + long_name);
}

TEST(GrpcCheck, ATimeoutHasAtMostEightDigits) {
  EXPECT_EQ(timeout_text(1s), "1000000u");
  EXPECT_EQ(timeout_text(30s), "30000000u");
  EXPECT_EQ(timeout_text(100s), "100000m");
  EXPECT_EQ(timeout_text(99999999ns), "99999999n");
  EXPECT_EQ(timeout_text(100000000ns), "100000u");
  EXPECT_EQ(timeout_text(-1s), "0n");
  EXPECT_EQ(timeout_text(std::chrono::hours(24 * 365)), "31536000S");
}

TEST(GrpcCheck, OnlyServingIsHealthy) {
  EXPECT_EQ(
      judge_health(answer("\x08\x01")),
      (Outcome{.healthy = true, .code = 1, .code_of = CodeOf::GrpcHealth, .reason = "SERVING"}));
  EXPECT_EQ(judge_health(answer("")).reason, "HF7003: UNKNOWN (0)");
  EXPECT_EQ(judge_health(answer("\x08\x02")).reason, "HF7003: NOT_SERVING (2)");
  EXPECT_EQ(judge_health(answer("\x08\x03")).reason, "HF7003: SERVICE_UNKNOWN (3)");
  EXPECT_EQ(judge_health(answer("\x08\x07")).reason, "HF7003: status (7)");
  EXPECT_EQ(judge_health(answer("\x08\x01\x08\x02")).code, 2) << "the last one counts";
  EXPECT_TRUE(judge_health(answer("\x12\x02zz\x08\x01\x18\x05")).healthy) << "unknown fields";
}

TEST(GrpcCheck, AFailedCallIsNotHealthy) {
  EXPECT_EQ(judge_health(answer("\x08\x01", "5")).reason, "HF7003: gRPC NOT_FOUND (5)");
  EXPECT_EQ(judge_health(answer("\x08\x01", "5")).code, 5);
  EXPECT_EQ(judge_health(answer("\x08\x01", "5")).code_of, CodeOf::GrpcCall);
  EXPECT_EQ(judge_health(answer("", "4")).reason, "HF7003: gRPC DEADLINE_EXCEEDED (4)");
  EXPECT_EQ(judge_health(answer("", "99")).reason, "HF7003: gRPC code (99)");
  EXPECT_THAT(judge_health(answer("", "12")).reason, StartsWith("HF7003: gRPC UNIMPLEMENTED"));
  for (const char* odd : {"", "x", "-1", "1x"}) {
    EXPECT_THAT(judge_health(answer("\x08\x01", odd)).reason, StartsWith("HF7004")) << odd;
  }
}

TEST(GrpcCheck, WhatIsNoGrpcIsNotHealthy) {
  H2Answer page = answer("\x08\x01");
  page.content_type = "text/html";
  H2Answer error = answer("\x08\x01");
  error.status = 502;
  H2Answer compressed = answer("\x08\x01");
  compressed.body[0] = 1;
  H2Answer cut = answer("\x08\x01");
  cut.body.pop_back();
  H2Answer none = answer("");
  none.body.clear();
  H2Answer twice = answer("\x08\x01");
  twice.body += twice.body;
  for (const H2Answer& wrong :
       {page, error, compressed, cut, none, twice, answer("\x08"), answer("\x08\xff"),
        answer("\x12\x05z"), answer("\x0b"), answer("\x00\x01"s)}) {
    EXPECT_FALSE(judge_health(wrong).healthy);
    EXPECT_THAT(judge_health(wrong).reason, StartsWith("HF7004"));
  }
}

}  // namespace
}  // namespace holdfast::probe
