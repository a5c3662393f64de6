#include "inject/exclusions.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::inject {
namespace {

using Ports = std::vector<uint16_t>;

TEST(Exclusions, PortsAndRangesWithBlanksAroundThemAreAList) {
  for (const char* good : {"", " ", "1", "65535", "80,443", " 80 ,\t443 ", "1-1023", "80-80,90"}) {
    EXPECT_EQ(wrong_part(good), std::nullopt) << good;
  }
}

TEST(Exclusions, TheFirstPartThatIsNoPortIsNamed) {
  const std::pair<const char*, const char*> rows[] = {{"0", "0"},
                                                      {"65536", "65536"},
                                                      {"http", "http"},
                                                      {"80;443", "80;443"},
                                                      {"80 443", "80 443"},
                                                      {"80,,443", ""},
                                                      {"80,", ""},
                                                      {",", ""},
                                                      {"-1", "-1"},
                                                      {"+80", "+80"},
                                                      {"90-80", "90-80"},
                                                      {"80-", "80-"},
                                                      {"1-2-3", "1-2-3"},
                                                      {"8.0", "8.0"},
                                                      {"1,000080", "000080"},
                                                      {"80, x, y", "x"}};
  for (const auto& [list, part] : rows) EXPECT_EQ(wrong_part(list), part) << list;
}

TEST(Exclusions, ComeBeforeTheUsersUnlessTheyAreThere) {
  const uint16_t ports[] = {80, 9000};
  EXPECT_EQ(with_ports("", ports), "80,9000");
  EXPECT_EQ(with_ports("9800", ports), "80,9000,9800");
  EXPECT_EQ(with_ports("9000 , x", ports), "80,9000 , x");
  EXPECT_EQ(with_ports("1-65535", ports), "1-65535");
  EXPECT_EQ(with_ports("80,9000", ports), "80,9000");
  EXPECT_EQ(without_ports("80,7000,9000", ports), "7000");
}

TEST(Exclusions, WhatIsThereAlreadyIsNotAddedAgain) {
  EXPECT_EQ(with_ports("", Ports{9000}), "9000");
  EXPECT_EQ(with_ports("80, 443", Ports{9000}), "9000,80, 443");
  EXPECT_EQ(with_ports("1-1023", Ports{80, 8080, 9000}), "8080,9000,1-1023");
  EXPECT_EQ(with_ports(" 9000 ", Ports{9000}), " 9000 ");
}

TEST(Exclusions, OnlyPortsThatStandAloneAreTakenAway) {
  EXPECT_EQ(without_ports("9000, 80,1-9999", Ports{80, 9000}), "1-9999");
  EXPECT_EQ(without_ports("9000", Ports{9000}), "");
}

// A pod's annotations are somebody else's: lists without end must not take time without end.
TEST(Exclusions, ALongListOfRangesAndManyPortsAreQuick) {
  std::string list;
  for (int i = 0; i < 100'000; ++i) list += "1-65535,";
  list += "1";
  Ports ports(60'000);
  for (size_t i = 0; i < ports.size(); ++i) ports[i] = static_cast<uint16_t>(i + 1);

  EXPECT_EQ(with_ports(list, ports), list);
  EXPECT_EQ(without_ports(list, ports).size(), list.size() - 2);
}

}  // namespace
}  // namespace holdfast::inject
