#include "route/capacity.h"

#include <gtest/gtest.h>

namespace holdfast::route {
namespace {

TEST(Capacity, AZoneWithoutANumberHasNoLimit) {
  v1::Service service;
  EXPECT_FALSE(has_limits(service));
  (*service.mutable_zone_capacity())["a"] = 0;
  EXPECT_FALSE(has_limits(service));
  (*service.mutable_zone_capacity())["b"] = 7;

  EXPECT_TRUE(has_limits(service));
  EXPECT_EQ(capacity_of(service), (Capacity{.zones = {{"b", 7}}}));
}

TEST(Capacity, WhatIsNotSaidGoesBeyondTheLimit) {
  v1::Service service;
  EXPECT_EQ(capacity_of(service).when_full, WhenFull::Overflow);
  service.set_when_full(v1::WHEN_FULL_QUEUE);
  EXPECT_EQ(capacity_of(service).when_full, WhenFull::Queue);
  service.set_when_full(v1::WHEN_FULL_REJECT);
  EXPECT_EQ(capacity_of(service).when_full, WhenFull::Reject);
}

}  // namespace
}  // namespace holdfast::route
