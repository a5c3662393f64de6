#include "track/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/codec.h"

namespace holdfast::track {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

NamedService service(const std::string& name, const std::string& spec) {
  const auto parsed = resource::parse_documents(
      fmt::format("kind: service\nmetadata: {{name: {}}}\nspec: {}", name, spec));
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return {.name = name, .service = parsed->front().service()};
}

Zones zones(const std::string& own = "b") {
  v1::ZoneMap map;
  int id = 0;
  for (const char* name : {"a", "b", "c"}) {
    v1::Zone& zone = *map.add_zones();
    zone.set_name(name);
    zone.set_id(static_cast<uint32_t>(++id * 10));
  }
  return *make_zones(map, own);
}

const char* const kWeb =
    "{virtual_ip: 10.96.0.1, ports: [{port: 80, protocol: http}], zone_capacity: {a: 5, c: 0}, "
    "endpoints: [{address: '10.1.0.1:8080', zone: a}, {address: '10.1.0.2:8080', zone: b, "
    "weight: 3}, {address: '10.1.0.3:8080', zone: c}, {address: '10.1.0.4:8080', zone: x}]}";

TEST(Plan, APortOfAServiceIsOneVipWithTheOwnZoneFirst) {
  const Plan plan = make_plan(std::vector{service("web", kWeb)}, zones());

  ASSERT_THAT(plan.ports, SizeIs(1));
  const PlannedPort& port = plan.ports.front();
  EXPECT_EQ(port.service, "web");
  EXPECT_EQ(to_string(port.spec.vip), "tcp 10.96.0.1:80");
  EXPECT_THAT(port.spec.zone_order, ElementsAre(20, 30, 10, 0));
  EXPECT_THAT(port.zones, ElementsAre(std::pair{10, "a"}, std::pair{20, "b"}, std::pair{30, "c"}));
  ASSERT_THAT(port.spec.backends, SizeIs(4));
  EXPECT_EQ(port.spec.backends[1].weight, 3u);
  EXPECT_EQ(port.spec.backends[0].weight, 1u) << "absent means 1";
  EXPECT_EQ(port.spec.backends[3].zone, kUnlistedZone);
  EXPECT_EQ(port.spec.when_full, WhenFull::Overflow);
  EXPECT_THAT(plan.problems, IsEmpty());
}

TEST(Plan, CapacityOfZeroIsNone) {
  const Plan plan = make_plan(std::vector{service("web", kWeb)}, zones());

  EXPECT_THAT(plan.capacities.at("web").zones, ElementsAre(std::pair{"a", 5}));
}

TEST(Plan, EachPortHasItsOwnEndpoints) {
  const Plan plan = make_plan(
      std::vector{
          service("dns",
                  "{virtual_ip: 'fd00::9', ports: [{name: t, port: 53, protocol: tcp}, {name: u, "
                  "port: 53, protocol: udp}, {name: m, port: 99, protocol: tcp}], endpoints: "
                  "[{address: '[fd00::1]:53', zone: a, port: t}, {address: '[fd00::2]:5353', zone: "
                  "a, port: u}]}")},
      zones());

  ASSERT_THAT(plan.ports, SizeIs(2)) << "a port without endpoints is not the kernel's";
  EXPECT_EQ(to_string(plan.ports[0].spec.vip), "tcp [fd00::9]:53");
  EXPECT_EQ(to_string(plan.ports[1].spec.vip), "udp [fd00::9]:53");
  EXPECT_EQ(plan.ports[1].spec.backends[0].at.port, 5353);
}

TEST(Plan, ServicesWithoutAVipOrEndpointsAreNotTheKernels) {
  EXPECT_THAT(make_plan(std::vector{service("a", "{ports: [{port: 1, protocol: tcp}]}"),
                                    service("b",
                                            "{virtual_ip: 10.96.0.1, ports: [{port: 1, "
                                            "protocol: tcp}]}")},
                        zones())
                  .ports,
              IsEmpty());
}

TEST(Plan, OfTwoWithOneVipTheFirstByNameHasItAndTheOtherIsToldOf) {
  const Plan plan = make_plan(std::vector{service("web", kWeb), service("api", kWeb)}, zones());

  ASSERT_THAT(plan.ports, SizeIs(1));
  EXPECT_EQ(plan.ports.front().service, "api");
  EXPECT_THAT(plan.problems, ElementsAre("web: tcp 10.96.0.1:80 is already api's"));
}

// A connect() in the kernel cannot wait.
TEST(Plan, WhoIsToQueueIsRefused) {
  const std::string spec = kWeb;
  const auto with = [&](const char* policy) {
    return make_plan(
               std::vector{service("web", fmt::format("{}, when_full: {}}}",
                                                      spec.substr(0, spec.size() - 1), policy))},
               zones())
        .ports.front()
        .spec.when_full;
  };

  EXPECT_EQ(with("queue"), WhenFull::Reject);
  EXPECT_EQ(with("reject"), WhenFull::Reject);
  EXPECT_EQ(with("overflow"), WhenFull::Overflow);
}

TEST(Plan, ZonesWithOneNumberAreAnError) {
  v1::ZoneMap map;
  for (const char* name : {"a", "b"}) {
    v1::Zone& zone = *map.add_zones();
    zone.set_name(name);
    zone.set_id(7);
  }

  EXPECT_THAT(make_zones(map, "a").status().ToString(), HasSubstr("HF8111"));
}

}  // namespace
}  // namespace holdfast::track
