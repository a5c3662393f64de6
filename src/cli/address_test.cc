#include "cli/address.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(Address, EveryFormIsReadAndWrittenBack) {
  const struct {
    const char* text;
    const char* written;
  } cases[] = {
      {"unix:/run/hf.sock", "unix:/run/hf.sock"},   {"unix:///run/hf.sock", "unix:/run/hf.sock"},
      {"ctl-1.example:7000", "ctl-1.example:7000"}, {"ctl-1.example", "ctl-1.example:7443"},
      {"127.0.0.1:65535", "127.0.0.1:65535"},       {"[::1]:80", "[::1]:80"},
      {"[fe80::1%eth0]", "[fe80::1%eth0]:7443"},
  };
  for (const auto& [text, written] : cases) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << text << address.error().message;
    EXPECT_EQ(address->text(), written);
    EXPECT_EQ(address->is_unix(), address->text().starts_with("unix:"));
  }
}

TEST(Address, WhatCannotBeOneIsUsageWithItsOwnWords) {
  const struct {
    std::string text;
    const char* says;
  } cases[] = {
      {"", "host is missing"},
      {":7443", "host is missing"},
      {"[]:1", "host is missing"},
      {"host:", "not a port"},
      {"host:0", "not a port"},
      {"host:65536", "not a port"},
      {"host:http", "not a port"},
      {"host:-1", "not a port"},
      {"host:7443/", "not a port"},
      {"::1", "brackets"},
      {"[::1:80", "] is missing"},
      {"[::1]80", "after a colon"},
      {"http://host:1", "scheme"},
      {"ho st:1", "no host's name"},
      {"unix:", "missing"},
      {"unix:/" + std::string(200, 'x'), "at most"},
      {std::string(300, 'x') + ":1", "too long"},
  };
  for (const auto& [text, says] : cases) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().exit, Exit::Usage) << text;
    EXPECT_TRUE(address.error().message.contains(says)) << text << address.error().message;
  }
}

TEST(Addresses, SeveralAreSeparatedByCommasAndOfOneSort) {
  EXPECT_EQ(parse_addresses("ctl-1").value().text, "ctl-1:7443");
  EXPECT_EQ(parse_addresses("ctl-1,[::1]:80,10.0.0.1:1").value().text,
            "ctl-1:7443,[::1]:80,10.0.0.1:1");
  EXPECT_TRUE(parse_addresses("unix:/a,unix:/b").value().is_unix);
  std::string many = "a";
  for (int i = 0; i < 15; ++i) many += ",a";
  EXPECT_TRUE(parse_addresses(many));
  for (const std::string& bad :
       {std::string("a,,b"), std::string("a,"), std::string(",a"), std::string(""),
        std::string("a,unix:/b"), std::string("a b,c"), many + ",a"}) {
    EXPECT_EQ(parse_addresses(bad).error().exit, Exit::Usage) << bad;
  }
}

}  // namespace
}  // namespace holdfast::cli
