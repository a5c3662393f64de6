#include "resource/proto_time.h"

#include <gtest/gtest.h>

namespace holdfast::resource {
namespace {

TEST(ProtoTime, ATimeComesBackAsItWas) {
  for (const int64_t millis : {0LL, 1LL, 999LL, 1'700'000'000'250LL, -1LL, -1'500LL}) {
    const WallTime time{std::chrono::milliseconds(millis)};

    EXPECT_EQ(to_wall_time(to_proto(time)), time) << millis;
    EXPECT_GE(to_proto(time).nanos(), 0) << millis;
  }
}

TEST(ProtoTime, ADurationComesBackAsItWas) {
  for (const int64_t nanos : {0LL, 1LL, 1'500'000'000LL, -1'500'000'000LL}) {
    EXPECT_EQ(to_duration(to_proto(Duration(nanos))), Duration(nanos));
  }
}

TEST(ProtoTime, WhatDoesNotFitIsTheLongestThereIs) {
  google::protobuf::Duration longest;
  longest.set_seconds(INT64_MAX);
  google::protobuf::Timestamp far;
  far.set_seconds(INT64_MIN);

  EXPECT_GT(to_duration(longest), std::chrono::hours(24 * 365 * 290));
  EXPECT_LT(to_wall_time(far).time_since_epoch(), std::chrono::hours(-24 * 365 * 290));
}

}  // namespace
}  // namespace holdfast::resource
