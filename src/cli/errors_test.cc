#include "cli/errors.h"

#include <gtest/gtest.h>

#include "base/reason.h"
#include "cli/reasons.h"

namespace holdfast::cli {
namespace {

constexpr Asked kAnswered{.server = "ctl:7443", .answered = true};
constexpr Asked kSilent{.server = "ctl:7443"};

TEST(Explain, TheControllersOwnCodeStays) {
  const Status status =
      coded(absl::StatusCode::kPermissionDenied, "HF5007", "the token is for zone \"a\"");

  const Failure failure = explain(status, kAnswered);

  EXPECT_EQ(failure.code, "HF5007");
  EXPECT_EQ(failure.message, "the token is for zone \"a\"");
  EXPECT_EQ(failure.next, find_reason("HF5007")->next);
  EXPECT_EQ(failure.exit, Exit::NotPermitted);
}

TEST(Explain, ACodeThisCommandDoesNotKnowIsShownAsItIs) {
  const Failure failure =
      explain(coded(absl::StatusCode::kUnavailable, "HF9876", "the moon is in the way"), kSilent);

  EXPECT_EQ(failure.code, "HF9876");
  EXPECT_EQ(failure.message, "the moon is in the way");
  EXPECT_EQ(failure.next, "");
  EXPECT_EQ(failure.exit, Exit::Failed) << "whoever sends a code is there";
}

TEST(Explain, ALinkWithoutAConnectionIsAControllerThatIsNotThere) {
  const Failure failure = explain(
      coded(absl::StatusCode::kUnavailable, "HF1301", "not connected within 5s: refused"), kSilent);

  EXPECT_EQ(failure.code, "HF1001");
  EXPECT_EQ(failure.message, "no controller at ctl:7443: not connected within 5s: refused");
  EXPECT_EQ(failure.exit, Exit::NoController);
}

TEST(Explain, WhatGrpcHadInQuotesHasNoHalfOfThem) {
  const Failure failure = explain(
      absl::UnavailableError("failed to connect to all addresses; last error: UNKNOWN: ctl:7443: "
                             "Failed to connect to remote host: Connection refused\""),
      kSilent);

  EXPECT_EQ(failure.message,
            "no controller at ctl:7443: Failed to connect to remote host: Connection refused");
  EXPECT_TRUE(failure.next.contains("holdfastd controller")) << failure.next;
}

TEST(Explain, ASocketOfSomebodyElseIsNotAControllerToStart) {
  const Failure failure = explain(absl::UnavailableError("connect: Permission denied"),
                                  {.server = "unix:/run/holdfast.sock"});

  EXPECT_EQ(failure.code, "HF1001");
  EXPECT_TRUE(failure.next.contains("run this as that user")) << failure.next;
}

TEST(Explain, EveryStatusHasItsExit) {
  const struct {
    Status status;
    Asked asked;
    Exit exit;
  } cases[] = {
      {absl::UnavailableError("x"), kSilent, Exit::NoController},
      {absl::UnavailableError("x"), kAnswered, Exit::Failed},
      {absl::DeadlineExceededError("x"), kSilent, Exit::TimedOut},
      {absl::InvalidArgumentError("x"), kAnswered, Exit::BadInput},
      {absl::NotFoundError("x"), kAnswered, Exit::Failed},
      {absl::UnauthenticatedError("x"), kAnswered, Exit::NotPermitted},
      {absl::PermissionDeniedError("x"), kAnswered, Exit::NotPermitted},
      {absl::CancelledError("x"), kAnswered, Exit::Interrupted},
      {absl::DataLossError("x"), kAnswered, Exit::Failed},
  };
  for (const auto& [status, asked, exit] : cases) {
    const Failure failure = explain(status, asked);
    EXPECT_EQ(failure.exit, exit) << status;
    EXPECT_NE(find_reason(failure.code), nullptr) << failure.code;
  }
}

TEST(Explain, ACertificateOfAnotherAuthorityIsNoRiddle) {
  for (const char* message :
       {"failed to connect to all addresses; last error: UNKNOWN: ipv4:1.2.3.4:1: Ssl handshake "
        "failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify failed",
        "Ssl handshake failed: CERTIFICATE_VERIFY_FAILED",
        "Peer name controller.holdfast is not in peer certificate"}) {
    EXPECT_EQ(explain(absl::UnavailableError(message), kSilent).code, "HF5004") << message;
  }
}

TEST(Failure, TextOfOthersCannotCommandTheTerminal) {
  EXPECT_EQ(to_text({Exit::Failed, "HF2203",
                     "a\x1b]0;owned\x07\xc2\x9b"
                     "2Jb\r\nc\xff"
                     "d \xc3\xa9",
                     ""}),
            "error HF2203: a\\x1b]0;owned\\x07\\xc2\\x9b2Jb\\x0d\n"
            "c\\xffd \xc3\xa9\n");
}

TEST(Failure, IsTextOrJson) {
  const Failure failure{Exit::Failed, "HF6020", "no \"web\"\n", "look"};
  EXPECT_EQ(to_text({Exit::Failed, "HF6020", "no web", "look"}),
            "error HF6020: no web\n  next: look\n");
  EXPECT_EQ(to_json(failure),
            "{\"error\":{\"code\":\"HF6020\",\"message\":\"no \\\"web\\\"\\n\","
            "\"next\":\"look\"}}\n");
  EXPECT_EQ(to_json({Exit::Failed, "HF6020", "x", ""}),
            "{\"error\":{\"code\":\"HF6020\",\"message\":\"x\"}}\n");
}

}  // namespace
}  // namespace holdfast::cli
