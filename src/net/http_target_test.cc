#include "net/http_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/http_address.h"

namespace holdfast::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(HttpTarget, ThePathBecomesDecodedSegments) {
  const Result<HttpTarget> target = parse_target("/v1/service/web%2D1%20%C3%A9");

  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_THAT(target->segments, ElementsAre("v1", "service", "web-1 \u00e9"));
  EXPECT_THAT(target->query, IsEmpty());
}

TEST(HttpTarget, ASlashAtTheEndIsNoSegmentButIsToldOf) {
  EXPECT_THAT(parse_target("/")->segments, IsEmpty());
  EXPECT_THAT(parse_target("/v1/")->segments, ElementsAre("v1"));
  EXPECT_TRUE(parse_target("/v1/?a=b")->ends_with_slash);
  EXPECT_FALSE(parse_target("/v1?a=b/")->ends_with_slash);
}

TEST(HttpTarget, TheQueryKeepsItsOrderAndRepeatedNames) {
  const Result<HttpTarget> target = parse_target("/v1?label=a%3D1&label=b=2&&verbose&text=x+y%2B");

  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_THAT(target->query, ElementsAre(Pair("label", "a=1"), Pair("label", "b=2"),
                                         Pair("verbose", ""), Pair("text", "x y+")));
}

TEST(HttpTarget, WhatAProxyIsSentLosesItsAuthority) {
  EXPECT_THAT(parse_target("http://controller:1/v1/a")->segments, ElementsAre("v1", "a"));
  EXPECT_FALSE(parse_target("http://controller").ok());
}

TEST(HttpTarget, SegmentsThatCouldLeadElsewhereAreRefused) {
  for (const char* text : {"/a//b", "/../etc", "/a/%2e%2E/b", "/a/./b", "/a%2Fb", "/a%5cb", "//"}) {
    EXPECT_FALSE(parse_target(text).ok()) << text;
  }
}

TEST(HttpTarget, WhatIsNotCleanTextIsRefused) {
  for (const char* text : {"", "*", "v1", "/%", "/%4", "/%zz", "/%00", "/%0a", "/%7f", "/%ff%fe",
                           "/a?x=%", "/a?x=%0d%0aSet-Cookie", "/a?%ff=1"}) {
    EXPECT_FALSE(parse_target(text).ok()) << text;
  }
}

TEST(HttpTarget, DepthAndParametersHaveLimits) {
  const HttpTargetLimits limits{.max_segments = 2, .max_parameters = 2};

  EXPECT_TRUE(parse_target("/a/b?c&d", limits).ok());
  EXPECT_FALSE(parse_target("/a/b/c", limits).ok());
  EXPECT_FALSE(parse_target("/a?b&c&d", limits).ok());
}

TEST(HttpAddress, ReadsWhatItPrints) {
  for (const char* text : {"127.0.0.1:8080", "[::1]:0", "0.0.0.0:65535"}) {
    const Result<ListenAddress> address = parse_listen_address(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(to_text(address->endpoint), text);
  }
  EXPECT_EQ(parse_listen_address("unix:/tmp/a.sock")->socket_file, "/tmp/a.sock");
}

TEST(HttpAddress, RefusesWhatIsNone) {
  for (const std::string text :
       {"", ":", "8080", "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
        "127.0.0.1:8x", "::1:80", "[127.0.0.1]:80", "unix:"}) {
    EXPECT_FALSE(parse_listen_address(text).ok()) << text;
  }
  EXPECT_FALSE(parse_listen_address("unix:/" + std::string(107, 'a')).ok());
}

}  // namespace
}  // namespace holdfast::net
