#include "track/lease_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::track {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::SizeIs;

constexpr Time kStart{std::chrono::hours(1)};
constexpr uint64_t kFree = route::kNoLimit;

Vip vip(uint16_t port) {
  return make_vip({.address = *parse_address("10.96.0.1"), .port = port}, Protocol::Tcp);
}

PlannedPort port(uint16_t number, std::map<uint8_t, std::string> zones = {{1, "a"}}) {
  return {.service = "web", .spec = {.vip = vip(number)}, .zones = std::move(zones)};
}

Plan plan_of(std::vector<PlannedPort> ports, const std::map<std::string, uint64_t>& capacity) {
  Plan plan{.ports = std::move(ports)};
  plan.capacities["web"].zones.insert(capacity.begin(), capacity.end());
  return plan;
}

route::LoadGrant lease_grant(uint64_t number, std::vector<route::PoolGrant> pools) {
  return {.number = number, .ttl = 5s, .report_every = 1s, .pools = std::move(pools)};
}

route::PoolGrant pool(const char* zone, uint64_t limit, uint64_t fixed) {
  return {.pool = {.service = "web", .zone = zone}, .limit = limit, .fixed = fixed};
}

Limit limit_of(const Plan& plan, size_t port = 0, uint8_t zone = 1) {
  return plan.ports.at(port).spec.limits.at(zone);
}

uint64_t nanos(Time time) {
  return static_cast<uint64_t>(time.time_since_epoch().count());
}

TEST(Leases, AZoneWithoutCapacityIsNotLimited) {
  Leases leases;
  Plan plan = plan_of({port(80)}, {});

  leases.limit(plan, {}, kStart);

  EXPECT_EQ(limit_of(plan), Limit{});
  EXPECT_EQ(plan.ports[0].spec.lease_end_ns, 0u);
}

TEST(Leases, WithoutAGrantTheCapacityIsSharedEvenly) {
  Leases leases;
  leases.set_holders(4);
  Plan plan = plan_of({port(80, {{1, "a"}, {2, "b"}})}, {{"a", 10}, {"b", 3}});

  EXPECT_TRUE(leases.limit(plan, {}, kStart));

  EXPECT_EQ(limit_of(plan), (Limit{.leased = 2, .fixed = 2}));
  EXPECT_EQ(limit_of(plan, 0, 2), (Limit{.leased = 1, .fixed = 1})) << "never none";
  EXPECT_EQ(plan.ports[0].spec.lease_end_ns, 0u) << "nothing runs out";
  EXPECT_FALSE(leases.limit(plan, {}, kStart)) << "nothing moved";
}

TEST(Leases, ALeaseHoldsFromWhenItWasAskedFor) {
  Leases leases;
  Plan plan = plan_of({port(80)}, {{"a", 10}});

  leases.on_grant(lease_grant(1, {pool("a", 8, 2)}), kStart);
  leases.limit(plan, {}, kStart + 1s);

  EXPECT_EQ(limit_of(plan), (Limit{.leased = 8, .fixed = 2}));
  EXPECT_EQ(plan.ports[0].spec.lease_end_ns, nanos(kStart + 5s));
}

// The dealer takes back from others what this one will use; until then it keeps to the less.
TEST(Leases, AShareAboveTheLeaseIsUsedOneTtlLater) {
  Leases leases;
  Plan plan = plan_of({port(80)}, {{"a", 10}});

  leases.on_grant(lease_grant(1, {pool("a", 1, 4)}), kStart);
  leases.limit(plan, {}, kStart);

  EXPECT_EQ(limit_of(plan), (Limit{.leased = 1, .fixed = 4}));
  EXPECT_EQ(plan.ports[0].spec.lease_end_ns, nanos(kStart + 10s));
}

// The kernel knows one end for both zones: it is told what is safe in both, and told again later.
TEST(Leases, ZonesThatDifferFallBackToTheSmallerOfBoth) {
  Leases leases;
  Plan plan = plan_of({port(80, {{1, "a"}, {2, "b"}})}, {{"a", 10}, {"b", 10}});
  leases.on_grant(lease_grant(1, {pool("a", 8, 2), pool("b", 0, 3)}), kStart);

  leases.limit(plan, {}, kStart);
  EXPECT_EQ(limit_of(plan, 0, 1), (Limit{.leased = 8, .fixed = 2}));
  EXPECT_EQ(limit_of(plan, 0, 2), (Limit{.leased = 0, .fixed = 1})) << "never none";
  EXPECT_EQ(plan.ports[0].spec.lease_end_ns, nanos(kStart + 5s));

  EXPECT_TRUE(leases.limit(plan, {}, kStart + 5s));
  EXPECT_EQ(limit_of(plan, 0, 1), (Limit{.leased = 2, .fixed = 2}));
  EXPECT_EQ(limit_of(plan, 0, 2), (Limit{.leased = 0, .fixed = 3}));
  EXPECT_EQ(plan.ports[0].spec.lease_end_ns, nanos(kStart + 10s));
}

TEST(Leases, AnOlderGrantAndAnEmptyOneChangeNothing) {
  Leases leases;
  Plan plan = plan_of({port(80)}, {{"a", 10}});
  leases.on_grant(lease_grant(7, {pool("a", 8, 2)}), kStart);

  leases.on_grant(lease_grant(6, {pool("a", 1, 1)}), kStart + 1s);
  leases.on_grant({}, kStart + 1s);
  leases.limit(plan, {}, kStart + 1s);

  EXPECT_EQ(limit_of(plan).leased, 8u);
  EXPECT_EQ(leases.grant_in_force(), 7u);
}

TEST(Leases, AGrantThatKnowsNoShareLeavesTheOneBefore) {
  Leases leases;
  Plan plan = plan_of({port(80)}, {{"a", 10}});
  leases.on_grant(lease_grant(1, {pool("a", 8, 3)}), kStart);

  leases.on_grant(lease_grant(2, {pool("a", 5, 0)}), kStart);
  leases.limit(plan, {}, kStart);

  EXPECT_EQ(limit_of(plan), (Limit{.leased = 5, .fixed = 3}));
}

TEST(Leases, APoolThatIsNotInTheGrantHasItsFixedShare) {
  Leases leases;
  leases.set_holders(5);
  Plan plan = plan_of({port(80)}, {{"a", 10}});

  leases.on_grant(lease_grant(1, {}), kStart);
  leases.limit(plan, {}, kStart);

  EXPECT_EQ(limit_of(plan), (Limit{.leased = 2, .fixed = 2}));
}

TEST(Leases, NobodyIsGivenMoreThanThereIs) {
  Leases leases;
  Plan plan = plan_of({port(80)}, {{"a", 10}});

  leases.on_grant(lease_grant(1, {pool("a", 500, kFree)}), kStart);
  leases.limit(plan, {}, kStart);

  EXPECT_EQ(limit_of(plan), (Limit{.leased = 10, .fixed = 10}));
}

TEST(Leases, WhatIsScarceIsGivenBackButForOnePlace) {
  Leases leases;
  Plan plan = plan_of({port(80, {{1, "a"}, {2, "b"}})}, {{"a", 10}, {"b", 10}});
  route::PoolGrant scarce = pool("a", 8, 2);
  scarce.scarce = true;
  leases.on_grant(lease_grant(1, {scarce, pool("b", 8, 2)}), kStart);
  const Usage usage = {{{vip(80), 1}, {.places = 3}}, {{vip(80), 2}, {.places = 3}}};

  leases.give_back_spare(plan, usage);
  leases.limit(plan, usage, kStart);

  EXPECT_EQ(limit_of(plan, 0, 1).leased, 4u);
  EXPECT_EQ(limit_of(plan, 0, 2).leased, 8u) << "there is enough of it";
  EXPECT_EQ(leases.reports(plan, usage, kStart)[0].limit, 4u) << "and it is said";
}

TEST(Leases, ASmallerLeaseIsToBeToldSoon) {
  Leases leases;

  EXPECT_FALSE(leases.on_grant(lease_grant(1, {pool("a", 8, 2)}), kStart));
  EXPECT_FALSE(leases.on_grant(lease_grant(2, {pool("a", 9, 2)}), kStart));
  EXPECT_TRUE(leases.on_grant(lease_grant(3, {pool("a", 7, 2)}), kStart));
}

TEST(Leases, RunsShortWhenAFifthIsLeftUnlessThereIsNoMore) {
  Leases leases;
  const Plan plan = plan_of({port(80)}, {{"a", 20}});
  const auto with = [&](uint32_t places) {
    return leases.runs_short(plan, {{{vip(80), 1}, {.places = places}}}, kStart);
  };
  EXPECT_FALSE(with(20)) << "nothing is leased";

  leases.on_grant(lease_grant(1, {pool("a", 15, 2)}), kStart);
  EXPECT_FALSE(with(12));
  EXPECT_TRUE(with(13));

  leases.on_grant(lease_grant(2, {pool("a", 20, 2)}), kStart);
  EXPECT_FALSE(with(20)) << "that is all there is";
}

TEST(Leases, TwoPortsOfAServiceShareItsLease) {
  Leases leases;
  Plan plan = plan_of({port(80), port(81)}, {{"a", 100}});
  leases.on_grant(lease_grant(1, {pool("a", 10, 4)}), kStart);

  leases.limit(plan, {{{vip(80), 1}, {.places = 8}}}, kStart);

  EXPECT_EQ(limit_of(plan, 0), (Limit{.leased = 9, .fixed = 4}));
  EXPECT_EQ(limit_of(plan, 1), (Limit{.leased = 1, .fixed = 0}));
}

// What the agent before this one was dealt is not forgotten because it died.
TEST(Leases, ADealtShareOutlivesTheAgent) {
  Snapshot present;
  present.services[vip(80)] = {.service = 3};
  hf_plan kept{.lease_end_ns = 12, .service = 3, .zone_count = 1};
  kept.zones[0] = {.limit = 9, .static_limit = 2, .zone = 1};
  present.plans[3] = kept;
  Plan plan = plan_of({port(80)}, {{"a", 10}});

  Leases leases;
  leases.adopt(present);
  leases.limit(plan, {}, kStart);
  EXPECT_EQ(limit_of(plan), (Limit{.leased = 2, .fixed = 2}));

  // One that was reckoned by the agent itself is reckoned again.
  present.plans[3].lease_end_ns = 0;
  Leases others;
  others.adopt(present);
  others.limit(plan, {}, kStart);
  EXPECT_EQ(limit_of(plan), (Limit{.leased = 10, .fixed = 10}));
}

TEST(Leases, AReportHasTheCountsOfAllPortsOfAPool) {
  Leases leases;
  Plan plan = plan_of({port(80), port(81)}, {{"a", 100}});
  TotalsRow row{.opened = 10, .closed = 7, .active = 3};
  row.failures = {.refused = 1, .cut = 2};
  const Usage usage = {{{vip(80), 1}, {.places = 3, .totals = row}},
                       {{vip(81), 1}, {.places = 1, .totals = {.opened = 1}}}};
  leases.on_grant(lease_grant(1, {pool("a", 10, 4)}), kStart);
  leases.limit(plan, usage, kStart);

  const auto reports = leases.reports(plan, usage, kStart);

  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0], (route::PoolReport{.pool = {.service = "web", .zone = "a"},
                                           .active = 4,
                                           .opened = 11,
                                           .closed = 7,
                                           .failed = {.refused = 1, .cut = 2},
                                           .turned_away = 0,
                                           .limit = 10,
                                           .leased = true}));
  EXPECT_EQ(leases.reports(plan, usage, kStart + 5s)[0].limit, 4u);
  EXPECT_FALSE(leases.reports(plan, usage, kStart + 5s)[0].leased);
}

TEST(Leases, WhatAPortCountedStaysWithItsPool) {
  Leases leases;
  Plan both = plan_of({port(80), port(81)}, {{"a", 100}});
  Plan one = plan_of({port(80)}, {{"a", 100}});
  Usage usage = {{{vip(80), 1}, {.places = 1, .totals = {.opened = 20}}},
                 {{vip(81), 1}, {.places = 2, .totals = {.opened = 25}}}};
  for (Plan* plan : {&both, &one, &both}) {
    leases.limit(*plan, usage, kStart);
    EXPECT_EQ(leases.reports(*plan, usage, kStart)[0].opened, 45u);
  }
  leases.limit(one, usage, kStart);
  EXPECT_EQ(leases.reports(one, usage, kStart)[0].active, 1u) << "of its ports now";

  usage.erase({vip(81), 1});  // the kernel has forgotten it
  leases.limit(one, usage, kStart);
  usage[{vip(81), 1}].totals.opened = 1;
  EXPECT_EQ(leases.reports(one, usage, kStart)[0].opened, 20u);
}

TEST(Leases, APoolWithoutALimitIsReportedToo) {
  Leases leases;
  Plan plan = plan_of({port(80)}, {});
  leases.limit(plan, {}, kStart);

  const auto reports = leases.reports(plan, {}, kStart);

  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].limit, kFree);
}

TEST(Leases, WhoFoundNoPlaceIsCountedAtThePoolsThatAreFull) {
  Leases leases;
  Plan plan = plan_of({port(80, {{1, "a"}, {2, "b"}})}, {{"a", 2}, {"b", 9}});
  const Usage usage = {{{vip(80), 1}, {.places = 2}}, {{vip(80), 2}, {.places = 3}}};
  leases.limit(plan, usage, kStart);
  leases.on_turned_away(plan, usage, 100, kStart);  // of before: whose they were is not known

  leases.on_turned_away(plan, usage, 107, kStart);

  const auto reports = leases.reports(plan, usage, kStart);
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_EQ(reports[0].turned_away, 7u);
  EXPECT_EQ(reports[1].turned_away, 0u);
}

}  // namespace
}  // namespace holdfast::track
