// The pair's times are checked against each other, and a refusal says which two and why.
#include "ha/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::ha {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

void expect_refused(const Timing& timing, const std::vector<std::string>& words) {
  const Status status = check(timing);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(split_reason(status).code, "HF4110");
  for (const std::string& word : words) EXPECT_THAT(std::string(status.message()), HasSubstr(word));
}

TEST(Timing, TheDefaultsStandWellToEachOther) {
  EXPECT_TRUE(check(Timing{}).ok()) << check(Timing{});
}

TEST(Timing, ALeaseOutlastsFiveBeats) {
  expect_refused({.beat = 150ms}, {"ha.lease", "600ms", "ha.beat", "150ms", "750ms"});
  EXPECT_TRUE(check({.beat = 120ms}).ok());
}

TEST(Timing, AHalfIsNotLeftBehindForAFewLostBeats) {
  expect_refused({.drop = 400ms}, {"ha.drop", "400ms", "ha.beat", "100ms"});
}

TEST(Timing, TakingOverWaitsForTheLease) {
  expect_refused({.lease = 800ms}, {"ha.take", "1s", "ha.lease", "800ms"});
  // 1.01 leases and two beats, to the millisecond.
  EXPECT_FALSE(check({.lease = 1000ms, .drop = 1011ms, .take = 1210ms}).ok());
  EXPECT_TRUE(check({.lease = 1000ms, .drop = 1011ms, .take = 1211ms}).ok());
}

TEST(Timing, TheActiveHalfDropsItsPeerBeforeThePeerTakesOver) {
  expect_refused({.drop = 900ms}, {"ha.take", "1s", "ha.drop", "900ms"});
  expect_refused({.drop = 1s}, {"ha.take is 1s", "ha.drop is 1s", "must be at least 1200ms"});
}

TEST(Timing, NobodyIsLeftBehindWhileItsLeaseMayLast) {
  expect_refused({.drop = 600ms}, {"ha.drop", "600ms", "ha.lease", "607ms"});
  EXPECT_TRUE(check({.drop = 607ms}).ok());
}

TEST(Timing, WhoAsksAsTheActiveHalfDiesIsNotSentAwayBeforeTheOtherTakesOver) {
  expect_refused({.vote_patience = 1099ms},
                 {"ha.vote_patience", "1099ms", "ha.take is 1s", "must be at least 1100ms"});
  EXPECT_TRUE(check({.vote_patience = 1100ms}).ok());
  expect_refused({.take = 3s}, {"ha.vote_patience is 2s", "ha.take is 3s"});
}

TEST(Timing, RecoveryIsOffOrSlow) {
  expect_refused({.recovery = 9s}, {"ha.recovery", "9s", "ha.take", "1s", "10s"});
  EXPECT_TRUE(check({.recovery = 10s}).ok());
  EXPECT_TRUE(check({.recovery = 0s}).ok());
}

TEST(Timing, NothingIsShorterThanATimerCanBe) {
  expect_refused({.beat = 1ms}, {"ha.beat", "1ms", "10ms"});
  expect_refused({.witness_timeout = 0ms}, {"ha.witness_timeout"});
  expect_refused({.vote_patience = 2h}, {"ha.vote_patience", "2h"});
  expect_refused({.take = -1s}, {"ha.take"});
}

}  // namespace
}  // namespace holdfast::ha
