#include "probe/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::probe {
namespace {

using testing::ElementsAre;
using testing::Pair;

Registry registry_of(const std::vector<Probe>& probes) {
  Registry registry;
  for (const Probe& probe : probes) {
    const Result<std::string> path = registry.add(probe);
    EXPECT_TRUE(path.ok()) << path.status();
  }
  return registry;
}

net::HttpRequest asking(std::string method, std::string target) {
  net::HttpRequest request;
  request.method = std::move(method);
  request.raw_target = std::move(target);
  return request;
}

const Probe kWeb{.action = HttpGet{.path = "/a//b?x=1"}, .port = 8080};

TEST(Answer, ARegisteredPathIsItsProbe) {
  const Registry registry = registry_of({kWeb, {.action = TcpSocket{}, .port = 6379}});

  const auto found = look_up(registry, asking("GET", "/8080/a//b?x=1"));

  ASSERT_TRUE(found);
  EXPECT_EQ(**found, kWeb);
  EXPECT_EQ((*look_up(registry, asking("GET", "/tcp/6379")))->port, 6379);
}

TEST(Answer, WhatIsNearlyARegisteredPathIsNotFound) {
  const Registry registry = registry_of({kWeb, {.action = TcpSocket{}, .port = 6379}});

  for (const std::string target : {"/8080/a/b?x=1",
                                   "/8080/a//b",
                                   "/8080/a//b?x=1&y=2",
                                   "/8080/a//b?x=1#",
                                   "/8080/a//b/../b?x=1",
                                   "/8080/a/%2Fb?x=1",
                                   "/08080/a//b?x=1",
                                   "//8080/a//b?x=1",
                                   "/8080/A//b?x=1",
                                   "/tcp/6380",
                                   "/tcp/6379/",
                                   "/tcp/06379",
                                   "/TCP/6379",
                                   "http://127.0.0.1:9000/tcp/6379",
                                   "http://10.0.0.1/8080/a//b?x=1",
                                   "/",
                                   "*",
                                   "",
                                   "tcp/6379",
                                   "/tcp/6379?",
                                   "/healthz/",
                                   "/healthz?x",
                                   "/tcp/6379%00",
                                   "/hook/8080/a//b?x=1",
                                   "/grpc/6379"}) {
    const auto found = look_up(registry, asking("GET", target));
    ASSERT_FALSE(found) << target;
    EXPECT_EQ(found.error().status, 404) << target;
  }
}

TEST(Answer, OtherMethodsThanGetAreRefusedWithTheOneThatIsAllowed) {
  const Registry registry = registry_of({kWeb});

  for (const std::string method : {"HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get"}) {
    for (const std::string target : {"/8080/a//b?x=1", "/healthz"}) {
      const auto found = look_up(registry, asking(method, target));
      ASSERT_FALSE(found) << method;
      EXPECT_EQ(found.error().status, 405) << method;
      EXPECT_THAT(found.error().headers, ElementsAre(Pair("Allow", "GET")));
    }
  }
}

TEST(Answer, TheHandlersOwnHealthIsNoProbe) {
  const auto found = look_up(Registry(), asking("GET", "/healthz"));

  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().status, 200);
}

TEST(Answer, AnOutcomeIs200Or503WithTheApplicationsOwnCode) {
  const net::HttpResponse healthy =
      to_response(kWeb, {.healthy = true, .code = 204, .reason = "HTTP 204"});
  const net::HttpResponse failed = to_response(kWeb, {.code = 418, .reason = "HTTP 418"});
  const net::HttpResponse error = to_response(kWeb, {.error = true, .reason = "body cut"});

  EXPECT_EQ(healthy.status, 200);
  EXPECT_EQ(healthy.body, "HTTP 204\n");
  EXPECT_THAT(healthy.headers, ElementsAre(Pair("Holdfast-Probe-Status", "204")));
  EXPECT_EQ(failed.status, 503);
  EXPECT_THAT(failed.headers, ElementsAre(Pair("Holdfast-Probe-Status", "418")));
  EXPECT_EQ(error.status, 503);
  EXPECT_THAT(error.headers, ElementsAre(Pair("Holdfast-Probe-Status", "0")));
}

TEST(Answer, WhatAGrpcServerSaidIsToldApartFromHowTheCallWent) {
  const Probe probe{.action = Grpc{}, .port = 9090};
  const auto status = [&](const Outcome& outcome) {
    return to_response(probe, outcome).headers.at(0).second;
  };

  EXPECT_EQ(status({.healthy = true, .code = 1, .code_of = CodeOf::GrpcHealth}), "SERVING");
  EXPECT_EQ(status({.code = 0, .code_of = CodeOf::GrpcHealth}), "UNKNOWN");
  EXPECT_EQ(status({.code = 2, .code_of = CodeOf::GrpcHealth}), "NOT_SERVING");
  EXPECT_EQ(status({.code = 9, .code_of = CodeOf::GrpcHealth}), "health-status 9");
  EXPECT_EQ(status({.code = 14, .code_of = CodeOf::GrpcCall}), "grpc-status 14");
  EXPECT_EQ(status({.reason = "HF7001: connection refused"}), "0");
}

TEST(Answer, RefusalsBeginWithTheirCode) {
  const Registry registry = registry_of({kWeb});

  EXPECT_EQ(look_up(registry, asking("GET", "/x")).error().body,
            "HF7050: no probe is registered at this path\n");
  EXPECT_EQ(look_up(registry, asking("PUT", "/8080/a//b?x=1")).error().body,
            "HF7051: probes are asked for with GET\n");
}

TEST(Answer, AReasonIsOneLineOfBoundedLength) {
  const std::string reason = "a\r\nInjected: b\n" + std::string(10'000, 'x');

  const net::HttpResponse response = to_response(kWeb, {.reason = reason});

  EXPECT_TRUE(response.body.starts_with("a  Injected: b xxx"));
  EXPECT_EQ(response.body.find('\n'), response.body.size() - 1);
  EXPECT_EQ(response.body.size(), 513u);
}

TEST(Answer, AHookThatFailedIsNotAnswered) {
  Probe hook = kWeb;
  hook.hook = true;

  EXPECT_TRUE(to_response(hook, {.reason = "refused"}).reset);
  EXPECT_FALSE(to_response(hook, {.healthy = true, .code = 500, .reason = "HTTP 500"}).reset);
  EXPECT_EQ(to_response(hook, {.healthy = true, .code = 500, .reason = "HTTP 500"}).status, 200);
  EXPECT_FALSE(to_response(kWeb, {.reason = "refused"}).reset);
}

TEST(Answer, EachKindHasAName) {
  Probe hook = kWeb;
  hook.hook = true;

  EXPECT_EQ(kind_text(kWeb), "http");
  EXPECT_EQ(kind_text(hook), "hook");
  EXPECT_EQ(kind_text({.action = TcpSocket{}, .port = 1}), "tcp");
  EXPECT_EQ(kind_text({.action = Grpc{}, .port = 1}), "grpc");
}

}  // namespace
}  // namespace holdfast::probe
