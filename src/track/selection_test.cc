// The kernel's choice of a backend, compiled here as it is there, over maps that are plain memory.
#include "track/selection.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "track/alias_table.h"

namespace holdfast::track {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

struct World {
  std::vector<hf_slot> slots{};
  std::array<hf_health, 64> health{};
  std::map<uint32_t, uint32_t> reserved{};  // by zone
  hf_settings settings = {.layout = HF_LAYOUT,
                          .refusals_to_eject = 3,
                          .probe_after_ns = kSecond,
                          .probe_at_most_ns = 8 * kSecond};
  uint64_t now = 100 * kSecond;
  Rng rng{7};
  std::array<int, 4> events{};
};

// selection.h finds its maps by name, as in the kernel; each test starts them anew.
std::unique_ptr<World>& world_holder() {
  static std::unique_ptr<World> holder;
  return holder;
}
World& world() {
  return *world_holder();
}

}  // namespace
}  // namespace holdfast::track

HF_INLINE struct hf_slot* hf_slot_at(__u32 index) {
  auto& slots = holdfast::track::world().slots;
  return index < slots.size() ? &slots[index] : nullptr;
}
HF_INLINE struct hf_health* hf_health_at(__u32 backend) {
  auto& health = holdfast::track::world().health;
  return backend < health.size() ? &health[backend] : nullptr;
}
HF_INLINE __u32* hf_reserved_at(struct hf_key key) {
  return &holdfast::track::world().reserved[key.zone];
}
HF_INLINE struct hf_settings* hf_settings_of(void) {
  return &holdfast::track::world().settings;
}
HF_INLINE __u32 hf_random(void) {
  return static_cast<__u32>(holdfast::track::world().rng.next() >> 32);
}
HF_INLINE __u64 hf_now_ns(void) {
  return holdfast::track::world().now;
}
HF_INLINE void hf_count(enum hf_event event) {
  holdfast::track::world().events[event] += 1;
}

namespace holdfast::track {
namespace {

constexpr uint16_t kService = 9;

class Selection : public testing::Test {
 protected:
  Selection() { world_holder() = std::make_unique<World>(); }
  ~Selection() override { world_holder().reset(); }

  // Backends are numbered from 1 as they are added.
  void add_zone(uint8_t zone, const std::vector<uint32_t>& weights, uint32_t limit) {
    hf_zone& entry = plan.zones[plan.zone_count++];
    entry = {.limit = limit,
             .static_limit = limit,
             .first_slot = static_cast<uint32_t>(world().slots.size()),
             .slot_count = static_cast<uint16_t>(weights.size()),
             .zone = zone};
    for (const AliasColumn& column : make_alias_table(weights)) {
      hf_slot slot{.service = kService, .zone = zone};
      slot.alias = column.alias;
      slot.threshold = column.threshold;
      slot.backend = static_cast<uint32_t>(world().slots.size() + 1);
      world().slots.push_back(slot);
    }
  }

  // The backend that gets the next connection, or 0.
  uint32_t choose() {
    hf_choice choice{};
    verdict = hf_choose(&plan, &choice);
    return verdict == HF_CHOSEN ? world().slots[choice.slot].backend : 0;
  }
  std::map<uint32_t, int> choose_many(int count) {
    std::map<uint32_t, int> chosen;
    for (int i = 0; i < count; ++i) chosen[choose()] += 1;
    return chosen;
  }
  static void refuse(uint32_t backend, int times) {
    for (int i = 0; i < times; ++i) hf_refused_by(backend, world().health[backend].generation);
  }

  hf_plan plan{.service = kService};
  hf_verdict verdict = HF_NO_BACKEND;
};

TEST_F(Selection, WeightsAreKept) {
  add_zone(1, {1, 2, 7}, HF_UNLIMITED);

  const auto chosen = choose_many(100'000);

  EXPECT_NEAR(chosen.at(1), 10'000, 400);
  EXPECT_NEAR(chosen.at(2), 20'000, 500);
  EXPECT_NEAR(chosen.at(3), 70'000, 600);
}

TEST_F(Selection, TheFirstZoneIsFilledToItsLimitThenTheNext) {
  add_zone(1, {1, 1}, 10);
  add_zone(2, {1}, 5);
  plan.when_full = HF_FULL_REJECT;

  for (int i = 0; i < 10; ++i) EXPECT_NE(choose(), 0U) << i;
  EXPECT_EQ(world().reserved[1], 10U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(choose(), 3U) << i;

  EXPECT_EQ(choose(), 0U);
  EXPECT_EQ(verdict, HF_ALL_FULL);
  EXPECT_EQ(world().reserved[1], 10U);
  EXPECT_EQ(world().reserved[2], 5U);
  EXPECT_EQ(world().events[HF_EVENT_SPILL], 5);
}

TEST_F(Selection, APlaceGivenBackIsUsedAgain) {
  add_zone(1, {1}, 1);
  plan.when_full = HF_FULL_REJECT;
  EXPECT_EQ(choose(), 1U);
  EXPECT_EQ(choose(), 0U);

  hf_give_place_back(&world().reserved[1]);

  EXPECT_EQ(choose(), 1U);
}

TEST_F(Selection, OverflowGoesToTheFirstZoneBeyondItsLimit) {
  add_zone(1, {1}, 1);
  add_zone(2, {1}, 0);
  plan.when_full = HF_FULL_OVERFLOW;

  EXPECT_EQ(choose(), 1U);
  EXPECT_EQ(choose(), 1U);

  EXPECT_EQ(world().reserved[1], 2U);
  EXPECT_EQ(world().events[HF_EVENT_OVERFLOW], 1);
}

TEST_F(Selection, OverflowBeyondFixedSharesGoesToTheZoneThatIsFilledLeast) {
  add_zone(1, {1}, 100);
  add_zone(2, {1}, 100);
  add_zone(3, {1}, 100);
  plan.zones[0].static_limit = 10;
  plan.zones[1].static_limit = 20;
  plan.zones[2].static_limit = 0;
  plan.when_full = HF_FULL_OVERFLOW;
  plan.lease_end_ns = world().now;
  world().reserved = {{1, 10}, {2, 20}, {3, 0}};

  const auto chosen = choose_many(30);

  EXPECT_EQ(chosen, (std::map<uint32_t, int>{{1, 10}, {2, 20}})) << "as their shares are";
  EXPECT_EQ(world().events[HF_EVENT_OVERFLOW], 30);
  EXPECT_EQ(world().events[HF_EVENT_SPILL], 20);

  refuse(2, 3);
  EXPECT_EQ(choose_many(30)[1], 30) << "the other, if none of its backends is usable";
}

TEST_F(Selection, OverflowBeyondLeasesGoesToTheFirstZone) {
  add_zone(1, {1}, 1);
  add_zone(2, {1}, 10);
  plan.when_full = HF_FULL_OVERFLOW;
  plan.lease_end_ns = world().now + kSecond;
  world().reserved = {{1, 5}, {2, 10}};

  EXPECT_EQ(choose_many(20)[1], 20);
}

TEST_F(Selection, ALeaseThatRanOutFallsBackToTheFixedShare) {
  add_zone(1, {1}, 100);
  plan.zones[0].static_limit = 2;
  plan.when_full = HF_FULL_REJECT;
  plan.lease_end_ns = world().now + kSecond;
  world().reserved[1] = 2;
  EXPECT_EQ(choose(), 1U);

  world().now += kSecond;

  EXPECT_EQ(choose(), 0U);
  EXPECT_EQ(world().reserved[1], 3U) << "those that are there stay";
}

TEST_F(Selection, ABackendThatRefusesIsEjectedAfterSoManyInARow) {
  add_zone(1, {1, 1}, HF_UNLIMITED);
  refuse(1, 2);
  EXPECT_GT(choose_many(100)[1], 0) << "two in a row are not three";

  refuse(1, 1);

  EXPECT_EQ(choose_many(100)[1], 0);
}

TEST_F(Selection, AnEjectedBackendIsProbedByOneConnectionAtATime) {
  add_zone(1, {1, 1}, HF_UNLIMITED);
  refuse(1, 3);

  world().now += kSecond;

  EXPECT_EQ(choose_many(1000)[1], 1);
  EXPECT_EQ(world().events[HF_EVENT_PROBE], 1);
}

TEST_F(Selection, AProbeThatIsAcceptedBringsItBackAndOneThatIsRefusedTakesLonger) {
  add_zone(1, {1, 1}, HF_UNLIMITED);
  refuse(1, 4);  // the third ejected it, the fourth was a probe
  world().now += kSecond;
  EXPECT_EQ(choose_many(100)[1], 0);
  world().now += kSecond;
  EXPECT_EQ(choose_many(100)[1], 1);

  hf_accepted_by(1, world().health[1].generation);

  EXPECT_GT(choose_many(100)[1], 20);
}

TEST_F(Selection, TheTimeBetweenProbesHasABound) {
  add_zone(1, {1}, HF_UNLIMITED);

  refuse(1, 1000);

  EXPECT_EQ(world().health[1].probe_at_ns, world().now + 8 * kSecond);
}

TEST_F(Selection, AZoneWhoseBackendsAreAllEjectedIsPassedOver) {
  add_zone(1, {1, 1}, HF_UNLIMITED);
  add_zone(2, {1}, HF_UNLIMITED);
  refuse(1, 3);
  refuse(2, 3);

  EXPECT_EQ(choose_many(100)[3], 100);
  EXPECT_EQ(world().reserved[1], 0U) << "places taken on the way are given back";
}

TEST_F(Selection, WhenAllAreEjectedOneIsTriedAllTheSame) {
  add_zone(1, {1}, HF_UNLIMITED);
  refuse(1, 3);

  EXPECT_EQ(choose(), 1U);
  EXPECT_EQ(world().events[HF_EVENT_PANIC], 1);
}

TEST_F(Selection, TheLastOfManyThatIsUsableIsFound) {
  add_zone(1, std::vector<uint32_t>(40, 1), HF_UNLIMITED);
  for (uint32_t backend = 1; backend < 40; ++backend) refuse(backend, 3);

  EXPECT_EQ(choose_many(200)[40], 200);
}

TEST_F(Selection, ABackendThatIsGoneIsNotChosenAndItsOldSocketsSayNothingOfItsSuccessor) {
  add_zone(1, {1, 1}, HF_UNLIMITED);
  world().health[1].generation = 1;
  EXPECT_EQ(choose_many(100)[1], 0);
  world().health[1].generation = 2;

  for (int i = 0; i < 10; ++i) hf_refused_by(1, 0);

  EXPECT_EQ(world().health[1].refusals, 0U);
}

TEST_F(Selection, SlotsThatBelongToAnotherServiceNowAreNotUsed) {
  add_zone(1, {1, 1}, HF_UNLIMITED);
  world().slots[0].service = kService + 1;

  EXPECT_EQ(choose_many(100)[2], 100);
}

TEST_F(Selection, SlotsThatBelongToAnotherZoneNowAreNotUsed) {
  add_zone(1, {1, 1}, HF_UNLIMITED);
  world().slots[0].zone = 2;

  EXPECT_EQ(choose_many(100)[2], 100);
}

TEST_F(Selection, SlotsOfOthersAreNotUsedEvenIfAllOfTheOwnAreEjected) {
  add_zone(1, {1, 1, 1}, HF_UNLIMITED);
  refuse(2, 3);
  world().slots[0].service = kService + 1;
  world().slots[2].zone = 2;
  EXPECT_EQ(choose_many(100)[2], 100);
  EXPECT_EQ(world().events[HF_EVENT_PANIC], 100);

  world().slots[1].zone = 2;

  EXPECT_EQ(choose(), 0U);
  EXPECT_EQ(verdict, HF_NO_BACKEND);
  EXPECT_EQ(world().reserved[1], 100U) << "its place is given back";
}

TEST_F(Selection, WithoutBackendsThereIsNone) {
  EXPECT_EQ(choose(), 0U);
  EXPECT_EQ(verdict, HF_NO_BACKEND);
}

}  // namespace
}  // namespace holdfast::track
