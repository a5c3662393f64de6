#include "cli/connect.h"

#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::cli {
namespace {

TEST(Connect, AServiceMayHaveAPortByNameOrNumber) {
  EXPECT_EQ(parse_wanted("web")->port, "");
  EXPECT_EQ(parse_wanted("web:80")->port, "80");
  EXPECT_EQ(parse_wanted("web:metrics")->service, "web");
}

TEST(Connect, WhatIsNoServiceIsAMistakeOfUsage) {
  for (const char* text : {"", ":80", "web:", "web:80:90", "we b", "http://web", "web/80"}) {
    const auto wanted = parse_wanted(text);
    ASSERT_FALSE(wanted) << text;
    EXPECT_EQ(wanted.error().exit, Exit::Usage);
    EXPECT_FALSE(wanted.error().next.empty());
  }
}

TEST(Connect, OptionsThatContradictEachOtherAreSaidBeforeAnythingIsRead) {
  const Console console;
  const Connection nowhere{.profile_dir = "/nonexistent"};
  EXPECT_EQ(connect(console, nowhere, {}), Exit::Usage);
  EXPECT_EQ(connect(console, nowhere, {.target = "web", .socks = "127.0.0.1:0"}), Exit::Usage);
  EXPECT_EQ(
      connect(console, nowhere, {.target = "web", .listen = "127.0.0.1:0", .socks = "127.0.0.1:0"}),
      Exit::Usage);
  EXPECT_EQ(connect(console, nowhere, {.target = "web", .proxies = {"no port"}}), Exit::Usage);
  EXPECT_EQ(connect(console, nowhere, {.target = "web"}), Exit::BadProfile) << "not logged in";
}

TEST(Connect, APortThatOthersReachIsOpenedOnlyIfThatIsWanted) {
  const Console console;
  const Connection nowhere{.profile_dir = "/nonexistent"};
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:5432"}) {
    EXPECT_EQ(connect(console, nowhere, {.target = "web", .listen = address}), Exit::Usage);
    EXPECT_EQ(connect(console, nowhere, {.socks = address}), Exit::Usage) << address;
    EXPECT_EQ(connect(console, nowhere, {.socks = address, .allow_remote = true}), Exit::BadProfile)
        << "only then the profile is looked for";
  }
  for (const char* address : {"127.0.0.1:0", "[::1]:0", "127.9.9.9:1"}) {
    EXPECT_EQ(connect(console, nowhere, {.socks = address}), Exit::BadProfile) << address;
  }
  EXPECT_EQ(connect(console, nowhere, {.socks = "nowhere"}), Exit::Usage);
}

TEST(Connect, WhatAProxyRefusesKeepsItsCode) {
  const Status denied =
      refusal_of(403, R"({"error":{"code":"HF5001","message":"user/ann may not connect"}})");
  EXPECT_EQ(denied.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(split_reason(denied).code, "HF5001");
  EXPECT_EQ(split_reason(denied).message, "user/ann may not connect");
}

TEST(Connect, AnAnswerThatIsNotOurProxysIsSaidByItsStatus) {
  for (const char* body : {"", "<html>", "[]", R"({"error":"x"})"}) {
    const Status status = refusal_of(502, body);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << body;
    EXPECT_EQ(split_reason(status).code, "HF2313") << body;
  }
}

}  // namespace
}  // namespace holdfast::cli
