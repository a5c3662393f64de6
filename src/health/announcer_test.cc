#include "health/announcer.h"

#include <gtest/gtest.h>

#include "base/reason.h"
#include "base/rng.h"

namespace holdfast::health {
namespace {

using namespace std::chrono_literals;

Time at(Duration elapsed) {
  return Time(elapsed);
}
const Status kRefused = absl::UnavailableError("refused");

class AnnouncerTest : public testing::Test {
 protected:
  // The attempt that begins now; the test fails if none does.
  Announcer::Attempt send(Duration now) {
    const Announcer::Action action = announcer_.on_tick(at(now));
    EXPECT_TRUE(action.announce.has_value()) << now.count();
    EXPECT_FALSE(action.report.has_value()) << "nothing has happened yet";
    return action.announce.value_or(0);
  }
  bool is_quiet(Duration now) {
    const Announcer::Action action = announcer_.on_tick(at(now));
    return !action.announce && !action.report;
  }
  Duration next() { return announcer_.next_deadline()->time_since_epoch(); }

  Announcer announcer_{{.write_timeout = 3s, .first_retry = 1s, .min_interval = 1s, .period = 30s},
                       1};
};

TEST_F(AnnouncerTest, SaysNothingBeforeItIsStarted) {
  EXPECT_TRUE(is_quiet(100s));
  EXPECT_EQ(announcer_.next_deadline(), std::nullopt);
  announcer_.content_changed(at(100s));
  EXPECT_TRUE(is_quiet(101s));
}

TEST_F(AnnouncerTest, AnnouncesAtOnceAndThenWhenTheControllerSaid) {
  announcer_.start(at(0s));
  const auto first = send(0s);
  const Announcer::Action delivered = announcer_.delivered(first, 33s, at(200ms));

  ASSERT_TRUE(delivered.report.has_value());
  EXPECT_TRUE(delivered.report->ok());
  EXPECT_EQ(next(), 33s + 200ms);
  EXPECT_TRUE(is_quiet(33s)) << "a tick on which nothing is done reports nothing";
  EXPECT_NE(send(33s + 200ms), first);
}

TEST_F(AnnouncerTest, MayStartLaterThanItsNeighbours) {
  announcer_.start(at(0s), 7s);

  EXPECT_TRUE(is_quiet(7s - 1ns));
  send(7s);
}

TEST_F(AnnouncerTest, ATryThatFailsIsReportedOnceAndTriedAgainWithBackoff) {
  announcer_.start(at(0s));
  Duration now = 0s;
  Duration longest = 0s;
  for (int i = 1; i <= 12; ++i) {
    const auto attempt = send(now);
    const Announcer::Action action = announcer_.failed(attempt, kRefused, at(now));
    ASSERT_TRUE(action.report.has_value());
    EXPECT_EQ(*action.report, kRefused);
    EXPECT_EQ(announcer_.failures(), i);
    const Duration wait = next() - now;
    if (i == 1) {
      EXPECT_GE(wait, 500ms);
      EXPECT_LT(wait, 1s);
    }
    EXPECT_LE(wait, 15s) << "never longer than half a period";
    EXPECT_TRUE(is_quiet(now + wait - 1ns));
    longest = std::max(longest, wait);
    now += wait;
  }
  EXPECT_GE(longest, 7s) << "it does back off";

  const auto attempt = send(now);
  EXPECT_TRUE(announcer_.delivered(attempt, 30s, at(now)).report->ok());
  EXPECT_EQ(announcer_.failures(), 0);
  EXPECT_EQ(next(), now + 30s);
}

TEST_F(AnnouncerTest, AnAnswerThatDoesNotComeIsAFailure) {
  announcer_.start(at(0s));
  const auto attempt = send(0s);
  EXPECT_EQ(next(), 3s);
  EXPECT_TRUE(is_quiet(3s - 1ns));

  const Announcer::Action action = announcer_.on_tick(at(3s));

  ASSERT_TRUE(action.report.has_value());
  EXPECT_EQ(action.report->code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(split_reason(*action.report).code, "HF1105");
  const Announcer::Action late = announcer_.delivered(attempt, 30s, at(3s + 1ms));
  EXPECT_FALSE(late.report.has_value()) << "what came too late is no delivery";
  EXPECT_EQ(announcer_.failures(), 1);
}

TEST_F(AnnouncerTest, ALateAnswerDoesNotEndTheNextAttempt) {
  announcer_.start(at(0s));
  const auto first = send(0s);
  announcer_.on_tick(at(3s));
  const Duration again = next();
  const auto second = send(again);
  EXPECT_NE(second, first);

  EXPECT_FALSE(announcer_.failed(first, kRefused, at(again)).report.has_value());
  EXPECT_FALSE(announcer_.delivered(first, 30s, at(again)).report.has_value());

  EXPECT_TRUE(announcer_.delivered(second, 30s, at(again)).report->ok());
}

TEST_F(AnnouncerTest, ChangedContentIsAnnouncedAtOnceButAtMostEverySecond) {
  announcer_.start(at(0s));
  announcer_.delivered(send(0s), 30s, at(0s));
  announcer_.content_changed(at(10s));
  announcer_.delivered(send(10s), 30s, at(10s + 10ms));

  announcer_.content_changed(at(10s + 20ms));
  announcer_.content_changed(at(10s + 30ms));

  EXPECT_TRUE(is_quiet(11s - 1ns));
  announcer_.delivered(send(11s), 30s, at(11s));
  EXPECT_EQ(next(), 41s) << "once for both changes";
}

TEST_F(AnnouncerTest, AChangeWhileSendingIsAnnouncedAfterIt) {
  announcer_.start(at(0s));
  const auto attempt = send(0s);
  announcer_.content_changed(at(1s));
  announcer_.delivered(attempt, 30s, at(2s));

  send(2s);
}

TEST_F(AnnouncerTest, AChangeDoesNotShortenTheBackoff) {
  announcer_.start(at(0s));
  Duration now = 0s;
  for (int i = 0; i < 6; ++i) {
    announcer_.failed(send(now), kRefused, at(now));
    now = next();
  }
  const Duration before = next();

  announcer_.content_changed(at(before - 5s));

  EXPECT_EQ(next(), before);
}

TEST_F(AnnouncerTest, AShortPeriodHasAShorterBackoff) {
  Announcer quick({.first_retry = 1s, .period = 1s}, 1);
  quick.start(at(0s));
  const auto attempt = quick.on_tick(at(0s)).announce;
  quick.failed(*attempt, kRefused, at(0s));

  EXPECT_LE(quick.next_deadline(), at(500ms));
}

// Whatever happens: at most one in flight, reports match outcomes one to one, and it never sleeps
// for longer than it should.
TEST(AnnouncerProperty, HoldsOverRandomRuns) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    Announcer announcer({.write_timeout = 3s, .first_retry = 1s, .min_interval = 1s, .period = 30s},
                        seed);
    announcer.start(at(0s));
    Announcer::Attempt current = 0;
    Duration last_sent = -1h;
    for (Duration now = 0s; now < 300s; now += rng.below(Duration(400ms))) {
      const uint64_t what = rng.below(uint64_t{10});
      if (what == 0) announcer.content_changed(at(now));
      if (current != 0 && what == 1) {
        ASSERT_TRUE(announcer.delivered(current, 30s, at(now)).report->ok());
        current = 0;
      } else if (current != 0 && what == 2) {
        ASSERT_FALSE(announcer.failed(current, kRefused, at(now)).report->ok());
        current = 0;
      }
      const Announcer::Action action = announcer.on_tick(at(now));
      if (action.report) {
        ASSERT_NE(current, 0u) << "seed " << seed << ": a report without an attempt";
        ASSERT_GE(now - last_sent, 3s);
        current = 0;
      }
      if (action.announce) {
        ASSERT_EQ(current, 0u) << "seed " << seed << ": two in flight";
        ASSERT_GE(now - last_sent, 500ms) << "seed " << seed;
        current = *action.announce;
        last_sent = now;
      }
      ASSERT_LE(announcer.next_deadline().value(), at(now + 30s)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace holdfast::health
