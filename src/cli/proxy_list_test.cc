#include "cli/proxy_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using testing::ElementsAre;

v1::Resource proxy(const char* address) {
  v1::Resource resource;
  resource.mutable_proxy()->set_public_address(address);
  return resource;
}

TEST(ProxyList, HasThoseThatCanBeReachedAndThoseBeingDrainedLast) {
  std::vector<v1::Resource> proxies = {proxy("a:1"), proxy("b:1"), proxy(""), proxy("c:1")};
  proxies[0].mutable_proxy()->set_draining(true);
  proxies[3].mutable_proxy()->mutable_announcement()->mutable_offline_since();

  EXPECT_THAT(usable_proxies(proxies), ElementsAre("b:1", "a:1"));
}

TEST(ProxyList, IsReadBackAsItWasWritten) {
  const ProxyList proxies = {"a.example:7453", "[::1]:7453", "10.0.0.1:1"};
  EXPECT_EQ(parse_proxies(to_text(proxies)), proxies);
}

TEST(ProxyList, WhatIsNoAddressIsPassedOver) {
  EXPECT_THAT(parse_proxies("a:1\n\nnot an address\nb:1\r\nc:99999\n d:1\nc:1"),
              ElementsAre("a:1", "c:1"));
}

TEST(ProxyList, TheOneThatWorkedIsTriedFirstAndTheOthersKeepTheirOrder) {
  ProxyList proxies = {"a:1", "b:1", "c:1"};
  put_first(proxies, "c:1");
  EXPECT_THAT(proxies, ElementsAre("c:1", "a:1", "b:1"));
  put_first(proxies, "gone:1");
  EXPECT_THAT(proxies, ElementsAre("c:1", "a:1", "b:1"));
}

}  // namespace
}  // namespace holdfast::cli
