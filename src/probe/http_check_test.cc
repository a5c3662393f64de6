#include "probe/http_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::probe {
namespace {

using testing::StartsWith;
using Next = HttpCheck::Next;

struct Checking {
  explicit Checking(bool hook = false)
      : probe{.action = HttpGet{.path = "/h"}, .port = 80, .hook = hook},
        check(probe, std::get<HttpGet>(probe.action), "10.0.0.7") {}
  Probe probe;
  HttpCheck check;
};

TEST(HttpCheck, EveryStatus) {
  for (int status = 100; status < 1000; ++status) {
    const Outcome outcome = judge_status(status);
    EXPECT_EQ(outcome.healthy, status >= 200 && status < 400) << status;
    EXPECT_EQ(outcome.code, status);
    EXPECT_FALSE(outcome.error);
  }
}

TEST(HttpCheck, OnlyFiveStatusesRedirectAndOnlyWithALocation) {
  for (int status = 300; status < 400; ++status) {
    Checking with;
    Checking without;
    const bool follows =
        status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    EXPECT_EQ(with.check.on_head(status, "/next"), follows ? Next::Follow : Next::ReadBody);
    EXPECT_EQ(without.check.on_head(status, ""), Next::ReadBody);
    EXPECT_TRUE(without.check.outcome().healthy);
  }
  Checking fine;
  EXPECT_EQ(fine.check.on_head(200, "/next"), Next::ReadBody);
}

TEST(HttpCheck, ElsewhereIsHealthyAsItIs) {
  Checking one;
  EXPECT_EQ(one.check.on_head(302, "http://other/"), Next::ReadBody);
  EXPECT_TRUE(one.check.outcome().healthy);
  EXPECT_EQ(one.check.outcome().code, 302);
}

TEST(HttpCheck, TheTenthRequestIsTheLast) {
  Checking one;
  for (int i = 1; i < kMaxRedirects; ++i) {
    ASSERT_EQ(one.check.on_head(302, "/" + std::to_string(i)), Next::Follow) << i;
    ASSERT_EQ(one.check.hop().target, "/" + std::to_string(i));
  }
  EXPECT_EQ(one.check.on_head(302, "/more"), Next::Over);
  EXPECT_FALSE(one.check.outcome().healthy);
  EXPECT_EQ(one.check.outcome().reason, "HF7003: stopped after 10 redirects");
}

TEST(HttpCheck, ARedirectToNoUrlFails) {
  Checking one;
  EXPECT_EQ(one.check.on_head(302, "http://[::1/"), Next::Over);
  EXPECT_FALSE(one.check.outcome().healthy);
  EXPECT_FALSE(one.check.outcome().error);
}

TEST(HttpCheck, ACutBodyIsAnErrorButNotOfAHook) {
  Checking probe;
  probe.check.on_head(200, "");
  probe.check.on_body_cut(absl::UnavailableError("gone"));
  EXPECT_EQ(probe.check.outcome(),
            (Outcome{.error = true,
                     .code = 200,
                     .reason = "HF7005: HTTP 200, but its body was cut off: gone"}));
  Checking hook(true);
  hook.check.on_head(500, "");
  hook.check.on_body_cut(absl::UnavailableError("gone"));
  EXPECT_TRUE(hook.check.outcome().healthy);
  EXPECT_EQ(hook.check.outcome().code, 500);
}

TEST(HttpCheck, AHookFollowsAsWell) {
  Checking hook(true);
  EXPECT_EQ(hook.check.on_head(302, "/next"), Next::Follow);
  hook.check.on_failure(absl::UnavailableError("refused"));
  EXPECT_FALSE(hook.check.outcome().healthy);
}

TEST(HttpCheck, EachFailureHasItsCode) {
  EXPECT_THAT(judge_failure(absl::UnavailableError("x")).reason, StartsWith("HF7001: x"));
  EXPECT_THAT(judge_failure(absl::DeadlineExceededError("x")).reason, StartsWith("HF7002: x"));
  EXPECT_THAT(judge_failure(not_the_protocol("x")).reason, StartsWith("HF7004: x"));
  EXPECT_THAT(judge_failure(absl::ResourceExhaustedError("x")).reason, StartsWith("HF7006: x"));
  EXPECT_THAT(judge_failure(absl::CancelledError("x")).reason, StartsWith("HF7007: x"));
}

}  // namespace
}  // namespace holdfast::probe
