#include "track/address.h"

#include <gtest/gtest.h>

namespace holdfast::track {
namespace {

TEST(Address, BothFamiliesReadAndPrint) {
  for (const char* text : {"10.1.2.3", "fd00::1", "::1", "255.255.255.255"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(to_string(*address), text);
  }
  EXPECT_FALSE(parse_address("10.1.2").ok());
  EXPECT_FALSE(parse_address("").ok());
}

TEST(Address, IPv4WithinIPv6IsTheIPv4Address) {
  EXPECT_EQ(*parse_address("::ffff:10.1.2.3"), *parse_address("10.1.2.3"));
  EXPECT_TRUE(is_ipv4(*parse_address("::ffff:10.1.2.3")));
}

TEST(Address, AVipKeepsItsPortInNetworkOrder) {
  const Vip vip = make_vip({.address = *parse_address("fd00::1"), .port = 0x1234}, Protocol::Udp);

  EXPECT_EQ(reinterpret_cast<const uint8_t*>(&vip.port)[0], 0x12);
  EXPECT_EQ(endpoint_of(vip).port, 0x1234);
  EXPECT_EQ(to_string(vip), "udp [fd00::1]:4660");
}

}  // namespace
}  // namespace holdfast::track
