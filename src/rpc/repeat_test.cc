#include "rpc/repeat.h"

#include <gtest/gtest.h>

namespace holdfast::rpc {
namespace {

using namespace std::chrono_literals;
using Code = absl::StatusCode;

class RepeatTest : public testing::Test {
 protected:
  RepeatedCall make(Repeat repeat, Duration timeout = 5s) {
    return RepeatedCall({.repeat = repeat}, now_, now_ + timeout);
  }
  RepeatedCall make_leaving(Repeat repeat) {
    return RepeatedCall({.repeat = repeat, .leave_who_refuses = true}, now_, now_ + 5s);
  }

  Time now_{1h};
};

TEST_F(RepeatTest, ItWaitsForAConnectionThenStartsOnIt) {
  RepeatedCall call = make(Repeat::Never);

  EXPECT_FALSE(call.next(0, now_).start);
  EXPECT_EQ(call.next(7, now_).start, 7u);
  EXPECT_FALSE(call.next(7, now_).start) << "once";
}

TEST_F(RepeatTest, AnAnswerEndsIt) {
  RepeatedCall call = make(Repeat::Safe);
  call.next(7, now_);

  EXPECT_EQ(call.on_ended(0, {.code = Code::kOk}, now_), Complaint::None);

  EXPECT_TRUE(call.next(7, now_).done);
  EXPECT_EQ(call.answer(), 0u);
}

TEST_F(RepeatTest, AnErrorThatIsAnAnswerIsNotRepeated) {
  for (const Code code :
       {Code::kNotFound, Code::kPermissionDenied, Code::kUnauthenticated, Code::kAborted,
        Code::kResourceExhausted, Code::kInternal, Code::kUnknown}) {
    RepeatedCall call = make(Repeat::Safe);
    call.next(7, now_);

    EXPECT_EQ(call.on_ended(0, {.code = code}, now_), Complaint::None);

    EXPECT_TRUE(call.next(8, now_).done) << absl::StatusCodeToString(code);
  }
}

TEST_F(RepeatTest, WhatIsNeverRepeatedEndsWithItsFirstError) {
  RepeatedCall call = make(Repeat::Never);
  call.next(7, now_);

  EXPECT_EQ(call.on_ended(0, {.code = Code::kUnavailable}, now_), Complaint::Unavailable)
      << "the core is told";

  EXPECT_TRUE(call.next(8, now_).done);
  EXPECT_EQ(call.answer(), 0u);
}

TEST_F(RepeatTest, WhatIsSentOnceFollowsAHalfThatDidNothingToTheActiveOne) {
  RepeatedCall call = make(Repeat::IfNotActive);
  call.next(7, now_);

  call.on_ended(0, {.code = Code::kUnavailable, .not_active = true}, now_);

  EXPECT_FALSE(call.next(7, now_).start) << "not at once where it was refused";
  EXPECT_EQ(call.next(8, now_).start, 8u);
  EXPECT_FALSE(call.next(9, now_).start) << "once beside nothing";
  call.on_ended(1, {.code = Code::kOk}, now_);
  EXPECT_TRUE(call.next(8, now_).done);
  EXPECT_EQ(call.answer(), 1u);
}

TEST_F(RepeatTest, WhatMayHaveBeenDoneIsNotSentAgain) {
  for (const AttemptEnd end : {AttemptEnd{.code = Code::kUnavailable},
                               AttemptEnd{.code = Code::kUnavailable, .lost = true},
                               AttemptEnd{.code = Code::kDeadlineExceeded}}) {
    RepeatedCall call = make(Repeat::IfNotActive);
    call.next(7, now_);
    call.on_ended(0, {.code = Code::kUnavailable, .not_active = true}, now_);
    call.next(8, now_);

    call.on_ended(1, end, now_);

    EXPECT_TRUE(call.next(9, now_).done);
    EXPECT_EQ(call.answer(), 1u);
  }
}

TEST_F(RepeatTest, ASilentAnswerOfTheActiveOneIsWaitedFor) {
  RepeatedCall call = make(Repeat::IfNotActive);
  call.next(7, now_);
  now_ += 2s;

  EXPECT_FALSE(call.next(8, now_).start) << "the first may have done it";
  EXPECT_FALSE(call.next(8, now_).too_slow);
}

TEST_F(RepeatTest, ItMovesToAnotherConnectionAtOnce) {
  RepeatedCall call = make(Repeat::Safe);
  call.next(7, now_);

  EXPECT_EQ(call.on_ended(0, {.code = Code::kUnavailable}, now_), Complaint::Unavailable);

  EXPECT_EQ(call.next(8, now_).start, 8u);
}

TEST_F(RepeatTest, OnTheSameConnectionItWaitsABitLongerEveryTime) {
  RepeatedCall call = make(Repeat::Safe, 1h);
  call.next(7, now_);

  for (const Duration wait : {50ms, 100ms, 200ms, 400ms, 500ms, 500ms}) {
    call.on_ended(call.attempts() - 1, {.code = Code::kUnavailable}, now_);
    const auto next = call.next(7, now_);
    EXPECT_FALSE(next.start);
    EXPECT_GE(next.wake_at, now_ + wait / 2);
    EXPECT_LT(next.wake_at, now_ + wait);
    now_ = next.wake_at;
    EXPECT_EQ(call.next(7, now_).start, 7u);
  }
}

TEST_F(RepeatTest, ALostConnectionIsRepeatedWhateverGrpcCallsIt) {
  for (const Code code : {Code::kUnavailable, Code::kCancelled, Code::kUnknown, Code::kInternal}) {
    RepeatedCall call = make(Repeat::Safe);
    call.next(7, now_);

    EXPECT_EQ(call.on_ended(0, {.code = code, .lost = true}, now_), Complaint::None)
        << "no word of a server";

    EXPECT_EQ(call.next(8, now_).start, 8u);
  }
}

TEST_F(RepeatTest, WhoRefusesIsLeftForAnotherAndNotAskedAgain) {
  RepeatedCall call = make_leaving(Repeat::Safe);
  call.next(7, now_);

  EXPECT_EQ(call.on_ended(0, {.code = Code::kUnauthenticated}, now_), Complaint::Refused);

  const auto next = call.next(7, now_);
  EXPECT_FALSE(next.done);
  EXPECT_FALSE(next.start);
  EXPECT_EQ(next.wake_at, now_ + 1s);
  now_ += 900ms;
  EXPECT_FALSE(call.next(7, now_).start) << "however long it is picked";
  EXPECT_EQ(call.next(8, now_).start, 8u);
  now_ += 900ms;
  EXPECT_FALSE(call.next(8, now_).done) << "the other one may take its time";
  call.on_ended(1, {.code = Code::kOk}, now_);
  EXPECT_TRUE(call.next(8, now_).done);
  EXPECT_EQ(call.answer(), 1u);
}

TEST_F(RepeatTest, ARefusalIsTheAnswerIfNoOtherServerIsFoundSoon) {
  RepeatedCall call = make_leaving(Repeat::Safe);
  call.next(7, now_);
  call.on_ended(0, {.code = Code::kUnauthenticated}, now_);

  now_ += 1s;

  EXPECT_TRUE(call.next(7, now_).done);
  EXPECT_EQ(call.answer(), 0u);
}

TEST_F(RepeatTest, ASecondRefusalIsTheAnswer) {
  RepeatedCall call = make_leaving(Repeat::Safe);
  call.next(7, now_);
  call.on_ended(0, {.code = Code::kUnauthenticated}, now_);
  call.next(8, now_);

  EXPECT_EQ(call.on_ended(1, {.code = Code::kUnauthenticated}, now_), Complaint::Refused);

  EXPECT_TRUE(call.next(9, now_).done);
  EXPECT_EQ(call.answer(), 1u);
}

TEST_F(RepeatTest, WhatIsSentOnceEndsWithItsRefusal) {
  RepeatedCall call = make_leaving(Repeat::Never);
  call.next(7, now_);

  EXPECT_EQ(call.on_ended(0, {.code = Code::kUnauthenticated}, now_), Complaint::Refused);

  EXPECT_TRUE(call.next(8, now_).done);
}

TEST_F(RepeatTest, ADeadlineOfTheServersIsRepeatedAndOursIsNot) {
  RepeatedCall call = make(Repeat::Safe);
  call.next(7, now_);

  EXPECT_EQ(call.on_ended(0, {.code = Code::kDeadlineExceeded}, now_), Complaint::Unavailable);
  EXPECT_EQ(call.next(8, now_).start, 8u);
  now_ += 5s;

  EXPECT_EQ(call.on_ended(1, {.code = Code::kDeadlineExceeded}, now_), Complaint::None);
  EXPECT_TRUE(call.next(8, now_).done);
}

TEST_F(RepeatTest, ASilentConnectionIsDoubtedOnce) {
  RepeatedCall call = make(Repeat::Never);
  EXPECT_EQ(call.next(7, now_).wake_at, now_ + 1s);

  now_ += 1s;

  EXPECT_EQ(call.next(7, now_).doubt, 7u);
  EXPECT_FALSE(call.next(7, now_).doubt);
}

TEST_F(RepeatTest, AServerThatIsAliveButTooSlowIsReportedOnce) {
  RepeatedCall call = make(Repeat::Safe);
  call.next(7, now_);
  now_ += 1s;
  call.next(7, now_);

  EXPECT_EQ(call.next(7, now_).wake_at, now_ + 1s);
  now_ += 1s;

  EXPECT_EQ(call.next(7, now_).too_slow, 7u);
  EXPECT_FALSE(call.next(7, now_).too_slow);
  EXPECT_EQ(call.next(8, now_).start, 8u) << "beside it, once there is another";
}

TEST_F(RepeatTest, WhatIsSentOnceCallsNobodyTooSlow) {
  RepeatedCall call = make(Repeat::Never);
  call.next(7, now_);
  now_ += 3s;

  EXPECT_EQ(call.next(7, now_).doubt, 7u);
  EXPECT_FALSE(call.next(7, now_).too_slow);
}

TEST_F(RepeatTest, NothingToSendItOnIsDoubtedAgainAndAgain) {
  RepeatedCall call = make(Repeat::Never);
  EXPECT_FALSE(call.next(0, now_).doubt);

  for (int i = 0; i < 3; ++i) {
    now_ += 1s;
    EXPECT_EQ(call.next(0, now_).doubt, 0u);
    EXPECT_FALSE(call.next(0, now_).doubt);
  }
}

TEST_F(RepeatTest, ASecondAttemptRunsBesideASilentOneAndTheFirstAnswerCounts) {
  RepeatedCall call = make(Repeat::Safe);
  call.next(7, now_);
  EXPECT_FALSE(call.next(8, now_).start) << "a swap alone is no reason to ask twice";
  now_ += 1s;

  EXPECT_EQ(call.next(8, now_).start, 8u);
  EXPECT_FALSE(call.next(8, now_).start);
  call.on_ended(0, {.code = Code::kOk}, now_);
  call.on_ended(1, {.code = Code::kOk}, now_);

  EXPECT_TRUE(call.next(8, now_).done);
  EXPECT_EQ(call.answer(), 0u);
}

TEST_F(RepeatTest, AnErrorOfOneAttemptDoesNotEndTheOther) {
  RepeatedCall call = make(Repeat::Safe);
  call.next(7, now_);
  now_ += 1s;
  call.next(8, now_);

  call.on_ended(1, {.code = Code::kUnavailable}, now_);

  EXPECT_FALSE(call.next(8, now_).done);
  EXPECT_TRUE(call.has_running());
  call.on_ended(0, {.code = Code::kOk}, now_);
  EXPECT_EQ(call.answer(), 0u);
}

TEST_F(RepeatTest, AttemptsBesideEachOtherAreLimited) {
  RepeatedCall call = make(Repeat::Safe, 1h);
  size_t started = 0;
  for (uint64_t connection = 1; connection <= 20; ++connection) {
    started += call.next(connection, now_).start ? 1 : 0;
    now_ += 1s;
  }

  EXPECT_EQ(started, RepeatedCall::kMaxRunning);
}

TEST_F(RepeatTest, TheDeadlineEndsItWithoutAnAnswer) {
  RepeatedCall call = make(Repeat::Safe);
  call.next(7, now_);

  now_ += 5s;

  EXPECT_TRUE(call.next(7, now_).done);
  EXPECT_FALSE(call.answer());
  EXPECT_TRUE(call.has_running());
}

}  // namespace
}  // namespace holdfast::rpc
