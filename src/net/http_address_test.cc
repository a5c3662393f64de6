#include "net/http_address.h"

#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

std::string counted(const char* address) {
  return counted_address(boost::asio::ip::make_address(address));
}

TEST(HttpAddress, AHostWithColonsStandsInBrackets) {
  EXPECT_EQ(join_host_port("fd00::7", "7444"), "[fd00::7]:7444");
  EXPECT_EQ(join_host_port("[fd00::7]", "7444"), "[fd00::7]:7444");
  EXPECT_EQ(join_host_port("edge.example", "7444"), "edge.example:7444");
  EXPECT_EQ(to_text(parse_listen_address("[::1]:8080")->endpoint), "[::1]:8080");
  EXPECT_EQ(to_text(parse_listen_address("127.0.0.1:8080")->endpoint), "127.0.0.1:8080");
}

TEST(HttpAddress, ANetworkOf64BitsCountsAsOne) {
  EXPECT_EQ(counted("2001:db8:1:2:3:4:5:6"), counted("2001:db8:1:2:ffff::1"));
  EXPECT_NE(counted("2001:db8:1:2::1"), counted("2001:db8:1:3::1"));
  EXPECT_EQ(counted("::ffff:10.0.0.7"), "10.0.0.7");
  EXPECT_NE(counted("10.0.0.7"), counted("10.0.0.8"));
  EXPECT_EQ(counted_address(parse_listen_address("10.0.0.7:1")->endpoint), "10.0.0.7");
}

}  // namespace
}  // namespace holdfast::net
