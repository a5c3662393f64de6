#include "route/load_stats.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::route {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time kStart{1h};

Dealer::PoolRow row(std::string service, std::string zone, uint64_t opened, uint64_t closed = 0,
                    uint64_t refused = 0) {
  Dealer::PoolRow row{.pool = {std::move(service), std::move(zone)}, .active = opened - closed};
  row.totals.opened = opened;
  row.totals.closed = closed;
  row.totals.failed.refused = refused;
  return row;
}

LocalityLoad load(std::string zone, uint64_t active, uint64_t opened, uint64_t closed = 0,
                  uint64_t failed = 0) {
  return {std::move(zone), active, opened, closed, failed};
}

class LoadStatsTest : public testing::Test {
 protected:
  std::vector<ClusterLoad> report(const LoadStats::Rows& rows, Time now) {
    std::vector<ClusterLoad> made = stats_.make(rows, now);
    stats_.sent();
    return made;
  }
  LoadStats stats_;
};

TEST_F(LoadStatsTest, NothingIsDueUntilAServerAsks) {
  EXPECT_EQ(stats_.due(), std::nullopt);
  stats_.on_asked({.all = true, .interval = 10s}, {}, kStart);

  EXPECT_EQ(stats_.due(), kStart + 10s);
  stats_.on_stream_ended();
  EXPECT_EQ(stats_.due(), std::nullopt);
}

TEST_F(LoadStatsTest, IntervalsAreKeptWithinReason) {
  stats_.on_asked({.all = true, .interval = 1ms}, {}, kStart);
  EXPECT_EQ(stats_.due(), kStart + 1s);
  stats_.on_asked({.all = true, .interval = 1000h}, {}, kStart);
  EXPECT_EQ(stats_.due(), kStart + 1h);
}

TEST_F(LoadStatsTest, CountsAreThoseSinceTheReportBefore) {
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 100, 90, 5)}, kStart);

  EXPECT_THAT(report({row("web", "a", 130, 110, 6)}, kStart + 11s),
              ElementsAre(ClusterLoad{"web", 11s, {load("a", 20, 30, 20, 1)}}));
  EXPECT_EQ(stats_.due(), kStart + 21s);
  EXPECT_THAT(report({row("web", "a", 130, 130, 6)}, kStart + 21s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 0, 0, 20)}}));
}

TEST_F(LoadStatsTest, WhatCouldNotBeSentIsToldWithTheNext) {
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 100)}, kStart);
  stats_.make({row("web", "a", 110)}, kStart + 10s);
  stats_.on_stream_ended();
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 115)}, kStart + 15s);

  EXPECT_THAT(report({row("web", "a", 120)}, kStart + 25s),
              ElementsAre(ClusterLoad{"web", 25s, {load("a", 120, 20)}}));
}

TEST_F(LoadStatsTest, OnlyNamedServicesAreTold) {
  stats_.on_asked({.services = {"db", "none"}, .interval = 10s},
                  {row("db", "a", 1), row("web", "a", 5)}, kStart);

  EXPECT_THAT(report({row("db", "a", 3), row("db", "b", 4), row("web", "a", 9)}, kStart + 10s),
              ElementsAre(ClusterLoad{"db", 10s, {load("a", 3, 2), load("b", 4, 4)}}));
}

TEST_F(LoadStatsTest, AServiceThatIsNamedLaterIsToldFromThenOn) {
  stats_.on_asked({.services = {"db"}, .interval = 10s}, {row("web", "a", 5)}, kStart);
  stats_.on_asked({.services = {"db", "web"}, .interval = 10s}, {row("web", "a", 7)}, kStart + 5s);

  EXPECT_THAT(report({row("web", "a", 9)}, kStart + 15s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 9, 2)}}));
  stats_.on_asked({.services = {"db"}, .interval = 10s}, {}, kStart + 16s);
  EXPECT_THAT(report({row("web", "a", 9)}, kStart + 30s), IsEmpty());
}

TEST_F(LoadStatsTest, WhatIsAskedWhileAReportIsUnderWayIsKept) {
  stats_.on_asked({.services = {"db"}, .interval = 10s}, {row("db", "a", 5)}, kStart);
  stats_.make({row("db", "a", 6), row("web", "a", 50)}, kStart + 10s);
  stats_.on_asked({.services = {"web"}, .interval = 10s}, {row("web", "a", 50)}, kStart + 10s);
  stats_.sent();

  EXPECT_THAT(report({row("db", "a", 9), row("web", "a", 52)}, kStart + 20s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 52, 2)}}));
}

TEST_F(LoadStatsTest, AServiceThatAppearsIsToldWhole) {
  stats_.on_asked({.all = true, .interval = 10s}, {}, kStart);
  stats_.make({}, kStart + 10s);
  stats_.sent();

  EXPECT_EQ(report({row("web", "a", 3)}, kStart + 20s).front().localities,
            std::vector{load("a", 3, 3)});
}

TEST_F(LoadStatsTest, CountsThatBeganAnewAreToldFromZero) {
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 100)}, kStart);

  EXPECT_EQ(report({row("web", "a", 4)}, kStart + 10s).front().localities,
            std::vector{load("a", 4, 4)});
}

TEST_F(LoadStatsTest, AnotherDealerHasCountedSinceItBegan) {
  stats_.on_dealer(kStart - 1h);
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 100)}, kStart);
  stats_.make({row("web", "a", 110)}, kStart + 10s);
  stats_.on_dealer(kStart + 12s);
  stats_.sent();

  EXPECT_THAT(report({row("web", "a", 150)}, kStart + 20s),
              ElementsAre(ClusterLoad{"web", 8s, {load("a", 150, 150)}}));
  stats_.on_dealer(kStart + 12s);
  EXPECT_THAT(report({row("web", "a", 151)}, kStart + 30s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 151, 1)}}));
}

TEST_F(LoadStatsTest, WhatAppearsBeforeAServerAsksAgainIsTold) {
  stats_.on_asked({.all = true, .interval = 10s}, {}, kStart);
  stats_.on_stream_ended();
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 7)}, kStart + 5s);

  EXPECT_THAT(report({row("web", "a", 9)}, kStart + 15s),
              ElementsAre(ClusterLoad{"web", 15s, {load("a", 9, 9)}}));
}

TEST_F(LoadStatsTest, WhoAsksAgainAndAgainIsAnsweredAsOftenAsItAsksFor) {
  for (Time now = kStart; now < kStart + 10s; now += 1s) {
    stats_.on_asked({.all = true, .interval = 10s}, {}, now);
    EXPECT_EQ(stats_.due(), kStart + 10s);
  }
  report({}, kStart + 10s);
  stats_.on_asked({.all = true, .interval = 2s}, {}, kStart + 15s);
  EXPECT_EQ(stats_.due(), kStart + 12s);
}

TEST_F(LoadStatsTest, WhatDoesNotFitIntoOneReportFollowsSoonAfter) {
  LoadStats::Rows rows;
  const size_t count = LoadStats::kMaxLocalities * 2 + 10;
  for (size_t i = 0; i < count; ++i) rows.push_back(row(fmt::format("s{:06}", i / 3), "a", 0));
  for (size_t i = 0; i < count; ++i) rows[i].pool.zone = fmt::format("z{}", i % 3);
  stats_.on_asked({.all = true, .interval = 10s}, rows, kStart);
  for (Dealer::PoolRow& one : rows) one.totals.opened = 5;

  size_t told = 0;
  uint64_t opened = 0;
  const auto add = [&](Time now) {
    const std::vector<ClusterLoad> made = report(rows, now);
    size_t here = 0;
    for (const ClusterLoad& cluster : made) {
      here += cluster.localities.size();
      for (const LocalityLoad& one : cluster.localities) opened += one.opened;
    }
    EXPECT_LE(here, LoadStats::kMaxLocalities);
    told += here;
  };
  add(kStart + 10s);
  EXPECT_EQ(stats_.due(), kStart + 11s);
  // One that could not be sent is made again.
  stats_.make(rows, kStart + 11s);
  add(kStart + 12s);
  add(kStart + 13s);

  EXPECT_EQ(told, count);
  EXPECT_EQ(opened, 5 * count);
  EXPECT_EQ(stats_.due(), kStart + 23s);
  add(kStart + 23s);
  EXPECT_EQ(opened, 5 * count) << "and once";
}

TEST_F(LoadStatsTest, APoolThatIsGoneForAWhileIsNotToldAgain) {
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 0)}, kStart);
  report({row("web", "a", 45, 45)}, kStart + 10s);
  report({}, kStart + 20s);
  report({}, kStart + 1h);

  EXPECT_THAT(report({row("web", "a", 47, 45)}, kStart + 1h + 10s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 2, 2)}}));
  EXPECT_THAT(report({row("web", "a", 3, 3)}, kStart + 1h + 20s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 0, 3, 3)}}))
      << "from nothing, if its counts were forgotten";
}

TEST_F(LoadStatsTest, TooManyThatAreGoneAreForgotten) {
  LoadStats::Rows rows;
  for (size_t i = 0; i <= LoadStats::kMaxGone; ++i) {
    rows.push_back(row(fmt::format("s{:06}", i), "a", 5));
  }
  const auto told_of_first = [&](const LoadStats::Rows& known) {
    stats_ = {};
    stats_.on_asked({.all = true}, known, kStart);
    report({}, kStart + 1s);
    return report({row("s000000", "a", 7)}, kStart + 2s).front().localities.front().opened;
  };

  EXPECT_EQ(told_of_first(rows), 7u);
  rows.pop_back();
  EXPECT_EQ(told_of_first(rows), 2u);
}

}  // namespace
}  // namespace holdfast::route
