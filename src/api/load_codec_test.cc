#include "api/load_codec.h"

#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::api {
namespace {

v1::LoadReport one(const std::string& service, const std::string& zone) {
  v1::LoadReport report;
  report.set_boot(7);
  report.set_number(1);
  v1::PoolReport& pool = *report.add_pools();
  pool.set_service(service);
  pool.set_zone(zone);
  return report;
}

std::string refusal_code(const v1::LoadReport& report) {
  return std::string(split_reason(read_report(report).status()).code);
}

TEST(LoadCodec, AReportIsReadWithWhatIsAbsentAsNoLimit) {
  v1::LoadReport said = one("web", "a");
  v1::PoolReport& pool = *said.mutable_pools(0);
  pool.set_active(3);
  pool.set_opened(10);
  pool.set_closed(8);
  pool.mutable_failed()->set_cut(1);
  pool.set_turned_away(4);
  pool.set_waiting(6);
  said.mutable_answered_in()->set_seconds(1'000'000);
  *said.add_pools() = pool;
  said.mutable_pools(1)->set_zone("b");
  said.mutable_pools(1)->set_limit(5);
  said.mutable_pools(1)->set_leased(true);

  const Result<route::LoadReport> read = read_report(said);

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->boot, 7U);
  EXPECT_EQ(read->answered_in, std::chrono::minutes(1)) << "no longer than makes a difference";
  const route::PoolReport first{.pool = {"web", "a"},
                                .active = 3,
                                .opened = 10,
                                .closed = 8,
                                .failed = {.cut = 1},
                                .turned_away = 4,
                                .limit = route::kNoLimit,
                                .waiting = 6};
  EXPECT_EQ(read->pools.at(0), first);
  EXPECT_EQ(read->pools.at(1).limit, 5U);
  EXPECT_TRUE(read->pools.at(1).leased);
}

TEST(LoadCodec, WhoReportsIsNotReadFromTheReport) {
  v1::LoadReport said = one("web", "a");
  said.set_holder("proxy/another");
  said.set_zone("b");

  EXPECT_EQ(read_report(said)->holder, "");
  EXPECT_EQ(read_report(said)->zone, "");
}

TEST(LoadCodec, WhatCannotBeIsRefused) {
  EXPECT_EQ(refusal_code(one("web", "a")), "");
  EXPECT_EQ(refusal_code(one("web", "")), "");
  EXPECT_EQ(refusal_code(one("", "a")), "HF2401");
  EXPECT_EQ(refusal_code(one("we b", "a")), "HF2401");
  EXPECT_EQ(refusal_code(one("web", "a/b")), "HF2401");
  EXPECT_EQ(refusal_code(one(std::string(300, 'x'), "a")), "HF2401");

  v1::LoadReport twice = one("web", "a");
  *twice.add_pools() = twice.pools(0);
  EXPECT_EQ(refusal_code(twice), "HF2401");
  v1::LoadReport huge = one("web", "a");
  huge.mutable_pools(0)->set_active(uint64_t{1} << 60);
  EXPECT_EQ(refusal_code(huge), "HF2401");
  v1::LoadReport limit = one("web", "a");
  limit.mutable_pools(0)->set_limit(UINT64_MAX - 1);
  EXPECT_EQ(refusal_code(limit), "HF2401");
  v1::LoadReport unnumbered = one("web", "a");
  unnumbered.set_number(0);
  EXPECT_EQ(refusal_code(unnumbered), "HF2401");
}

TEST(LoadCodec, TooManyPoolsAreRefusedBeforeTheyAreRead) {
  v1::LoadReport many = one("web", "z");
  for (size_t i = 0; i < kMostPoolsOfAReport; ++i) {
    many.add_pools()->set_service("s" + std::to_string(i));
  }
  EXPECT_EQ(refusal_code(many), "HF2402");
}

TEST(LoadCodec, OnlyProxiesAndAgentsHold) {
  EXPECT_TRUE(check_holder("proxy/edge-1", "a").ok());
  EXPECT_TRUE(check_holder("agent/edge-1", "").ok());
  EXPECT_FALSE(check_holder("edge-1", "a").ok());
  EXPECT_FALSE(check_holder("user/alice", "a").ok());
  EXPECT_FALSE(check_holder("proxy/", "a").ok());
  EXPECT_FALSE(check_holder("proxy/a/b", "a").ok());
  EXPECT_FALSE(check_holder("proxy/edge-1", "a b").ok());
}

TEST(LoadCodec, ARowIsToldWithItsTotalsAndIfAskedForItsHolders) {
  route::Dealer::PoolRow row{.pool = {"web", "a"}, .capacity = 10, .active = 3, .leased = 6};
  row.totals = {.opened = 20, .failed = {.refused = 1, .cut = 2}, .turned_away = 5};
  row.holders.push_back({.holder = "proxy/p1", .zone = "a", .heard_ago = std::chrono::seconds(2)});

  const v1::PoolStatus told = to_proto(row, true);

  EXPECT_EQ(told.capacity(), 10U);
  EXPECT_EQ(told.failed(), 3U);
  EXPECT_EQ(told.opened(), 20U);
  EXPECT_EQ(told.oldest().seconds(), 2);
  EXPECT_EQ(told.holders(0).holder(), "proxy/p1");
  EXPECT_EQ(to_proto(row, false).holders_size(), 0);
  EXPECT_EQ(to_proto(row, false).holder_count(), 1U);
  row.capacity = route::kNoLimit;
  EXPECT_FALSE(to_proto(row, false).has_capacity());
}

}  // namespace
}  // namespace holdfast::api
