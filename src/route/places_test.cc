#include "route/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::route {
namespace {

using namespace std::chrono_literals;
using Kind = Taken::Kind;

using Services = std::map<std::string, Capacity, std::less<>>;

Services limited(uint64_t a, uint64_t b, WhenFull when_full = WhenFull::Overflow) {
  return {{"web", {.zones = {{"a", a}, {"b", b}}, .when_full = when_full}}};
}

class PlacesTest : public testing::Test {
 protected:
  Taken take() { return places_.take("web", {"a", "b"}, now_); }
  void end(const std::string& zone, Ended how = Ended::Closed, bool was_opened = true) {
    places_.give_back("web", zone, how, was_opened, now_);
  }
  // As many as there are places "a" for.
  int take_within(const std::string& zone) {
    for (int count = 0;; ++count) {
      if (take() != Taken{Kind::Within, zone}) return count;
    }
  }
  void grant(uint64_t a, uint64_t b, bool scarce = false) {
    const LoadReport report = places_.report(now_);
    places_.on_grant({.number = ++grants_,
                      .report = report.number,
                      .ttl = 5s,
                      .report_every = 1s,
                      .pools = {{{"web", "a"}, a, 3, scarce}, {{"web", "b"}, b, 3, scarce}}},
                     now_);
  }
  uint64_t limit(const std::string& zone) {
    return places_.explain("web", {zone}, now_).front().limit;
  }
  PoolReport row(const std::string& zone) {
    for (const PoolReport& row : places_.rows(now_)) {
      if (row.pool == PoolKey{"web", zone}) return row;
    }
    return {};
  }

  Places places_{{.holder = "proxy/one", .zone = "a", .boot = 7}};
  Time now_{1h};
  uint64_t grants_ = 0;
};

TEST_F(PlacesTest, WhereTheDealerHasMoreItsGrantIsAwaitedFirst) {
  const auto await = [this] { return places_.take("web", {"a", "b"}, now_, IfTaken::AwaitGrant); };
  for (const WhenFull when_full : {WhenFull::Reject, WhenFull::Overflow, WhenFull::Queue}) {
    places_.set_services({{"web", {.zones = {{"a", 9}, {"b", 9}}, .when_full = when_full}}}, 3);
    take();  // only what is known is granted
    const auto decided = when_full == WhenFull::Reject     ? Kind::Reject
                         : when_full == WhenFull::Overflow ? Kind::Beyond
                                                           : Kind::Wait;
    EXPECT_EQ(places_.queues("web"), when_full == WhenFull::Queue);

    grant(0, 0);
    const uint64_t before = row("a").active;
    EXPECT_EQ(await().kind, Kind::Wait);
    EXPECT_EQ(row("a").active, before) << "nothing was taken";
    grant(0, 0, true);
    EXPECT_EQ(await().kind, decided) << "places are scarce";
    grant(9, 9);
    while (await().kind == Kind::Within) {
    }
    EXPECT_EQ(await().kind, decided) << "it has them all";
    now_ += 1min;
    EXPECT_EQ(await().kind, decided) << "nobody deals";
  }
  EXPECT_FALSE(places_.queues("other"));
}

TEST_F(PlacesTest, WithoutALimitThereIsAlwaysAPlaceAndItIsCounted) {
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(take(), (Taken{Kind::Within, "a"}));

  EXPECT_EQ(row("a").active, 1000u);
  EXPECT_EQ(row("a").limit, kNoLimit);
}

TEST_F(PlacesTest, WhoWasNeverToldKeepsToAnEvenShare) {
  places_.set_services(limited(20, 9), 5);

  EXPECT_EQ(take_within("a"), 4);
  EXPECT_EQ(row("b").active, 1u);  // taken while counting
  EXPECT_EQ(take_within("b"), 0);
  EXPECT_FALSE(row("a").leased);
}

TEST_F(PlacesTest, AShareIsAtLeastOnePlaceUnlessThereIsNone) {
  places_.set_services(limited(2, 0), 5);

  EXPECT_EQ(take(), (Taken{Kind::Within, "a"}));
  EXPECT_EQ(take(), (Taken{Kind::Beyond, "a"}));
}

TEST_F(PlacesTest, TheOwnZoneIsFilledThenTheNextThenThePolicyDecides) {
  for (const auto& [policy, kind] :
       {std::pair(WhenFull::Overflow, Kind::Beyond), std::pair(WhenFull::Queue, Kind::Wait),
        std::pair(WhenFull::Reject, Kind::Reject)}) {
    Places places({.holder = "proxy/one", .zone = "a"});
    places.set_services(limited(2, 1, policy), 1);
    const auto next = [&] { return places.take("web", {"a", "b"}, now_); };

    EXPECT_EQ(next(), (Taken{Kind::Within, "a"}));
    EXPECT_EQ(next(), (Taken{Kind::Within, "a"}));
    EXPECT_EQ(next(), (Taken{Kind::Within, "b"}));
    EXPECT_EQ(next(), (Taken{kind, kind == Kind::Beyond ? "a" : ""}));
    const auto rows = places.rows(now_);
    EXPECT_EQ(rows[0].active, kind == Kind::Beyond ? 3u : 2u);
    EXPECT_EQ(rows[0].turned_away, 2u);
    EXPECT_EQ(rows[1].turned_away, 1u);
  }
}

TEST_F(PlacesTest, BeyondItsSharesAHolderThatHearsNobodySpreadsOverTheZones) {
  places_.set_services(limited(60, 30), 3);

  for (int i = 0; i < 60; ++i) take();

  EXPECT_EQ(row("a").active, 40u);
  EXPECT_EQ(row("b").active, 20u);
}

TEST_F(PlacesTest, BeyondItsLeasesAHolderStaysInTheFirstZone) {
  places_.set_services(limited(60, 30), 3);
  take();
  grant(2, 1);

  for (int i = 0; i < 9; ++i) take();

  EXPECT_EQ(row("a").active, 9u);
  EXPECT_EQ(row("b").active, 1u);
}

TEST_F(PlacesTest, APlaceThatIsGivenBackIsTakenAgain) {
  places_.set_services(limited(1, 1), 1);
  take();
  take();
  end("a");

  EXPECT_EQ(take(), (Taken{Kind::Within, "a"}));
}

TEST_F(PlacesTest, CountsTellWhatBecameOfConnections) {
  for (const Ended how :
       {Ended::Closed, Ended::Refused, Ended::TimedOut, Ended::Reset, Ended::GaveUp, Ended::Cut}) {
    take();
    EXPECT_EQ(row("a").opened, row("a").closed) << "nobody was asked for it yet";
    places_.opened("web", "a");
    EXPECT_EQ(row("a").opened, row("a").closed + 1);
    end("a", how);
  }
  take();
  end("a", Ended::GaveUp, false);

  const PoolReport counts = row("a");
  EXPECT_EQ(counts.opened, 6u);
  EXPECT_EQ(counts.closed, 6u);
  EXPECT_EQ(counts.active, 0u);
  EXPECT_EQ(counts.failed,
            (FailedCounts{.refused = 1, .timed_out = 1, .reset = 1, .gave_up = 1, .cut = 1}));
}

TEST_F(PlacesTest, ALeaseHoldsAsLongAsTheDealerReckons) {
  places_.set_services(limited(20, 20), 4);
  take();
  const LoadReport report = places_.report(now_);
  now_ += 2s;  // the answer takes its time, which is the lease's time too
  places_.on_grant(
      {.number = 1, .report = report.number, .ttl = 5s, .pools = {{{"web", "a"}, 9, 3}}}, now_);

  EXPECT_EQ(limit("a"), 9u);
  EXPECT_EQ(limit("b"), 5u) << "was not in the grant";
  now_ += 3s - 1ns;
  EXPECT_EQ(limit("a"), 9u);
  now_ += 1ns;
  EXPECT_EQ(limit("a"), 3u);
  EXPECT_FALSE(row("a").leased);
}

TEST_F(PlacesTest, ASmallLeaseRisesToTheFixedShareOnlyLater) {
  places_.set_services(limited(20, 20), 4);
  take();
  grant(1, 0);

  now_ += 5s;
  EXPECT_EQ(limit("a"), 1u);
  EXPECT_EQ(limit("b"), 0u);
  now_ += 5s;
  EXPECT_EQ(limit("a"), 3u);
  EXPECT_EQ(limit("b"), 3u);
}

TEST_F(PlacesTest, AFixedShareThatIsNotToldStaysAsItWas) {
  places_.set_services(limited(20, 20), 4);
  take();
  grant(9, 9);
  const LoadReport report = places_.report(now_);
  places_.on_grant(
      {.number = 2, .report = report.number, .ttl = 5s, .pools = {{{"web", "a"}, 9, 0}}}, now_);

  now_ += 10s;
  EXPECT_EQ(limit("a"), 3u);
}

TEST_F(PlacesTest, OnlyTheAnswerToTheReportUnderWayCounts) {
  places_.set_services(limited(20, 20), 4);
  take();
  const LoadReport lost = places_.report(now_);
  places_.on_report_failed(now_);
  const LoadGrant late{
      .number = 1, .report = lost.number, .ttl = 5s, .pools = {{{"web", "a"}, 9, 3}}};
  places_.on_grant(late, now_);
  EXPECT_EQ(limit("a"), 5u);

  now_ += 1s;
  places_.report(now_);
  places_.on_grant(late, now_);
  EXPECT_EQ(limit("a"), 5u);
  EXPECT_EQ(places_.report_due(), Time::max()) << "the second is still under way";
}

TEST_F(PlacesTest, AGrantOlderThanTheOneInForceIsNotTaken) {
  places_.set_services(limited(20, 20), 4);
  take();
  grants_ = 6;
  grant(9, 9);
  grants_ = 3;
  grant(15, 15);

  EXPECT_EQ(limit("a"), 9u);
  EXPECT_EQ(places_.report(now_).grant, 7u);
}

TEST_F(PlacesTest, ReportsSayWhoWhatAndWhichGrantIsInForce) {
  places_.set_services(limited(20, 20), 4);
  EXPECT_THAT(places_.report(now_).pools, testing::IsEmpty());
  places_.on_report_failed(now_);
  take();
  grant(9, 8);

  const LoadReport report = places_.report(now_);

  EXPECT_EQ(report.holder, "proxy/one");
  EXPECT_EQ(report.zone, "a");
  EXPECT_EQ(report.boot, 7u);
  EXPECT_EQ(report.number, 3u);
  EXPECT_EQ(report.grant, 1u);
  ASSERT_EQ(report.pools.size(), 2u) << "the other zone too: who spills has a lease there already";
  EXPECT_EQ(report.pools[0].limit, 9u);
  EXPECT_TRUE(report.pools[0].leased);
  EXPECT_EQ(report.pools[1].limit, 8u);
}

TEST_F(PlacesTest, ConnectionsThatWaitAskForAPlaceEachInTheZonesThatTheyTried) {
  places_.set_services(limited(10, 20, WhenFull::Reject), 4);
  take();
  grant(4, 4);
  while (take().kind == Kind::Within) continue;
  now_ += 2s;
  grant(4, 4);
  ASSERT_EQ(places_.take("web", {"b", "a"}, now_, IfTaken::AwaitGrant).kind, Kind::Wait);
  places_.set_waiting("web", 1);
  places_.set_waiting("web", 18);
  EXPECT_LE(places_.report_due(), now_);

  grant(6, 20);

  EXPECT_EQ(row("b").waiting, 16u) << "as many as do not run there, of twenty";
  EXPECT_EQ(row("a").waiting, 2u) << "the rest";
  places_.set_waiting("web", 1);
  grant(6, 20, true);
  EXPECT_EQ(row("b").waiting, 1u) << "it has its place; it has not taken it";
  EXPECT_EQ(row("a").waiting, 0u);
  places_.set_waiting("other", 1);  // has no limits: nobody waits for it

  places_.set_waiting("web", 9);
  places_.report(now_);
  EXPECT_EQ(row("b").waiting, 9u);
  EXPECT_EQ(row("a").waiting, 6u) << "of a scarce zone others may have them";
}

TEST_F(PlacesTest, WhatIsScarceIsKeptForConnectionsThatWait) {
  places_.set_services(limited(20, 20, WhenFull::Reject), 4);
  take();
  grant(12, 12, true);
  places_.set_waiting("web", 8);

  EXPECT_EQ(places_.report(now_).pools[0].limit, 1u + 8u);
}

TEST_F(PlacesTest, ReportsAreDueEachSecondAndSoonerWhenPlacesRunShort) {
  EXPECT_LT(places_.report_due(), now_) << "the first at once";
  places_.set_services(limited(20, 20), 4);
  take();
  grant(9, 9);
  EXPECT_EQ(places_.report_due(), now_ + 1s);

  for (int i = 0; i < 6; ++i) take();
  EXPECT_EQ(places_.report_due(), now_ + 1s) << "two of nine are free";
  take();
  EXPECT_EQ(places_.report_due(), now_);
}

TEST_F(PlacesTest, WhoRunsShortAllTheTimeReportsAsOftenAsItMay) {
  places_.set_services(limited(20, 20), 4);
  take();
  int reports = 0;
  for (const Time end = now_ + 10s; now_ < end; now_ += 1ms) {
    if (places_.report_due() > now_) continue;
    grant(1, 1);
    take();  // finds no place
    ++reports;
  }

  EXPECT_NEAR(reports, 10 + 100, 3);
}

TEST_F(PlacesTest, WhoHasPlacesTakenAwaySaysSoSoon) {
  places_.set_services(limited(20, 20), 4);
  take();
  grant(9, 9);
  now_ += 1s;
  grant(5, 9);

  EXPECT_EQ(places_.report_due(), now_);
}

TEST_F(PlacesTest, WhatIsScarceIsGivenBackWithTheReport) {
  places_.set_services(limited(20, 20), 4);
  take();
  grant(9, 9, true);
  now_ += 1s;

  const LoadReport report = places_.report(now_);

  EXPECT_EQ(report.pools[0].limit, 2u) << "one that runs and one in case";
  EXPECT_EQ(limit("a"), 2u) << "and it keeps to that, answer or not";
}

TEST_F(PlacesTest, AFailedReportIsNotRepeatedSooner) {
  places_.set_services(limited(1, 0), 1);
  take();
  grant(1, 0);
  take();
  EXPECT_EQ(places_.report_due(), now_);
  places_.report(now_);
  places_.on_report_failed(now_);

  EXPECT_EQ(places_.report_due(), now_ + 1s);
}

TEST_F(PlacesTest, PoolsBeyondTheMostAreNotLimitedNorCounted) {
  Places places({.holder = "proxy/one", .zone = "a", .max_pools = 1});
  places.set_services({{"db", {.zones = {{"a", 1}}}}}, 1);
  places.take("db", {"a"}, now_);

  EXPECT_EQ(places.take("web", {"a"}, now_), (Taken{Kind::Within, "a"}));
  EXPECT_EQ(places.not_counted(), 1u);
  EXPECT_EQ(places.rows(now_).size(), 1u);
  places.give_back("web", "a", Ended::Closed, false, now_);
  EXPECT_EQ(places.take("db", {"a"}, now_).kind, Kind::Beyond);
}

TEST_F(PlacesTest, AServiceThatIsGoneIsCountedUntilItsLastConnectionEnds) {
  places_.set_services(limited(1, 1), 1);
  take();
  places_.set_services({}, 1);
  EXPECT_EQ(row("a").active, 1u);
  EXPECT_EQ(row("a").limit, kNoLimit);

  end("a");
  places_.set_services({}, 1);
  EXPECT_TRUE(places_.rows(now_).empty());
}

TEST_F(PlacesTest, ALimitThatChangesHoldsForTheNextConnection) {
  places_.set_services(limited(5, 5), 1);
  EXPECT_EQ(take_within("a"), 5);
  places_.set_services(limited(3, 9), 1);
  end("a");
  end("a");
  EXPECT_EQ(take(), (Taken{Kind::Within, "b"}));
  end("a");

  EXPECT_EQ(take(), (Taken{Kind::Within, "a"}));
}

TEST_F(PlacesTest, ExplainTellsEachZoneInOrder) {
  places_.set_services(limited(1, 5), 1);
  take();

  const auto views = places_.explain("web", {"a", "b", "c"}, now_);

  ASSERT_EQ(views.size(), 3u);
  EXPECT_FALSE(views[0].would_take);
  EXPECT_EQ(views[0].active, 1u);
  EXPECT_TRUE(views[1].would_take);
  EXPECT_EQ(views[1].limit, 5u);
  EXPECT_EQ(views[2].limit, kNoLimit);
  EXPECT_EQ(places_.explain("db", {"a"}, now_).front().limit, kNoLimit);
}

}  // namespace
}  // namespace holdfast::route
