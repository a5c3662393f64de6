#include "cli/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/document.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using resource::Kind;
using testing::HasSubstr;
using testing::Not;

v1::PoolStatus pool(const std::string& zone, uint64_t capacity, uint64_t active) {
  v1::PoolStatus made;
  made.set_service("web");
  made.set_zone(zone);
  if (capacity > 0) made.set_capacity(capacity);
  made.set_active(active);
  made.set_leased(active + 1);
  made.set_charged(active + 1);
  made.set_opened(100);
  made.set_failed(2);
  made.set_turned_away(7);
  made.mutable_oldest()->set_seconds(1);
  return made;
}

void hold(v1::PoolStatus& pool, const std::string& holder, uint64_t active, uint64_t limit) {
  v1::HolderStatus& made = *pool.add_holders();
  made.set_holder("proxy/" + holder);
  made.set_zone(holder.substr(0, 1));
  made.mutable_report()->set_active(active);
  made.mutable_report()->set_limit(limit);
  made.mutable_report()->set_leased(true);
}

v1::Resource loaded_agent(const std::string& name, const std::string& zone) {
  v1::Resource made = resource::make_resource(Kind::Agent, name);
  made.mutable_agent()->set_zone(zone);
  made.mutable_agent()->add_tunnels()->set_proxy("a1");
  v1::ExposedService& exposed = *made.mutable_agent()->add_services();
  exposed.set_service("web");
  exposed.set_healthy(true);
  return made;
}

v1::Resource loaded_proxy(const std::string& name, const std::string& zone) {
  v1::Resource made = resource::make_resource(Kind::Proxy, name);
  made.mutable_proxy()->set_zone(zone);
  return made;
}

RouteFacts facts() {
  RouteFacts made{.service = resource::make_resource(Kind::Service, "web"), .from = "b"};
  for (const char* zone : {"a", "b", "c"}) {
    (*made.service.mutable_service()->mutable_zone_capacity())[zone] = 10;
    v1::Zone& listed = *made.known.map.add_zones();
    listed.set_name(zone);
    listed.set_id(static_cast<uint32_t>(made.known.map.zones_size()));
    made.known.agents.push_back(loaded_agent(std::string("edge-") + zone, zone));
    *made.known.load.add_pools() = pool(zone, 10, 4);
  }
  made.known.load.set_controller("c1");
  return made;
}

v1::PoolStatus& pool_in(RouteFacts& facts, int place) {
  return *facts.known.load.mutable_pools(place);
}

TEST(Load, ATableHasARowForEachServiceAndZone) {
  v1::GetLoadResponse load;
  *load.add_pools() = pool("a", 10, 4);
  *load.add_pools() = pool("b", 0, 3);
  hold(*load.mutable_pools(0), "a1", 4, 5);

  EXPECT_EQ(render_load(load, {}),
            "SERVICE   ZONE   CAPACITY   ACTIVE   LEASED   FREE   OPENED   FAILED   AS OF\n"
            "web       a      10         4        5        5      100      2        1s\n"
            "web       b      -          3        -        -      100      2        1s\n");
  EXPECT_THAT(render_load(load, {.wide = true}), HasSubstr("proxy/a1 4/5"));
  load.mutable_pools(0)->mutable_holders(0)->mutable_report()->set_leased(false);
  EXPECT_THAT(render_load(load, {.wide = true}), HasSubstr("proxy/a1 4/(5)"));
  load.set_left_out(3);
  EXPECT_THAT(render_load(load, {}), HasSubstr("and 3 more"));
}

TEST(Load, WordsAreFoundInAnySpelling) {
  EXPECT_TRUE(is_load("load"));
  EXPECT_TRUE(is_load("Load/web"));
  EXPECT_FALSE(is_load("service"));
  EXPECT_TRUE(is_zones("zones"));
  EXPECT_TRUE(is_zones("ZONE"));
  EXPECT_FALSE(is_zones("zone_map"));
}

TEST(Zones, EveryZoneIsListedOnceWithWhatIsInIt) {
  RouteFacts all = facts();
  all.known.proxies = {loaded_proxy("a1", "a"), loaded_proxy("a2", "a"), loaded_proxy("d1", "d")};
  all.known.proxies[1].mutable_proxy()->mutable_announcement()->mutable_offline_since();
  *all.known.load.add_pools() = pool("a", 0, 6);

  EXPECT_EQ(render_zones(zones_of(all.known), LastColumn::Cut),
            "ZONE   ID           PROXIES   AGENTS   OFFLINE   ACTIVE   CAPACITY USED\n"
            "a      1            1         1        1         10       4 of 10\n"
            "b      2            0         1        0         4        4 of 10\n"
            "c      3            0         1        0         4        4 of 10\n"
            "d      not listed   1         0        0         0        -\n");
}

std::string text_of(const RouteFacts& facts) {
  return render_route(explain(facts));
}

TEST(RouteExplain, TheOwnZoneIsFirstAndTheNextFollowsInTheOrderOfTheMap) {
  const std::string text = text_of(facts());

  EXPECT_THAT(text, HasSubstr("1       b"));
  EXPECT_THAT(text, HasSubstr("2       c"));
  EXPECT_THAT(text, HasSubstr("3       a"));
  EXPECT_THAT(text, HasSubstr("next:      b: it is first and has a place\n"));
  EXPECT_THAT(text, HasSubstr("reports at most 1s old, dealt by c1\n"));
}

TEST(RouteExplain, WhatProxiesOfTheZoneMayHaveDecides) {
  RouteFacts full = facts();
  hold(pool_in(full, 1), "b1", 4, 4);
  hold(pool_in(full, 1), "a1", 0, 4);
  hold(pool_in(full, 2), "b1", 1, 2);

  const std::string text = text_of(full);

  EXPECT_THAT(text, HasSubstr("4 of 10 places taken; of holders in b: proxy/b1 4 of 4"));
  EXPECT_THAT(text, HasSubstr("next:      c: it has a place, and b is full\n"));
  EXPECT_THAT(text, HasSubstr("overflow: the connection goes to b, beyond its limit"));
}

TEST(RouteExplain, WhenAllAreFullThePolicySaysWhatHappens) {
  RouteFacts full = facts();
  for (int i = 0; i < 3; ++i) hold(pool_in(full, i), "b1", 4, 4);
  full.service.mutable_service()->set_when_full(v1::WHEN_FULL_REJECT);

  EXPECT_THAT(text_of(full), HasSubstr("next:      every zone is full"));
  EXPECT_THAT(text_of(full), HasSubstr("reject: the connection is refused (HF2206)"));
  full.service.mutable_service()->set_when_full(v1::WHEN_FULL_QUEUE);
  EXPECT_THAT(text_of(full), HasSubstr("queue: the connection waits"));
}

TEST(RouteExplain, ZonesWhereNobodyCarriesItAreNotInTheOrder) {
  RouteFacts some = facts();
  some.known.agents.erase(some.known.agents.begin() + 1);
  some.known.agents[0].mutable_agent()->mutable_services(0)->set_healthy(false);

  const std::string text = text_of(some);

  EXPECT_THAT(text, HasSubstr("1       c"));
  EXPECT_THAT(text, Not(HasSubstr("2       ")));
  some.known.agents.clear();
  EXPECT_THAT(text_of(some), HasSubstr("nowhere: no agent that can be reached carries it"));
}

void add_endpoint(RouteFacts& facts, const std::string& zone) {
  v1::ServiceEndpoint& made = *facts.service.mutable_service()->add_endpoints();
  made.set_address("10.1.0.7:8080");
  made.set_zone(zone);
}

TEST(RouteExplain, AServiceForKernelsGoesWhereItsEndpointsAre) {
  RouteFacts kernels = facts();
  kernels.known.agents.clear();
  for (const char* zone : {"a", "b", ""}) add_endpoint(kernels, zone);
  hold(pool_in(kernels, 1), "b1", 4, 4);
  kernels.known.load.mutable_pools(1)->mutable_holders(0)->set_holder("agent/b1");
  kernels.service.mutable_service()->set_when_full(v1::WHEN_FULL_QUEUE);

  const std::string text = text_of(kernels);

  EXPECT_THAT(text, HasSubstr("1       b         full   4 of 10 places taken; of holders in b: "
                              "agent/b1 4 of 4"));
  EXPECT_THAT(text, HasSubstr("2       a         yes"));
  EXPECT_THAT(text, HasSubstr("3       no zone   yes    no limit"));
  EXPECT_THAT(text, HasSubstr("next:      a: it has a place, and b is full\n"));
  EXPECT_THAT(text, HasSubstr("queue: the connection is refused (ECONNREFUSED)"));
}

TEST(RouteExplain, OfAServiceForBothItIsSaidWhoCannotGoThere) {
  RouteFacts both = facts();
  for (const char* zone : {"a", "b"}) add_endpoint(both, zone);
  EXPECT_THAT(text_of(both), HasSubstr("next:      b: it is first and has a place\n"));

  both.known.agents.erase(both.known.agents.begin() + 1);
  EXPECT_THAT(text_of(both),
              HasSubstr("next:      b: it is first and has a place; only endpoints"));
  both.from = "c";
  EXPECT_THAT(text_of(both), HasSubstr("next:      c: it is first and has a place; no endpoint"));
  for (v1::Resource& agent : both.known.agents) agent.mutable_agent()->clear_tunnels();
  EXPECT_THAT(text_of(both),
              HasSubstr("next:      a: it is first and has a place; only endpoints"));
}

TEST(RouteExplain, WithoutALimitThereIsAlwaysRoom) {
  RouteFacts free = facts();
  free.service.mutable_service()->clear_zone_capacity();

  EXPECT_THAT(text_of(free), HasSubstr("no limit; 4 connections"));
}

TEST(RouteExplain, ProgramsReadTheSame) {
  RouteFacts full = facts();
  hold(pool_in(full, 1), "b1", 4, 4);
  hold(pool_in(full, 2), "b1", 1, 2);

  const v1::RouteExplanation route = explain(full);

  ASSERT_EQ(route.steps_size(), 3);
  EXPECT_TRUE(route.steps(0).full());
  EXPECT_EQ(route.steps(0).holders(0).holder(), "proxy/b1");
  EXPECT_EQ(route.steps(1).taken(), 1U);
  EXPECT_EQ(route.steps(1).limit(), 2U);
  EXPECT_FALSE(route.steps(2).has_limit()) << "no proxy of b has said anything of a";
  EXPECT_EQ(route.next(), "c");
  EXPECT_EQ(route.why(), "it has a place, and b is full");
  EXPECT_EQ(route.when_full(), v1::WHEN_FULL_OVERFLOW) << "what holds if nothing is said";
  EXPECT_EQ(route.oldest().seconds(), 1);
  const std::string json = Document("route", route).json();
  EXPECT_THAT(json, HasSubstr("\"kind\": \"route\""));
  EXPECT_THAT(json, HasSubstr("\"full\": false"));
}

}  // namespace
}  // namespace holdfast::cli
