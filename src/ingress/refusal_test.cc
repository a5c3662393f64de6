#include "ingress/refusal.h"

#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::ingress {
namespace {

using enum absl::StatusCode;

TEST(Refusal, HasTheStatusThatClientsKnow) {
  const struct {
    absl::StatusCode code;
    const char* reason;
    int status;
  } cases[] = {{kInvalidArgument, "HF2303", 400},  {kUnauthenticated, "HF5002", 407},
               {kPermissionDenied, "HF5001", 403}, {kNotFound, "HF2201", 404},
               {kUnavailable, "HF2202", 503},      {kUnavailable, "HF2203", 502},
               {kDeadlineExceeded, "HF2204", 504}, {kResourceExhausted, "HF1020", 503},
               {kOutOfRange, "HF2303", 431},       {kDataLoss, "HF2001", 502}};
  for (const auto& each : cases) {
    EXPECT_EQ(refusal(coded(each.code, each.reason, "x"), Asked::Connect).status, each.status)
        << each.reason;
  }
  EXPECT_EQ(refusal(coded(kUnauthenticated, "HF5002", "x"), Asked::Page).status, 401);
}

TEST(Refusal, SaysTheCodeInOneLineOfJsonWhateverTheMessageHolds) {
  const Status why = coded(kNotFound, "HF2201", "there is no service \"web\"\n");
  EXPECT_EQ(refusal(why, Asked::Connect).body,
            "{\"error\":{\"code\":\"HF2201\",\"message\":\"there is no service "
            "\\\"web\\\"\\n\"}}\n");
}

TEST(Refusal, TellsStrangersNothingOfAgentsAndTargets) {
  const Status why = coded(kUnavailable, "HF2203",
                           "agents refused web (edge-1: refused: 10.0.0.7:80 does not answer)");
  EXPECT_EQ(refusal(why, Asked::Page).body,
            "{\"error\":{\"code\":\"HF2203\",\"message\":\"agents refused web\"}}\n");
  EXPECT_TRUE(refusal(why, Asked::Connect).body.contains("10.0.0.7"));
}

}  // namespace
}  // namespace holdfast::ingress
