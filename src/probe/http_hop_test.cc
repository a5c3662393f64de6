#include "probe/http_hop.h"

#include <gtest/gtest.h>

namespace holdfast::probe {
namespace {

Hop start(std::string host = "10.0.0.7") {
  const Probe probe = {.action = HttpGet{.path = "/a/b?q=1"}, .port = 8080};
  return first_hop(probe, std::get<HttpGet>(probe.action), host);
}

// "scheme host port authority target" of where a Location leads.
std::string leads(const Hop& from, std::string_view location) {
  const Result<std::optional<Hop>> next = next_hop(from, location);
  if (!next.ok()) return "no URL";
  if (!next->has_value()) return "elsewhere";
  const Hop& hop = **next;
  return std::string(hop.tls ? "https " : "http ") + hop.host + " " + std::to_string(hop.port) +
         " " + hop.authority + " " + hop.target;
}

TEST(HttpHop, TheFirstGoesToThePodOrTheProbesHost) {
  EXPECT_EQ(start().authority, "10.0.0.7:8080");
  EXPECT_EQ(start("fd00::7").authority, "[fd00::7]:8080");
  EXPECT_EQ(start("fd00::7").host, "fd00::7");
  EXPECT_EQ(start().target, "/a/b?q=1");
  const Probe own = {.action = HttpGet{.tls = true}, .port = 1, .host = "db.local"};
  EXPECT_EQ(first_hop(own, std::get<HttpGet>(own.action), "10.0.0.7").authority, "db.local:1");
  EXPECT_TRUE(first_hop(own, std::get<HttpGet>(own.action), "10.0.0.7").tls);
}

// As Go's url.Parse has it, whose scheme and host the kubelet replaces.
TEST(HttpHop, AHostThatThePathNamesIsLeftOutAndThePodAsked) {
  const std::pair<const char*, const char*> rows[] = {
      {"//healthz", "/"},
      {"//", "/"},
      {"//a/b", "/b"},
      {"//a//b", "//b"},
      {"//a?q=1", "/?q=1"},
      {"//a:80/b?q=//c#d", "/b?q=//c"},
      {"//[::1]:80/b", "/b"},
      {"http://x/y", "/y"},
      {"HTTPS://x:1/y?z", "/y?z"},
      {"http:///y", "/y"},
      {"any:/y", "/y"},
      // Neither a host nor a scheme.
      {"///a/b", "///a/b"},
      {"/a//b", "/a//b"},
      {"/to?u=http://x/y", "/to?u=http://x/y"},
      {"/http://x/y", "/http://x/y"},
      // No URLs.
      {"//a:port/b", "//a:port/b"},
      {"//a/%zz", "//a/%25zz"},
  };
  for (const auto& [path, target] : rows) {
    const Probe probe = {.action = HttpGet{.path = path}, .port = 8080};
    const Hop hop = first_hop(probe, std::get<HttpGet>(probe.action), "10.0.0.7");
    EXPECT_EQ(hop.target, target) << path;
    EXPECT_EQ(hop.authority, "10.0.0.7:8080") << path;
    EXPECT_FALSE(hop.tls) << path;
  }
}

TEST(HttpHop, TheHostHeaderCountsInAnyCaseAndTheFirstOfSeveral) {
  const auto own_host = [](std::vector<Header> headers) {
    const Probe probe = {.action = HttpGet{.headers = std::move(headers)}, .port = 1};
    return first_hop(probe, std::get<HttpGet>(probe.action), "::1").own_host;
  };
  EXPECT_EQ(own_host({}), "");
  EXPECT_EQ(own_host({{"Host", "a"}}), "a");
  EXPECT_EQ(own_host({{"hOST", "a"}}), "a");
  EXPECT_EQ(own_host({{"X", "x"}, {"host", "a"}, {"Host", "b"}}), "a");
}

TEST(HttpHop, RelativeRedirectsAreResolved) {
  const std::string same = "http 10.0.0.7 8080 10.0.0.7:8080 ";
  EXPECT_EQ(leads(start(), "/x"), same + "/x");
  EXPECT_EQ(leads(start(), "x"), same + "/a/x");
  EXPECT_EQ(leads(start(), "../x?y#z"), same + "/x?y");
  EXPECT_EQ(leads(start(), "./"), same + "/a/");
  EXPECT_EQ(leads(start(), ".."), same + "/");
  EXPECT_EQ(leads(start(), "/../../x"), same + "/x");
  EXPECT_EQ(leads(start(), "?r=2"), same + "/a/b?r=2");
  EXPECT_EQ(leads(start(), "#top"), same + "/a/b?q=1");
  EXPECT_EQ(leads(start(), "/a b"), same + "/a%20b");
  EXPECT_EQ(leads(start(), "/a%2Fb//c"), same + "/a%2Fb//c");
  EXPECT_EQ(leads(start(), "/to?u=http://other/"), same + "/to?u=http://other/");
}

TEST(HttpHop, TheSameHostMayHaveAnotherPortOrScheme) {
  EXPECT_EQ(leads(start(), "http://10.0.0.7/x"), "http 10.0.0.7 80 10.0.0.7 /x");
  EXPECT_EQ(leads(start(), "https://10.0.0.7/x"), "https 10.0.0.7 443 10.0.0.7 /x");
  EXPECT_EQ(leads(start(), "HTTPS://10.0.0.7:9/"), "https 10.0.0.7 9 10.0.0.7:9 /");
  EXPECT_EQ(leads(start(), "//10.0.0.7:9"), "http 10.0.0.7 9 10.0.0.7:9 /");
  EXPECT_EQ(leads(start("fd00::7"), "http://[fd00::7]:9/x"), "http fd00::7 9 [fd00::7]:9 /x");
  EXPECT_EQ(leads(start(), "http://user@10.0.0.7:9/"), "http 10.0.0.7 9 10.0.0.7:9 /");
}

TEST(HttpHop, AnotherHostIsElsewhere) {
  for (const char* location :
       {"http://10.0.0.8:8080/", "//10.0.0.8/", "http://localhost/", "https://example.com",
        "http://10.0.0.7.example.com/", "http://10.0.0.7@10.0.0.8/", "mailto:me", "ftp://other/"}) {
    EXPECT_EQ(leads(start(), location), "elsewhere") << location;
  }
  EXPECT_EQ(leads(start("localhost"), "http://127.0.0.1:8080/"), "elsewhere");
  EXPECT_EQ(leads(start("localhost"), "http://LOCALHOST/"), "elsewhere") << "letter for letter";
}

TEST(HttpHop, WhatIsNoUrlFails) {
  for (const char* location : {"http://10.0.0.7:port/", "http://10.0.0.7:99999/", "http://[::1/",
                               "http://10.0.0.7:0/", "ftp://10.0.0.7/", "/a\tb", "http://a b/"}) {
    EXPECT_EQ(leads(start(), location), "no URL") << location;
  }
}

TEST(HttpHop, ARedirectSaysWhereItComesFromUnlessItLeavesTls) {
  Hop secure = start();
  secure.tls = true;
  EXPECT_EQ((*next_hop(start(), "/x"))->referer, "http://10.0.0.7:8080/a/b?q=1");
  EXPECT_EQ((*next_hop(secure, "/x"))->referer, "https://10.0.0.7:8080/a/b?q=1");
  EXPECT_EQ((*next_hop(secure, "http://10.0.0.7/"))->referer, "");
}

}  // namespace
}  // namespace holdfast::probe
