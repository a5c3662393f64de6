#include "route/load_stats.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::route {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time kLoadStatsStart{1h};

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
  stats_.on_asked({.all = true, .interval = 10s}, {}, kLoadStatsStart);

  EXPECT_EQ(stats_.due(), kLoadStatsStart + 10s);
  stats_.on_stream_ended();
  EXPECT_EQ(stats_.due(), std::nullopt);
}

TEST_F(LoadStatsTest, IntervalsAreKeptWithinReason) {
  stats_.on_asked({.all = true, .interval = 1ms}, {}, kLoadStatsStart);
  EXPECT_EQ(stats_.due(), kLoadStatsStart + 1s);
  stats_.on_asked({.all = true, .interval = 1000h}, {}, kLoadStatsStart);
  EXPECT_EQ(stats_.due(), kLoadStatsStart + 1h);
}

TEST_F(LoadStatsTest, CountsAreThoseSinceTheReportBefore) {
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 100, 90, 5)}, kLoadStatsStart);

  EXPECT_THAT(report({row("web", "a", 130, 110, 6)}, kLoadStatsStart + 11s),
              ElementsAre(ClusterLoad{"web", 11s, {load("a", 20, 30, 20, 1)}}));
  EXPECT_EQ(stats_.due(), kLoadStatsStart + 21s);
  EXPECT_THAT(report({row("web", "a", 130, 130, 6)}, kLoadStatsStart + 21s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 0, 0, 20)}}));
}

TEST_F(LoadStatsTest, WhatCouldNotBeSentIsToldWithTheNext) {
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 100)}, kLoadStatsStart);
  stats_.make({row("web", "a", 110)}, kLoadStatsStart + 10s);
  stats_.on_stream_ended();
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 115)}, kLoadStatsStart + 15s);

  EXPECT_THAT(report({row("web", "a", 120)}, kLoadStatsStart + 25s),
              ElementsAre(ClusterLoad{"web", 25s, {load("a", 120, 20)}}));
}

TEST_F(LoadStatsTest, OnlyNamedServicesAreTold) {
  stats_.on_asked({.services = {"db", "none"}, .interval = 10s},
                  {row("db", "a", 1), row("web", "a", 5)}, kLoadStatsStart);

  EXPECT_THAT(
      report({row("db", "a", 3), row("db", "b", 4), row("web", "a", 9)}, kLoadStatsStart + 10s),
      ElementsAre(ClusterLoad{"db", 10s, {load("a", 3, 2), load("b", 4, 4)}}));
}

TEST_F(LoadStatsTest, AServiceThatIsNamedLaterIsToldFromThenOn) {
  stats_.on_asked({.services = {"db"}, .interval = 10s}, {row("web", "a", 5)}, kLoadStatsStart);
  stats_.on_asked({.services = {"db", "web"}, .interval = 10s}, {row("web", "a", 7)},
                  kLoadStatsStart + 5s);

  EXPECT_THAT(report({row("web", "a", 9)}, kLoadStatsStart + 15s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 9, 2)}}));
  stats_.on_asked({.services = {"db"}, .interval = 10s}, {}, kLoadStatsStart + 16s);
  EXPECT_THAT(report({row("web", "a", 9)}, kLoadStatsStart + 30s), IsEmpty());
}

TEST_F(LoadStatsTest, WhatIsAskedWhileAReportIsUnderWayIsKept) {
  stats_.on_asked({.services = {"db"}, .interval = 10s}, {row("db", "a", 5)}, kLoadStatsStart);
  stats_.make({row("db", "a", 6), row("web", "a", 50)}, kLoadStatsStart + 10s);
  stats_.on_asked({.services = {"web"}, .interval = 10s}, {row("web", "a", 50)},
                  kLoadStatsStart + 10s);
  stats_.sent();

  EXPECT_THAT(report({row("db", "a", 9), row("web", "a", 52)}, kLoadStatsStart + 20s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 52, 2)}}));
}

TEST_F(LoadStatsTest, AServiceThatAppearsIsToldWhole) {
  stats_.on_asked({.all = true, .interval = 10s}, {}, kLoadStatsStart);
  stats_.make({}, kLoadStatsStart + 10s);
  stats_.sent();

  EXPECT_EQ(report({row("web", "a", 3)}, kLoadStatsStart + 20s).front().localities,
            std::vector{load("a", 3, 3)});
}

TEST_F(LoadStatsTest, CountsThatBeganAnewAreToldFromZero) {
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 100)}, kLoadStatsStart);

  EXPECT_EQ(report({row("web", "a", 4)}, kLoadStatsStart + 10s).front().localities,
            std::vector{load("a", 4, 4)});
}

TEST_F(LoadStatsTest, AnotherDealerHasCountedSinceItBegan) {
  stats_.on_dealer(kLoadStatsStart - 1h);
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 100)}, kLoadStatsStart);
  stats_.make({row("web", "a", 110)}, kLoadStatsStart + 10s);
  stats_.on_dealer(kLoadStatsStart + 12s);
  stats_.sent();

  EXPECT_THAT(report({row("web", "a", 150)}, kLoadStatsStart + 20s),
              ElementsAre(ClusterLoad{"web", 8s, {load("a", 150, 150)}}));
  stats_.on_dealer(kLoadStatsStart + 12s);
  EXPECT_THAT(report({row("web", "a", 151)}, kLoadStatsStart + 30s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 151, 1)}}));
}

TEST_F(LoadStatsTest, WhatAppearsBeforeAServerAsksAgainIsTold) {
  stats_.on_asked({.all = true, .interval = 10s}, {}, kLoadStatsStart);
  stats_.on_stream_ended();
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 7)}, kLoadStatsStart + 5s);

  EXPECT_THAT(report({row("web", "a", 9)}, kLoadStatsStart + 15s),
              ElementsAre(ClusterLoad{"web", 15s, {load("a", 9, 9)}}));
}

TEST_F(LoadStatsTest, WhoAsksAgainAndAgainIsAnsweredAsOftenAsItAsksFor) {
  for (Time now = kLoadStatsStart; now < kLoadStatsStart + 10s; now += 1s) {
    stats_.on_asked({.all = true, .interval = 10s}, {}, now);
    EXPECT_EQ(stats_.due(), kLoadStatsStart + 10s);
  }
  report({}, kLoadStatsStart + 10s);
  stats_.on_asked({.all = true, .interval = 2s}, {}, kLoadStatsStart + 15s);
  EXPECT_EQ(stats_.due(), kLoadStatsStart + 12s);
}

TEST_F(LoadStatsTest, WhatDoesNotFitIntoOneReportFollowsSoonAfter) {
  LoadStats::Rows rows;
  const size_t count = LoadStats::kMaxLocalities * 2 + 10;
  for (size_t i = 0; i < count; ++i) rows.push_back(row(fmt::format("s{:06}", i / 3), "a", 0));
  for (size_t i = 0; i < count; ++i) rows[i].pool.zone = fmt::format("z{}", i % 3);
  stats_.on_asked({.all = true, .interval = 10s}, rows, kLoadStatsStart);
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
  add(kLoadStatsStart + 10s);
  EXPECT_EQ(stats_.due(), kLoadStatsStart + 11s);
  // One that could not be sent is made again.
  stats_.make(rows, kLoadStatsStart + 11s);
  add(kLoadStatsStart + 12s);
  add(kLoadStatsStart + 13s);

  EXPECT_EQ(told, count);
  EXPECT_EQ(opened, 5 * count);
  EXPECT_EQ(stats_.due(), kLoadStatsStart + 23s);
  add(kLoadStatsStart + 23s);
  EXPECT_EQ(opened, 5 * count) << "and once";
}

TEST_F(LoadStatsTest, APoolThatIsGoneForAWhileIsNotToldAgain) {
  stats_.on_asked({.all = true, .interval = 10s}, {row("web", "a", 0)}, kLoadStatsStart);
  report({row("web", "a", 45, 45)}, kLoadStatsStart + 10s);
  report({}, kLoadStatsStart + 20s);
  report({}, kLoadStatsStart + 1h);

  EXPECT_THAT(report({row("web", "a", 47, 45)}, kLoadStatsStart + 1h + 10s),
              ElementsAre(ClusterLoad{"web", 10s, {load("a", 2, 2)}}));
  EXPECT_THAT(report({row("web", "a", 3, 3)}, kLoadStatsStart + 1h + 20s),
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
    stats_.on_asked({.all = true}, known, kLoadStatsStart);
    report({}, kLoadStatsStart + 1s);
    return report({row("s000000", "a", 7)}, kLoadStatsStart + 2s).front().localities.front().opened;
  };

  EXPECT_EQ(told_of_first(rows), 7u);
  rows.pop_back();
  EXPECT_EQ(told_of_first(rows), 2u);
}

}  // namespace
}  // namespace holdfast::route
