// Places through a proxy with real tunnels: the own zone first, then others; every path gives its
// place back; who finds all full goes beyond, waits or is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "route/capacity.h"
#include "tunnel/placed_end_service.h"
#include "tunnel_fleet.h"

namespace holdfast::tunnel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Member = TunnelFleet::Member;
using Dialled = TunnelFleet::Dialled;

// A dial in the background.
struct Pending {
  std::optional<Result<Reached>> reached{};
  Client client = std::make_shared<ClientSide>();
};

class TunnelPlaces : public testing::Test {
 protected:
  Member& add_proxy(const std::string& name, const std::string& zone) {
    Member& proxy = fleet_.add_proxy(name, zone, [](ProxyOptions& options) {
      options.open_timeout = seconds(2);
      options.place_patience = seconds(3);
      options.grant_patience = seconds(2);
      options.place_line = {.most_per_service = 2, .most = 3};
    });
    return proxy;
  }
  RawAgent& add_agent(const Member& proxy, const std::string& name, const std::string& zone) {
    RawAgent& agent = fleet_.dial(proxy, name, zone, {"web"});
    EXPECT_TRUE(fleet_.until([&] { return agent.welcome.has_value(); })) << agent.why;
    return agent;
  }
  void limit(Member& proxy, const std::map<std::string, uint64_t>& zones,
             v1::WhenFull when_full = v1::WHEN_FULL_REJECT) {
    v1::Service& service = fleet_.service("web");
    for (const auto& [zone, places] : zones) (*service.mutable_zone_capacity())[zone] = places;
    service.set_when_full(when_full);
    proxy.service->set_load(
        {.services = {{"web", route::capacity_of(service)}}, .zones = {"a", "b", "c"}});
  }
  // The zone it went to, or the code of why not.
  std::string went_to(const Dialled& dialled) {
    return dialled.reached.ok() ? dialled.reached->zone : code_of(dialled.reached.status());
  }
  std::string connect(Member& proxy) {
    clients_.push_back(fleet_.connect(proxy, "web"));
    return went_to(clients_.back());
  }
  static std::string code_of(const Status& status) {
    return std::string(split_reason(status).code);
  }
  void end(const Dialled& dialled) {
    dialled.client->finish();
    EXPECT_TRUE(fleet_.until([&] { return dialled.client->over; }));
  }
  ConnectionRow row(Member& proxy, const std::string& zone) {
    const auto& rows = proxy.service->places().connections().rows();
    const auto found = rows.find(ConnectionKey::View("web", 0, zone));
    return found == rows.end() ? ConnectionRow() : found->second;
  }
  uint64_t taken(Member& proxy, const std::string& zone) {
    for (const route::PoolReport& pool : proxy.service->places().pools()) {
      if (pool.pool.zone == zone) return pool.active;
    }
    return 0;
  }
  Pending& begin(Member& proxy) {
    Pending& pending = *pending_.emplace_back(std::make_unique<Pending>());
    fleet_.spawn(dial(proxy, pending));
    return pending;
  }
  bool waits(Member& proxy, size_t count) {
    return fleet_.until([&] { return proxy.service->places().waiting() == count; });
  }

  std::vector<std::unique_ptr<Pending>> pending_;  // a dial that still waits writes there
  TunnelFleet fleet_;
  std::vector<Dialled> clients_;

 private:
  static asio::awaitable<void> dial(Member& proxy, Pending& pending) {
    std::unique_ptr<StreamEnd> end = make_client_end(pending.client);
    const Wanted wanted{.service = "web"};
    pending.reached = co_await proxy.service->dial(wanted, end);
  }
};

TEST_F(TunnelPlaces, TheOwnZoneFillsThenTheNextAndThenNobodyIsLetIn) {
  Member& proxy = add_proxy("p1", "b");
  for (const char* zone : {"a", "b", "c"}) add_agent(proxy, std::string("edge-") + zone, zone);
  limit(proxy, {{"a", 1}, {"b", 2}, {"c", 1}});

  std::vector<std::string> zones;
  for (int i = 0; i < 5; ++i) zones.push_back(connect(proxy));

  EXPECT_THAT(zones, testing::ElementsAre("b", "b", "c", "a", "HF2206"));
  EXPECT_TRUE(absl::IsResourceExhausted(clients_.back().reached.status()));
  EXPECT_EQ(proxy.service->places().stats().rejected, 1U);
  end(clients_[0]);
  EXPECT_EQ(connect(proxy), "b");
  EXPECT_EQ(row(proxy, "b").opened, 3U);
  EXPECT_EQ(row(proxy, "b").closed, 1U);
  EXPECT_EQ(row(proxy, "b").failed, route::FailedCounts());
  EXPECT_EQ(row(proxy, "c").opened + row(proxy, "a").opened, 2U) << "who is refused is not opened";
}

TEST_F(TunnelPlaces, WithoutLimitsConnectionsAreCountedByZone) {
  fleet_.add_service("web");
  Member& proxy = add_proxy("p1", "a");
  add_agent(proxy, "edge-b", "b");
  EXPECT_EQ(connect(proxy), "b");
  add_agent(proxy, "edge-a", "a");
  EXPECT_EQ(connect(proxy), "a");
  EXPECT_EQ(connect(proxy), "a");
  end(clients_[1]);

  EXPECT_EQ(row(proxy, "b").active(), 1U);
  EXPECT_EQ(row(proxy, "a").opened, 2U);
  EXPECT_EQ(row(proxy, "a").active(), 1U);
  EXPECT_EQ(taken(proxy, "a"), 1U);
  EXPECT_EQ(row(proxy, "a").address, "web");
}

TEST_F(TunnelPlaces, OverflowGoesBeyondTheLimitOfTheOwnZoneAndIsCounted) {
  Member& proxy = add_proxy("p1", "a");
  add_agent(proxy, "edge-a", "a");
  limit(proxy, {{"a", 1}}, v1::WHEN_FULL_UNSPECIFIED);

  EXPECT_EQ(connect(proxy), "a");
  EXPECT_EQ(connect(proxy), "a");

  EXPECT_EQ(proxy.service->places().stats().beyond, 1U);
}

TEST_F(TunnelPlaces, EveryWayToFailGivesThePlaceBackWithItsCause) {
  Member& proxy = add_proxy("p1", "a");
  RawAgent& agent = add_agent(proxy, "edge-a", "a");
  limit(proxy, {{"a", 1}});

  agent.set_answer(RawAgent::Answer::Refuse);
  EXPECT_EQ(connect(proxy), "HF2203");
  EXPECT_EQ(taken(proxy, "a"), 0U);
  EXPECT_EQ(row(proxy, "a").failed.refused, 1U);

  agent.set_answer(RawAgent::Answer::Silence);
  EXPECT_EQ(connect(proxy), "HF2203");
  EXPECT_EQ(taken(proxy, "a"), 0U);
  EXPECT_EQ(row(proxy, "a").failed.timed_out, 1U);

  Pending& lost = begin(proxy);
  ASSERT_TRUE(fleet_.until([&] { return taken(proxy, "a") == 1; }));
  agent.close();
  ASSERT_TRUE(fleet_.until([&] { return lost.reached.has_value(); }));
  EXPECT_FALSE(lost.reached->ok());
  EXPECT_EQ(taken(proxy, "a"), 0U);
  EXPECT_EQ(row(proxy, "a").failed.reset, 1U);
  EXPECT_EQ(row(proxy, "a").opened, 3U);
  EXPECT_EQ(row(proxy, "a").closed, 3U);
}

// However many refuse at home: the last try is elsewhere.
TEST_F(TunnelPlaces, AZoneWhoseApplicationsRefuseIsLeftForAnother) {
  fleet_.add_service("web");
  Member& proxy = add_proxy("p1", "a");
  for (const char* name : {"edge-1", "edge-2", "edge-3", "edge-4"}) {
    add_agent(proxy, name, "a").set_answer(RawAgent::Answer::Refuse);
  }
  EXPECT_EQ(connect(proxy), "HF2203");
  EXPECT_EQ(row(proxy, "a").opened, 1U) << "however many agents were asked";
  EXPECT_EQ(row(proxy, "a").closed, 1U);
  EXPECT_EQ(row(proxy, "a").failed, (route::FailedCounts{.refused = 1}));
  RawAgent& other = add_agent(proxy, "edge-b", "b");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(connect(proxy), "b") << "without limits";

  limit(proxy, {{"a", 4}, {"b", 9}});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(connect(proxy), "b") << "with limits";
  EXPECT_EQ(taken(proxy, "a"), 0U);

  other.set_answer(RawAgent::Answer::Refuse);
  EXPECT_EQ(connect(proxy), "HF2203");
}

TEST_F(TunnelPlaces, AConnectionThatIsCutGivesItsPlaceBack) {
  Member& proxy = add_proxy("p1", "a");
  RawAgent& agent = add_agent(proxy, "edge-a", "a");
  limit(proxy, {{"a", 1}});
  ASSERT_EQ(connect(proxy), "a");
  ASSERT_TRUE(fleet_.echoes(clients_[0].client, "hello"));

  agent.close();
  ASSERT_TRUE(fleet_.until([&] { return clients_[0].client->over; }));

  EXPECT_EQ(taken(proxy, "a"), 0U);
  EXPECT_EQ(row(proxy, "a").closed, 1U);
  EXPECT_EQ(row(proxy, "a").failed.cut, 1U);
}

TEST_F(TunnelPlaces, WhoGivesUpWhileItIsOpenedGivesItsPlaceBack) {
  Member& proxy = add_proxy("p1", "a");
  RawAgent& agent = add_agent(proxy, "edge-a", "a");
  limit(proxy, {{"a", 1}});
  agent.set_answer(RawAgent::Answer::Silence);
  net::TaskGroup clients(fleet_.executor());
  bool joined = false;
  const auto leave = [&]() -> asio::awaitable<void> {
    co_await clients.join();
    joined = true;
  };
  Client client = std::make_shared<ClientSide>();
  const auto dial = [&]() -> asio::awaitable<void> {
    std::unique_ptr<StreamEnd> end = make_client_end(client);
    const Wanted wanted{.service = "web"};
    const Result<Reached> none = co_await proxy.service->dial(wanted, end);
    EXPECT_FALSE(none.ok());
  };
  clients.spawn(dial());
  ASSERT_TRUE(fleet_.until([&] { return taken(proxy, "a") == 1; }));

  fleet_.spawn(leave());
  ASSERT_TRUE(fleet_.until([&] { return joined; }));

  EXPECT_EQ(taken(proxy, "a"), 0U);
  EXPECT_EQ(row(proxy, "a").failed.gave_up, 1U);
  EXPECT_EQ(row(proxy, "a").opened, 1U);
  EXPECT_EQ(row(proxy, "a").active(), 0U);
  EXPECT_EQ(row(proxy, "a").held, 0U);
}

TEST_F(TunnelPlaces, AZoneWhoseAgentsRefuseIsLeftForTheNext) {
  Member& proxy = add_proxy("p1", "a");
  add_agent(proxy, "edge-a", "a").set_answer(RawAgent::Answer::Refuse);
  add_agent(proxy, "edge-b", "b");
  limit(proxy, {{"a", 5}, {"b", 5}});

  EXPECT_EQ(connect(proxy), "b");

  EXPECT_EQ(taken(proxy, "a"), 0U);
  EXPECT_EQ(taken(proxy, "b"), 1U);
  EXPECT_EQ(row(proxy, "a").failed.refused, 1U);
  EXPECT_EQ(row(proxy, "a").opened, 1U);
  EXPECT_EQ(row(proxy, "a").closed, 1U);
  EXPECT_EQ(row(proxy, "b").opened, 1U);
  EXPECT_EQ(row(proxy, "b").active(), 1U);
}

TEST_F(TunnelPlaces, WhatGoesThroughAPeerIsCountedWhereTheClientCameIn) {
  Member& first = add_proxy("p1", "a");
  Member& second = add_proxy("p2", "b");
  fleet_.introduce();
  add_agent(second, "edge-b", "b");
  limit(first, {{"b", 1}});
  limit(second, {{"b", 1}});
  ASSERT_TRUE(fleet_.until([&] { return connect(first) == "b"; }));

  EXPECT_EQ(row(first, "b").active(), 1U);
  EXPECT_EQ(taken(first, "b"), 1U);
  EXPECT_EQ(row(second, "b").opened, 0U);
  EXPECT_EQ(taken(second, "b"), 0U);
  end(clients_.back());
  EXPECT_EQ(taken(first, "b"), 0U);
}

TEST_F(TunnelPlaces, WhoWaitsIsServedInTurnOrRefusedAfterAWhile) {
  Member& proxy = add_proxy("p1", "a");
  add_agent(proxy, "edge-a", "a");
  limit(proxy, {{"a", 1}}, v1::WHEN_FULL_QUEUE);
  ASSERT_EQ(connect(proxy), "a");

  Pending& first = begin(proxy);
  ASSERT_TRUE(waits(proxy, 1));
  Pending& second = begin(proxy);
  ASSERT_TRUE(waits(proxy, 2));
  EXPECT_EQ(connect(proxy), "HF2208");
  EXPECT_EQ(row(proxy, "a").opened, 1U) << "nobody is asked for who waits";
  end(clients_[0]);
  ASSERT_TRUE(fleet_.until([&] { return first.reached.has_value(); }));

  EXPECT_TRUE(first.reached->ok()) << first.reached->status();
  EXPECT_FALSE(second.reached.has_value());
  ASSERT_TRUE(fleet_.until([&] { return second.reached.has_value(); }));
  EXPECT_EQ(code_of(second.reached->status()), "HF2207");
  const PlacesStats& stats = proxy.service->places().stats();
  EXPECT_EQ(stats.waited, 1U);
  EXPECT_EQ(stats.waited_in_vain, 1U);
  EXPECT_EQ(row(proxy, "a").opened, 2U);
  EXPECT_EQ(proxy.service->places().waiting(), 0U);
}

TEST_F(TunnelPlaces, AGrantLetsThoseWhoWaitIn) {
  Member& proxy = add_proxy("p1", "a");
  add_agent(proxy, "edge-a", "a");
  limit(proxy, {{"a", 4}}, v1::WHEN_FULL_QUEUE);
  PlacesService& places = proxy.service->places();
  const auto grant = [&](uint64_t number, uint64_t limit) {
    places.report();
    places.on_grant({.number = number,
                     .ttl = seconds(30),
                     .pools = {{.pool = {"web", "a"}, .limit = limit, .fixed = 1}}});
  };
  ASSERT_EQ(connect(proxy), "a");
  grant(1, 1);
  Pending& one = begin(proxy);
  ASSERT_TRUE(waits(proxy, 1));
  Pending& two = begin(proxy);
  ASSERT_TRUE(waits(proxy, 2));

  grant(2, 3);

  ASSERT_TRUE(fleet_.until([&] { return one.reached.has_value() && two.reached.has_value(); }));
  EXPECT_TRUE(one.reached->ok());
  EXPECT_TRUE(two.reached->ok());
}

// Leases are small while nobody comes; a crowd asks for more, and waits for that.
TEST_F(TunnelPlaces, WhoMayNotQueueWaitsForTheNextGrantOnly) {
  Member& proxy = add_proxy("p1", "a");
  add_agent(proxy, "edge-a", "a");
  limit(proxy, {{"a", 9}}, v1::WHEN_FULL_REJECT);
  PlacesService& places = proxy.service->places();
  const auto grant = [&](uint64_t number, uint64_t limit, bool scarce) {
    places.report();
    places.on_grant(
        {.number = number,
         .ttl = seconds(30),
         .pools = {{.pool = {"web", "a"}, .limit = limit, .fixed = 1, .scarce = scarce}}});
  };
  ASSERT_EQ(connect(proxy), "a");
  grant(1, 1, false);
  Pending& one = begin(proxy);
  Pending& two = begin(proxy);
  ASSERT_TRUE(waits(proxy, 2));
  EXPECT_EQ(connect(proxy), "HF2206") << "no room in line";

  grant(2, 2, false);
  ASSERT_TRUE(fleet_.until([&] { return one.reached.has_value() && two.reached.has_value(); }));
  EXPECT_TRUE(one.reached->ok());
  EXPECT_EQ(code_of(two.reached->status()), "HF2206") << "its moment is over";

  grant(3, 2, true);
  begin(proxy);
  begin(proxy);
  EXPECT_EQ(connect(proxy), "HF2206");
  EXPECT_EQ(places.waiting(), 0U) << "no more is to be had";
}

TEST_F(TunnelPlaces, ConnectionsThatWaitAreToldToTheController) {
  Member& proxy = add_proxy("p1", "a");
  add_agent(proxy, "edge-a", "a");
  limit(proxy, {{"a", 9}}, v1::WHEN_FULL_REJECT);
  PlacesService& places = proxy.service->places();
  const auto grant = [&](uint64_t number, uint64_t limit) {
    const route::LoadReport report = places.report();
    places.on_grant({.number = number,
                     .ttl = seconds(30),
                     .pools = {{.pool = {"web", "a"}, .limit = limit, .fixed = 1}}});
    return report.pools.at(0).waiting;
  };
  ASSERT_EQ(connect(proxy), "a");
  EXPECT_EQ(grant(1, 1), 0U);
  begin(proxy);
  begin(proxy);
  ASSERT_TRUE(waits(proxy, 2));

  EXPECT_EQ(grant(2, 3), 2U);

  ASSERT_TRUE(fleet_.until([&] { return places.waiting() == 0; }));
  EXPECT_EQ(grant(3, 3), 0U);
}

TEST_F(TunnelPlaces, AProxyThatStopsKeepsNobodyWaiting) {
  Member& proxy = add_proxy("p1", "a");
  add_agent(proxy, "edge-a", "a");
  limit(proxy, {{"a", 1}}, v1::WHEN_FULL_QUEUE);
  ASSERT_EQ(connect(proxy), "a");
  Pending& waiting = begin(proxy);
  ASSERT_TRUE(waits(proxy, 1));

  fleet_.stop(proxy);

  ASSERT_TRUE(fleet_.until([&] { return waiting.reached.has_value(); }, seconds(5)));
  EXPECT_EQ(code_of(waiting.reached->status()), "HF2315");
}

TEST_F(TunnelPlaces, AReportIsDueSoonerWhenPlacesRunOut) {
  Member& proxy = add_proxy("p1", "a");
  add_agent(proxy, "edge-a", "a");
  limit(proxy, {{"a", 9}});
  PlacesService& places = proxy.service->places();
  ASSERT_EQ(connect(proxy), "a");
  places.report();
  places.on_grant({.number = 1,
                   .ttl = seconds(30),
                   .report_every = seconds(20),
                   .pools = {{.pool = {"web", "a"}, .limit = 5, .fixed = 1}}});
  int woken = 0;
  places.on_due([&] { ++woken; });
  EXPECT_GT(places.report_due(), fleet_.clock.now() + seconds(10));

  for (int i = 0; i < 4; ++i) ASSERT_EQ(connect(proxy), "a");

  EXPECT_LT(places.report_due(), fleet_.clock.now() + seconds(1));
  EXPECT_EQ(woken, 1);
}

}  // namespace
}  // namespace holdfast::tunnel
