#include "probe/registry.h"

#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::probe {
namespace {

using namespace std::chrono_literals;

Probe registry_http(std::string path) {
  return {.action = HttpGet{.path = std::move(path)}, .port = 8080};
}

TEST(Registry, OnlyWhatIsRegisteredIsFound) {
  Registry registry;
  ASSERT_EQ(*registry.add(registry_http("/healthz")), "/8080/healthz");

  ASSERT_NE(registry.find("/8080/healthz"), nullptr);
  EXPECT_EQ(*registry.find("/8080/healthz"), registry_http("/healthz"));
  for (const char* other : {"",
                            "/",
                            "/8080",
                            "/8080/",
                            "/8080/healthz/",
                            "/8080/healthz?",
                            "/8080//healthz",
                            "/08080/healthz",
                            "/8081/healthz",
                            "/8080/./healthz",
                            "/8080/health%7A",
                            "8080/healthz",
                            "/8080/HEALTHZ",
                            "/tcp/8080",
                            "/grpc/8080",
                            "/hook/8080/healthz",
                            "/8080~1/healthz",
                            "/8080~2/healthz",
                            "http://a/8080/healthz",
                            "/8080/healthz#x",
                            "/8080/healthz\n"}) {
    EXPECT_EQ(registry.find(other), nullptr) << other;
  }
}

TEST(Registry, TheQueryBelongsToThePath) {
  Registry registry;
  ASSERT_EQ(*registry.add(registry_http("/healthz?full=1")), "/8080/healthz?full=1");

  EXPECT_NE(registry.find("/8080/healthz?full=1"), nullptr);
  EXPECT_EQ(registry.find("/8080/healthz"), nullptr);
  EXPECT_EQ(registry.find("/8080/healthz?full=2"), nullptr);
}

TEST(Registry, AnEqualProbeKeepsItsPathAndADifferentOneGetsANumber) {
  Registry registry;
  Probe slower = registry_http("/healthz");
  slower.timeout = 5s;
  Probe tls = registry_http("/healthz");
  std::get<HttpGet>(tls.action).tls = true;

  EXPECT_EQ(*registry.add(registry_http("/healthz")), "/8080/healthz");
  EXPECT_EQ(*registry.add(slower), "/8080~2/healthz");
  EXPECT_EQ(*registry.add(tls), "/8080~3/healthz");
  EXPECT_EQ(*registry.add(slower), "/8080~2/healthz");
  EXPECT_EQ(*registry.add(registry_http("/healthz")), "/8080/healthz");

  ASSERT_EQ(registry.probes().size(), 3);
  EXPECT_EQ(registry.path(1), "/8080~2/healthz");
  EXPECT_EQ(*registry.find("/8080~2/healthz"), slower);
  EXPECT_EQ(*registry.find("/8080~3/healthz"), tls);
}

TEST(Registry, AFullRegistryRefusesNewProbesOnly) {
  Registry registry;
  for (size_t i = 0; i < kMaxProbes; ++i) {
    ASSERT_TRUE(registry.add(registry_http("/" + std::to_string(i))).ok());
  }

  EXPECT_EQ(registry.add(registry_http("/more")).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(split_reason(registry.add(registry_http("/more")).status()).code, "HF7011");
  EXPECT_EQ(*registry.add(registry_http("/7")), "/8080/7");
}

TEST(Registry, WhatCannotBeSentIsNotTaken) {
  Registry registry;
  Probe no_port = registry_http("/");
  no_port.port = 0;
  Probe newline = registry_http("/a\nb");
  Probe header = registry_http("/");
  std::get<HttpGet>(header.action).headers = {{"X-A", "b\r\nX-C: d"}};
  Probe name = registry_http("/");
  std::get<HttpGet>(name.action).headers = {{"X A", "b"}};
  Probe host = registry_http("/");
  host.host = "a b";
  const Probe brackets = {.action = TcpSocket{}, .port = 1, .host = "[::1]"};  // fails at a kubelet
  const Probe text = {.action = Grpc{.service = "\xff"}, .port = 1};
  const Probe hook = {.action = TcpSocket{}, .port = 1, .hook = true};
  Probe both = registry_http("/");
  std::get<HttpGet>(both.action).tls = true;
  std::get<HttpGet>(both.action).h2c = true;

  for (const Probe& probe : {no_port, newline, header, name, host, brackets, text, hook, both}) {
    const Status refused = registry.add(probe).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_EQ(split_reason(refused).code, "HF7010") << refused;
  }
  EXPECT_TRUE(registry.probes().empty());
}

}  // namespace
}  // namespace holdfast::probe
