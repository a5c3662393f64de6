// What is wanted becomes writes; maps that are plain memory take them, and a model made from those
// maps goes on where the first one stopped.
#include "track/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace holdfast::track {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Maps as the kernel has them.
class FakeMaps {
 public:
  void apply(const std::vector<MapWrite>& writes) {
    for (const MapWrite& write : writes) {
      auto& map = maps_[write.map];
      if (!write.value) {
        map.erase(write.key);
      } else if (!write.only_if_absent || !map.contains(write.key)) {
        map[write.key] = *write.value;
      }
      check_whole();
    }
  }

  Snapshot snapshot() {
    Snapshot snapshot;
    for (const auto& [key, value] : maps_[MapName::Services]) {
      snapshot.services[from_bytes<hf_vip>(key)] = from_bytes<hf_service>(value);
    }
    for (const auto& [key, value] : maps_[MapName::Plans]) {
      const auto id = from_bytes<uint32_t>(key);
      const bool used = std::ranges::any_of(
          snapshot.services, [&](const auto& entry) { return entry.second.service == id; });
      if (used) snapshot.plans[id] = from_bytes<hf_plan>(value);
    }
    for (const auto& [id, plan] : snapshot.plans) {
      for (const hf_zone& zone : std::span(plan.zones).first(plan.zone_count)) {
        for (uint32_t i = 0; i < zone.slot_count; ++i) {
          const uint32_t at = zone.first_slot + i;
          snapshot.slots[at] = from_bytes<hf_slot>(maps_[MapName::Slots].at(to_bytes(at)));
        }
      }
    }
    for (const auto& [key, value] : maps_[MapName::Health]) {
      snapshot.health[from_bytes<uint32_t>(key)] = from_bytes<hf_health>(value);
    }
    for (const auto& [key, value] : maps_[MapName::Counters]) {
      snapshot.counters.insert(from_bytes<hf_key>(key));
    }
    return snapshot;
  }

  size_t size(MapName map) { return maps_[map].size(); }

 private:
  // After every single write: each service that is translated has a plan, whose slots are its own,
  // with backends that are there, and counters.
  void check_whole() {
    const Snapshot now = snapshot();
    for (const auto& [vip, service] : now.services) {
      if ((service.flags & HF_SERVICE_RETIRED) != 0) continue;
      ASSERT_TRUE(now.plans.contains(service.service));
      const hf_plan& plan = now.plans.at(service.service);
      for (const hf_zone& zone : std::span(plan.zones).first(plan.zone_count)) {
        check_zone(now, service.service, zone);
      }
    }
  }
  static void check_zone(const Snapshot& now, uint16_t service, const hf_zone& zone) {
    ASSERT_GT(zone.slot_count, 0);
    if (zone.zone != 0) EXPECT_TRUE(now.counters.contains(make_key(service, zone.zone)));
    for (uint32_t i = zone.first_slot; i < zone.first_slot + zone.slot_count; ++i) {
      EXPECT_EQ(now.slots.at(i).service, service);
      EXPECT_EQ(now.slots.at(i).zone, zone.zone);
      EXPECT_LT(now.slots.at(i).alias, zone.slot_count);
      EXPECT_EQ(now.health.at(now.slots.at(i).backend).generation % 2, 0U) << "gone";
    }
  }

  std::map<MapName, std::map<std::string, std::string>> maps_;
};

Endpoint at(const std::string& address, uint16_t port) {
  return {.address = *parse_address(address), .port = port};
}

ServiceSpec model_service(const std::string& address, const std::vector<Backend>& backends) {
  return {
      .vip = make_vip(at(address, 80), Protocol::Tcp), .zone_order = {1, 2}, .backends = backends};
}

class ModelTest : public testing::Test {
 protected:
  Changes want(const std::vector<ServiceSpec>& wanted, const std::set<Key>& busy = {}) {
    Changes changes = model->reconcile(wanted, busy);
    maps.apply(changes.writes);
    return changes;
  }
  void restart_agent() { model = std::make_unique<Model>(sizes, maps.snapshot()); }
  hf_plan plan_of(const ServiceSpec& spec) {
    return maps.snapshot().plans.at(*model->id_of(spec.vip));
  }

  Sizes sizes{.services = 8, .slots = 64, .backends = 64, .counters = 32};
  FakeMaps maps;
  std::unique_ptr<Model> model = std::make_unique<Model>(sizes, Snapshot{});
  ServiceSpec web =
      model_service("10.0.0.1", {{.at = at("127.0.0.1", 8001), .zone = 1},
                                 {.at = at("127.0.0.1", 8002), .zone = 2, .weight = 3}});
};

TEST_F(ModelTest, AServiceBecomesAPlanWithItsZonesInOrder) {
  web.zone_order = {2, 1};
  web.limits[2] = {.leased = 50, .fixed = 10};

  want({web});

  const hf_plan plan = plan_of(web);
  ASSERT_EQ(plan.zone_count, 2);
  EXPECT_EQ(plan.zones[0].zone, 2);
  EXPECT_EQ(plan.zones[0].limit, 50U);
  EXPECT_EQ(plan.zones[0].static_limit, 10U);
  EXPECT_EQ(plan.zones[1].limit, HF_UNLIMITED);
  EXPECT_EQ(maps.size(MapName::Counters), 2U);
  EXPECT_EQ(maps.size(MapName::Failures), 2U);
}

TEST_F(ModelTest, TheSameAgainWritesNothing) {
  want({web});

  EXPECT_THAT(want({web}).writes, IsEmpty());
  std::ranges::reverse(web.backends);
  EXPECT_THAT(want({web}).writes, IsEmpty());
}

TEST_F(ModelTest, ANewLimitIsOneWrite) {
  want({web});
  web.limits[1] = {.leased = 7, .fixed = 3};

  EXPECT_THAT(want({web}).writes, SizeIs(1));
}

TEST_F(ModelTest, AChangeOfOneZoneLeavesTheSlotsOfTheOther) {
  want({web});
  const uint32_t untouched = plan_of(web).zones[1].first_slot;
  web.backends.push_back({.at = at("127.0.0.1", 8003), .zone = 1});

  const Changes changes = want({web});

  EXPECT_EQ(plan_of(web).zones[1].first_slot, untouched);
  EXPECT_THAT(changes.writes, SizeIs(4)) << "one backend, two slots, the plan";
}

TEST_F(ModelTest, ARestartedAgentFindsEverythingAsItWas) {
  want({web, model_service("10.0.0.2", {{.at = at("127.0.0.1", 9001), .zone = 1}})});
  const auto id = model->id_of(web.vip);

  restart_agent();

  EXPECT_EQ(model->id_of(web.vip), id);
  EXPECT_THAT(
      want({web, model_service("10.0.0.2", {{.at = at("127.0.0.1", 9001), .zone = 1}})}).writes,
      IsEmpty());
}

TEST_F(ModelTest, ARemovedServiceKeepsItsCountersUntilItsConnectionsHaveEnded) {
  want({web});
  const uint16_t id = *model->id_of(web.vip);

  want({}, {make_key(id, 2)});

  EXPECT_EQ(maps.snapshot().services.at(web.vip).flags, HF_SERVICE_RETIRED);
  EXPECT_EQ(maps.size(MapName::Counters), 2U);
  EXPECT_EQ(*model->vip_of(id), web.vip) << "its counts still have a name";

  restart_agent();
  const Changes changes = want({}, {});

  EXPECT_EQ(maps.size(MapName::Services), 0U);
  EXPECT_EQ(maps.size(MapName::Counters), 0U);
  EXPECT_EQ(maps.size(MapName::Reserved), 0U);
  EXPECT_THAT(changes.forgotten, SizeIs(2));
}

TEST_F(ModelTest, AServiceThatComesBackMeanwhileKeepsItsNumber) {
  want({web});
  const auto id = model->id_of(web.vip);
  want({}, {make_key(*id, 1)});
  EXPECT_EQ(model->id_of(web.vip), std::nullopt);

  want({web}, {make_key(*id, 1)});

  EXPECT_EQ(model->id_of(web.vip), id);
  EXPECT_EQ(maps.snapshot().services.at(web.vip).flags, 0);
}

TEST_F(ModelTest, ABackendThatIsRemovedIsMarkedAsGoneAndItsNumberGetsAnotherGeneration) {
  want({web});
  web.backends.pop_back();

  want({web});

  int gone = 0;
  for (const auto& [id, health] : maps.snapshot().health) gone += health.generation % 2;
  EXPECT_EQ(gone, 1);
  for (int i = 0; i < 200; ++i) {  // until its number comes round again
    web.backends[0].at.port = static_cast<uint16_t>(10'000 + i);
    want({web});
  }
  for (const auto& [id, health] : maps.snapshot().health) EXPECT_GT(health.generation, 2U) << id;
}

TEST_F(ModelTest, UnlistedZonesAreUsedLastAndNotCounted) {
  web.backends.push_back({.at = at("127.0.0.1", 8009), .zone = 0});

  want({web});

  EXPECT_EQ(plan_of(web).zones[2].zone, 0);
  EXPECT_EQ(maps.size(MapName::Counters), 2U);
}

TEST_F(ModelTest, WhatDoesNotFitIsLeftOutAndCounted) {
  std::vector<ServiceSpec> many;
  for (int i = 0; i < 10; ++i) {
    many.push_back(
        model_service(fmt::format("10.0.1.{}", i), {{.at = at("127.0.0.1", 9), .zone = 1}}));
  }

  const Changes changes = want(many);

  EXPECT_EQ(changes.services_left_out, 3U) << "numbers 1 to 7 of 8";
  EXPECT_EQ(maps.size(MapName::Services), 7U);
}

TEST_F(ModelTest, BackendsOfTheOtherFamilyTwiceOrTooManyAreLeftOutAndCounted) {
  web.backends = {{.at = at("::1", 1), .zone = 1},
                  {.at = at("127.0.0.1", 1), .zone = 1},
                  {.at = at("127.0.0.1", 1), .zone = 1}};
  for (uint16_t port = 1; port <= HF_BACKENDS_PER_ZONE; ++port) {
    web.backends.push_back({.at = at("127.0.0.2", port), .zone = 1});
  }
  model = std::make_unique<Model>(Sizes{}, Snapshot{});

  EXPECT_EQ(want({web}).backends_left_out, 3U);
  EXPECT_EQ(plan_of(web).zones[0].slot_count, HF_BACKENDS_PER_ZONE);
}

TEST_F(ModelTest, CountersWithoutAServiceAreRemovedWhenTheyAreQuiet) {
  Snapshot torn;
  torn.counters = {make_key(3, 1)};
  model = std::make_unique<Model>(sizes, torn);

  EXPECT_THAT(model->reconcile({}, {make_key(3, 1)}).writes, IsEmpty());
  EXPECT_THAT(model->reconcile({}, {}).writes, SizeIs(3));
}

// Random services come and go, agents restart, and after every write the maps are whole.
TEST_F(ModelTest, TheMapsAreWholeAfterEveryWriteWhateverIsWanted) {
  Rng rng(3);
  for (int round = 0; round < 150; ++round) {
    std::vector<ServiceSpec> wanted;
    for (uint64_t i = rng.below(uint64_t{6}); i > 0; --i) {
      std::vector<Backend> backends;
      for (uint64_t b = rng.below(uint64_t{6}); b > 0; --b) {
        backends.push_back(
            {.at = at("127.0.0.1", static_cast<uint16_t>(1 + rng.below(uint64_t{9}))),
             .zone = static_cast<uint8_t>(rng.below(uint64_t{4})),
             .weight = static_cast<uint32_t>(rng.below(uint64_t{3}))});
      }
      wanted.push_back(model_service(fmt::format("10.0.0.{}", rng.below(uint64_t{5})), backends));
    }
    std::set<Key> busy;
    for (const Key& key : maps.snapshot().counters) {
      if (rng.below(uint64_t{2}) == 0) busy.insert(key);
    }
    want(wanted, busy);
    if (rng.below(uint64_t{4}) == 0) restart_agent();
    ASSERT_FALSE(HasFatalFailure());
  }
  want({});
  want({});
  EXPECT_EQ(maps.size(MapName::Services), 0U);
  EXPECT_EQ(maps.size(MapName::Counters), 0U);
}

}  // namespace
}  // namespace holdfast::track
