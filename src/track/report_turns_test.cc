#include "track/report_turns.h"

#include <gtest/gtest.h>

namespace holdfast::track {
namespace {

using namespace std::chrono_literals;

constexpr Time kReportTurnsStart{std::chrono::hours(1)};

ReportTurns turns() {
  return ReportTurns({.holder = "agent/edge-1", .zone = "a", .boot = 7});
}

route::LoadGrant grant(uint64_t number, uint64_t report = 0, Duration every = 1s) {
  return {.number = number, .report = report, .ttl = 5s, .report_every = every};
}

TEST(ReportTurns, TheFirstIsDueAtOnceAndTheNextWhenTheDealerSays) {
  ReportTurns reports = turns();
  EXPECT_LE(reports.due(), kReportTurnsStart);

  const route::LoadReport first = reports.begin({}, 0, kReportTurnsStart);
  EXPECT_EQ(first.holder, "agent/edge-1");
  EXPECT_EQ(first.boot, 7u);
  EXPECT_EQ(first.number, 1u);
  EXPECT_EQ(reports.due(), Time::max()) << "one at a time";

  EXPECT_EQ(reports.answered(grant(1, 1, 3s), kReportTurnsStart + 20ms), kReportTurnsStart)
      << "a lease counts from the question";
  EXPECT_EQ(reports.due(), kReportTurnsStart + 3s);
}

TEST(ReportTurns, WhoIsInAHurryIsDueSooner) {
  ReportTurns reports = turns();
  reports.begin({}, 0, kReportTurnsStart);
  reports.answered(grant(1), kReportTurnsStart);
  EXPECT_EQ(reports.due(), kReportTurnsStart + 1s);

  reports.hurry();

  EXPECT_EQ(reports.due(), kReportTurnsStart + 100ms);
}

TEST(ReportTurns, HowLongAnswersTakeFallsSlowly) {
  ReportTurns reports = turns();
  reports.begin({}, 0, kReportTurnsStart);
  reports.failed();
  reports.begin({}, 0, kReportTurnsStart + 1s);
  reports.answered(grant(1), kReportTurnsStart + 1s + 600ms);
  EXPECT_EQ(reports.begin({}, 1, kReportTurnsStart + 3s).answered_in, 1600ms)
      << "what was lost counts";

  reports.answered(grant(2), kReportTurnsStart + 3s + 1ms);

  EXPECT_EQ(reports.begin({}, 2, kReportTurnsStart + 4s).answered_in, 1400ms);
}

TEST(ReportTurns, WhoCannotBeReachedIsNotAskedMoreOften) {
  ReportTurns reports = turns();
  reports.begin({}, 0, kReportTurnsStart);
  reports.hurry();

  reports.failed();

  EXPECT_EQ(reports.due(), kReportTurnsStart + 1s);
}

TEST(ReportTurns, AnAnswerToAnotherReportOrAnOldOneIsNone) {
  ReportTurns reports = turns();
  reports.begin({}, 0, kReportTurnsStart);
  reports.failed();
  EXPECT_FALSE(reports.answered(grant(1, 1), kReportTurnsStart).has_value())
      << "nobody waits for it";

  reports.begin({}, 0, kReportTurnsStart + 1s);
  EXPECT_FALSE(reports.answered(grant(1, 1), kReportTurnsStart).has_value())
      << "of the report before";
  EXPECT_EQ(reports.answered(grant(5, 2), kReportTurnsStart + 1s), kReportTurnsStart + 1s);

  reports.begin({}, 5, kReportTurnsStart + 2s);
  EXPECT_FALSE(reports.answered(grant(5, 3), kReportTurnsStart + 2s).has_value())
      << "it is in force already";
  EXPECT_EQ(reports.due(), kReportTurnsStart + 3s);
}

}  // namespace
}  // namespace holdfast::track
