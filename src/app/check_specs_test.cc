#include "app/check_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "probe/registry.h"

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using config::CheckConfig;
using Kind = CheckConfig::Kind;

tunnel::TargetTable targets() {
  const std::vector<std::string> lines = {"web=shop.example:8080", "api=[::1]:90",
                                          "api/admin=http://127.0.0.1:91", "db=unix:/run/pg.sock"};
  return tunnel::TargetTable::parse(lines).value();
}

probe::CheckSpec spec_of(const std::string& name, const CheckConfig& check) {
  const auto specs = check_specs({{name, check}}, targets());
  EXPECT_TRUE(specs.ok()) << specs.status();
  return specs.ok() ? specs->at(0) : probe::CheckSpec{};
}

TEST(CheckSpecs, TheTargetIsProbedUnlessAPortIsNamed) {
  const probe::CheckSpec web = spec_of("web", {.kind = Kind::Tcp});
  EXPECT_EQ(web.name, "web");
  EXPECT_EQ(web.service, "web");
  EXPECT_EQ(web.probe,
            (probe::Probe{.action = probe::TcpSocket{}, .port = 8080, .host = "shop.example"}));
  EXPECT_EQ(spec_of("web", {.kind = Kind::Tcp, .port = 81}).probe.port, 81);
  EXPECT_EQ(spec_of("api", {.kind = Kind::Tcp}).probe.host, "::1");
}

TEST(CheckSpecs, ALineOfAPortBelongsToItsService) {
  const probe::CheckSpec admin = spec_of("api/admin", {.kind = Kind::Http});

  EXPECT_EQ(admin.name, "api/admin");
  EXPECT_EQ(admin.service, "api");
  EXPECT_EQ(admin.probe.port, 91);
}

TEST(CheckSpecs, EachKindHasItsSettings) {
  EXPECT_EQ(spec_of("web", {.kind = Kind::Http,
                            .path = "/ready?x",
                            .headers = {{"Host", "a"}, {"B", "c"}},
                            .tls = true})
                .probe.action,
            (std::variant<probe::HttpGet, probe::TcpSocket, probe::Grpc>(probe::HttpGet{
                .path = "/ready?x", .tls = true, .headers = {{"Host", "a"}, {"B", "c"}}})));
  EXPECT_EQ(spec_of("web", {.kind = Kind::Grpc, .service = "shop.Cart", .tls = true}).probe.action,
            (std::variant<probe::HttpGet, probe::TcpSocket, probe::Grpc>(
                probe::Grpc{.service = "shop.Cart", .tls = true})));
}

// So that agent.probe_listen can offer them.
TEST(CheckSpecs, EachKindFitsIntoTheListOfAProbeHandler) {
  probe::Registry registry;
  for (const Kind kind : {Kind::Http, Kind::Tcp, Kind::Grpc}) {
    for (const char* name : {"web", "api", "api/admin"}) {
      const auto path = registry.add(spec_of(name, {.kind = kind}).probe);
      EXPECT_TRUE(path.ok()) << name << path.status();
    }
  }
  EXPECT_EQ(registry.probes().size(), 9u);
}

TEST(CheckSpecs, TimesAndThresholdsArePassedOn) {
  const probe::CheckSpec web = spec_of("web", {.initial_delay = 1s,
                                               .period = 2s,
                                               .timeout = 3s,
                                               .failure_threshold = 4,
                                               .success_threshold = 5});

  EXPECT_EQ(web.probe.timeout, 3s);
  EXPECT_EQ(
      web.times,
      (probe::CheckTimes{
          .initial_delay = 1s, .period = 2s, .failure_threshold = 4, .success_threshold = 5}));
}

TEST(CheckSpecs, TheDefaultsOfBothSidesAreTheSame) {
  EXPECT_EQ(spec_of("web", {}).times, probe::CheckTimes{});
  EXPECT_EQ(spec_of("web", {}).probe.timeout, probe::kDefaultTimeout);
}

TEST(CheckSpecs, AUnixSocketIsCheckedByAPortOfLoopback) {
  EXPECT_EQ(spec_of("db", {.kind = Kind::Tcp, .port = 5432}).probe.host, "127.0.0.1");
}

TEST(CheckSpecs, WhatCannotBeProbedIsRefused) {
  for (const char* name : {"db", "shop", "api/other"}) {
    const auto specs = check_specs({{name, {.kind = Kind::Tcp}}}, targets());
    EXPECT_EQ(specs.ok() ? "" : split_reason(specs.status()).code, "HF2151") << name;
  }
}

}  // namespace
}  // namespace holdfast::app
