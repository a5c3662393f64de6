#include "node/load_codec.h"

#include <gtest/gtest.h>

namespace holdfast::node {
namespace {

using namespace std::chrono_literals;

TEST(LoadCodec, AReportSaysEverythingButWhoReports) {
  const route::LoadReport report{
      .holder = "proxy/p1",
      .zone = "a",
      .boot = 9,
      .number = 3,
      .grant = 2,
      .answered_in = 30ms,
      .pools = {{.pool = {"web", "a"},
                 .active = 1,
                 .opened = 5,
                 .closed = 4,
                 .failed = {.refused = 1, .timed_out = 2, .reset = 3, .gave_up = 4, .cut = 5},
                 .turned_away = 6,
                 .limit = 7,
                 .leased = true,
                 .waiting = 8},
                {.pool = {"web", "b"}, .limit = route::kNoLimit}}};

  const v1::LoadReport said = to_proto(report);

  EXPECT_EQ(said.holder(), "");
  EXPECT_EQ(said.boot(), 9U);
  EXPECT_EQ(said.number(), 3U);
  EXPECT_EQ(said.grant(), 2U);
  EXPECT_EQ(said.answered_in().nanos(), 30'000'000);
  const v1::PoolReport& pool = said.pools(0);
  EXPECT_EQ(pool.service() + pool.zone(), "weba");
  EXPECT_EQ(pool.active() * 10 + pool.opened() - pool.closed(), 11U);
  EXPECT_EQ(pool.failed().refused(), 1U);
  EXPECT_EQ(pool.failed().timed_out(), 2U);
  EXPECT_EQ(pool.failed().reset(), 3U);
  EXPECT_EQ(pool.failed().gave_up(), 4U);
  EXPECT_EQ(pool.failed().cut(), 5U);
  EXPECT_EQ(pool.turned_away(), 6U);
  EXPECT_EQ(pool.limit(), 7U);
  EXPECT_TRUE(pool.leased());
  EXPECT_EQ(pool.waiting(), 8U);
  EXPECT_FALSE(said.pools(1).has_limit());
}

TEST(LoadCodec, AGrantIsReadWhole) {
  v1::LoadGrant said;
  said.set_number(4);
  said.set_report(3);
  said.mutable_ttl()->set_seconds(5);
  said.mutable_report_every()->set_nanos(250'000'000);
  v1::PoolGrant& pool = *said.add_pools();
  pool.set_service("web");
  pool.set_zone("a");
  pool.set_limit(8);
  pool.set_fixed(2);
  pool.set_scarce(true);
  said.add_pools()->set_service("db");

  const route::LoadGrant grant = from_proto(said);

  EXPECT_EQ(grant.number, 4U);
  EXPECT_EQ(grant.report, 3U);
  EXPECT_EQ(grant.ttl, 5s);
  EXPECT_EQ(grant.report_every, 250ms);
  EXPECT_EQ(grant.pools.at(0), (route::PoolGrant{{"web", "a"}, 8, 2, true}));
  EXPECT_EQ(grant.pools.at(1).limit, route::kNoLimit);
}

}  // namespace
}  // namespace holdfast::node
