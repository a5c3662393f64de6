#include "app/handler_limits.h"

#include <gtest/gtest.h>

#include <limits>

namespace holdfast::app {
namespace {

TEST(HandlerLimits, EachConnectionHasRoomForItsProbe) {
  EXPECT_EQ(fitting_connections(4'096, 1'048'576), 4'096u);
  EXPECT_EQ(fitting_connections(4'096, 1'024), 496u);
  EXPECT_EQ(fitting_connections(4'096, 64), 16u);
  EXPECT_EQ(fitting_connections(10, 1'024), 10u);
  EXPECT_EQ(fitting_connections(4'096, 0), 8u) << "it is tried all the same";
  EXPECT_EQ(fitting_connections(4'096, std::numeric_limits<uint64_t>::max()), 4'096u);
}

TEST(HandlerLimits, WithoutIpv6EverywhereIsEverywhereOfIpv4) {
  EXPECT_EQ(handler_address("[::]:9000", false), "0.0.0.0:9000");
  EXPECT_EQ(handler_address("[::]:9000", true), "[::]:9000");
  EXPECT_EQ(handler_address("127.0.0.1:9000", false), "127.0.0.1:9000");
  EXPECT_EQ(handler_address("[::1]:9000", false), "[::1]:9000") << "that is not everywhere";
}

}  // namespace
}  // namespace holdfast::app
