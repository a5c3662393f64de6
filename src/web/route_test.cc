#include "web/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::web {
namespace {

using Segments = std::vector<std::string>;

Route route_of(std::string_view method, const Segments& segments) {
  const auto found = find_route(method, segments, Served::Everything);
  EXPECT_TRUE(found.has_value()) << method << " " << testing::PrintToString(segments);
  return found.value_or(Route{});
}

int refused_with(std::string_view method, const Segments& segments,
                 Served served = Served::Everything) {
  const auto found = find_route(method, segments, served);
  return found ? 0 : found.error().status;
}

TEST(Route, HealthAndMetricsHaveOneNameEach) {
  EXPECT_EQ(route_of("GET", {"livez"}).endpoint, Endpoint::Live);
  EXPECT_EQ(route_of("GET", {"healthz"}).endpoint, Endpoint::Live);
  EXPECT_EQ(route_of("GET", {"readyz"}).endpoint, Endpoint::Ready);
  EXPECT_EQ(route_of("HEAD", {"metrics"}).endpoint, Endpoint::Metrics);
  EXPECT_EQ(route_of("GET", {"readyz", "store"}),
            (Route{.endpoint = Endpoint::ReadyComponent, .name = "store"}));
}

TEST(Route, ResourcesAreFoundByAnySpellingOfTheirKind) {
  EXPECT_EQ(route_of("GET", {"v1", "services"}), (Route{Endpoint::List, "service", ""}));
  EXPECT_EQ(route_of("POST", {"v1", "networking-config"}),
            (Route{Endpoint::Create, "networking_config", ""}));
  EXPECT_EQ(route_of("GET", {"v1", "svc", "web"}), (Route{Endpoint::Get, "service", "web"}));
  EXPECT_EQ(route_of("PUT", {"v1", "service", "web"}), (Route{Endpoint::Put, "service", "web"}));
  EXPECT_EQ(route_of("DELETE", {"v1", "service", "web"}),
            (Route{Endpoint::Delete, "service", "web"}));
}

TEST(Route, CallsThatAreNotAboutAKind) {
  EXPECT_EQ(route_of("GET", {"v1", "watch"}).endpoint, Endpoint::Watch);
  EXPECT_EQ(route_of("GET", {"v1", "status"}).endpoint, Endpoint::Status);
  EXPECT_EQ(route_of("GET", {"v1", "whoami"}).endpoint, Endpoint::WhoAmI);
  EXPECT_EQ(route_of("GET", {"v1", "service-config"}).endpoint, Endpoint::ServiceConfig);
  EXPECT_EQ(route_of("GET", {"v1", "load"}).endpoint, Endpoint::Load);
  EXPECT_EQ(route_of("GET", {"v1", "caches"}).endpoint, Endpoint::Caches);
  EXPECT_EQ(route_of("GET", {"v1", "tunnels"}).endpoint, Endpoint::Tunnels);
  EXPECT_EQ(route_of("GET", {"v1", "drain"}).endpoint, Endpoint::Drain);
  EXPECT_EQ(route_of("POST", {"v1", "drain"}).endpoint, Endpoint::Drain);
}

TEST(Route, WhatIsNotThereIs404) {
  for (const Segments& segments :
       {Segments{}, Segments{"v2"}, Segments{"v1"}, Segments{"livez", "x"},
        Segments{"readyz", "a", "b"}, Segments{"v1", "sevrice"}, Segments{"v1", "watch", "x"},
        Segments{"v1", "service", "a", "b"}, Segments{"LIVEZ"}}) {
    EXPECT_EQ(refused_with("GET", segments), 404) << testing::PrintToString(segments);
  }
}

TEST(Route, AWrongMethodIs405AndSaysWhichAreRight) {
  const auto found = find_route("PATCH", {"v1", "service", "web"}, Served::Everything);

  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().status, 405);
  EXPECT_THAT(found.error().headers,
              testing::Contains(testing::Pair("Allow", "GET, HEAD, PUT, DELETE")));
  for (const std::string_view method : {"POST", "get", "", "OPTIONS", "CONNECT", "TRACE"}) {
    EXPECT_EQ(refused_with(method, {"readyz"}), 405) << method;
  }
}

TEST(Route, TheApiIsNotThereWhereNobodyCanBeToldApart) {
  EXPECT_EQ(refused_with("GET", {"v1", "service"}, Served::HealthOnly), 404);
  EXPECT_EQ(refused_with("GET", {"v1", "status"}, Served::HealthOnly), 404);
  EXPECT_EQ(refused_with("GET", {"readyz"}, Served::HealthOnly), 0);
}

}  // namespace
}  // namespace holdfast::web
