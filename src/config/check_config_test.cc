#include "config/check_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/load.h"

namespace holdfast::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using Kind = CheckConfig::Kind;

Sources checks_from_file(std::string checks) {
  return {.file_path = "holdfast.yaml",
          .file_text =
              "agent:\n  services: [web=127.0.0.1:8080, api/admin=app:90, "
              "\"db=unix:/run/pg.sock\"]\n  checks: " +
              std::move(checks) + "\n",
          .environment = {},
          .flags = {},
          .machine = {{"node.data_dir", "/var/lib/holdfast"}},
          .role = Role::Agent};
}

std::string problems(const std::string& checks) {
  const Sources sources = checks_from_file(checks);
  return problems_text(check(sources).problems, sources.file_text);
}

TEST(CheckConfig, SaysHowEachServiceIsChecked) {
  const auto loaded = load(checks_from_file(R"(
    web:
      http: {path: "/ready?full=1", scheme: https, headers: {Host: shop, X-Probe: "a, b"}}
      port: 8443
      initial_delay: 30s
      period: 2s
      timeout: 500ms
      failure_threshold: 5
      success_threshold: 2
    api/admin: {grpc: {service: shop.Cart, tls: true}}
    db: {tcp: , port: 5432}
)"));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const CheckConfigs& checks = loaded->config.agent.checks;
  ASSERT_EQ(checks.size(), 3u);
  const CheckConfig& web = checks.at("web");
  EXPECT_EQ(web.kind, Kind::Http);
  EXPECT_EQ(web.path, "/ready?full=1");
  EXPECT_TRUE(web.tls);
  EXPECT_THAT(web.headers, ElementsAre(Pair("Host", "shop"), Pair("X-Probe", "a, b")));
  EXPECT_EQ(web.port, 8443);
  EXPECT_EQ(web.initial_delay, 30s);
  EXPECT_EQ(web.period, 2s);
  EXPECT_EQ(web.timeout, 500ms);
  EXPECT_EQ(web.failure_threshold, 5u);
  EXPECT_EQ(web.success_threshold, 2u);
  EXPECT_EQ(checks.at("api/admin"),
            (CheckConfig{.kind = Kind::Grpc, .service = "shop.Cart", .tls = true}));
  EXPECT_EQ(checks.at("db"), (CheckConfig{.kind = Kind::Tcp, .port = 5432}));
}

TEST(CheckConfig, AKindAloneIsEnough) {
  const auto loaded = load(checks_from_file("{web: http, api/admin: tcp}"));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config.agent.checks.at("web"), (CheckConfig{.kind = Kind::Http}));
  EXPECT_EQ(loaded->config.agent.checks.at("api/admin"), (CheckConfig{.kind = Kind::Tcp}));
}

TEST(CheckConfig, APathAloneIsAnHttpCheck) {
  const auto loaded = load(checks_from_file("{web: {http: /healthz}}"));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config.agent.checks.at("web").path, "/healthz");
}

TEST(CheckConfig, WithoutAnyNothingIsChecked) {
  for (const char* none : {"", "{}", "\"\""}) {
    const auto loaded = load(checks_from_file(none));
    ASSERT_TRUE(loaded.ok()) << none << loaded.status();
    EXPECT_THAT(loaded->config.agent.checks, IsEmpty());
  }
}

TEST(CheckConfig, TheEnvironmentHasItAsJson) {
  Sources sources = checks_from_file("");
  sources.environment["HOLDFAST_AGENT_CHECKS"] =
      R"({"web":{"http":{"path":"/ok","headers":{"A":"b"}},"period":"2s","port":81}})";

  const auto loaded = load(sources);

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(
      loaded->config.agent.checks.at("web"),
      (CheckConfig{
          .kind = Kind::Http, .path = "/ok", .headers = {{"A", "b"}}, .port = 81, .period = 2s}));
}

TEST(CheckConfig, WhatIsPrintedReadsBackTheSame) {
  for (const char* json :
       {R"({"a":{"tcp":{}}})",
        R"({"a":{"http":{"path":"/x","scheme":"https","headers":{"b":"c \"d\"","A":""}},"port":1,)"
        R"("initial_delay":"1s","period":"10ms","timeout":"1m","failure_threshold":9,)"
        R"("success_threshold":8}})",
        R"({"a":{"grpc":{}},"b/c":{"grpc":{"service":"x.Y","tls":true}}})"}) {
    const CheckConfigsReading reading = parse_checks(json);
    EXPECT_THAT(reading.errors, IsEmpty()) << json;
    EXPECT_EQ(checks_json(reading.checks), json);
  }
}

TEST(CheckConfig, MistakesAreShownWithTheirPlaceAndWhatWouldBeRight) {
  EXPECT_THAT(problems("{web: {htp: /}}"),
              HasSubstr("holdfast.yaml:3:18: error HF6004: agent.checks: web.htp: unknown field; "
                        "did you mean \"http\"?"));
  EXPECT_THAT(problems("{web: udp}"),
              HasSubstr("\"udp\" is no kind of check; use http, tcp or grpc"));
  EXPECT_THAT(problems("{web: {period: 1s}}"), HasSubstr("must name one of http, tcp and grpc"));
  EXPECT_THAT(problems("{web: {tcp: , http: }}"), HasSubstr("must name one of"));
  EXPECT_THAT(problems("{web: }"), HasSubstr("agent.checks: web: must be a mapping"));
  EXPECT_THAT(problems("[web]"), HasSubstr("must be a mapping from services to checks"));
  EXPECT_THAT(problems("{web: {http: healthz}}"), HasSubstr("\"healthz\" is no path"));
  EXPECT_THAT(problems("{web: {http: \"/a b\"}}"), HasSubstr("is no path"));
  EXPECT_THAT(problems("{web: {http: {scheme: ftp}}}"), HasSubstr("use http or https"));
  EXPECT_THAT(problems("{web: {http: {headers: {\"a b\": c}}}}"),
              HasSubstr("\"a b\" is not a header's name"));
  EXPECT_THAT(problems("{web: {http: {headers: {a: \"b\\r\\nc: d\"}}}}"),
              HasSubstr("does not belong in a header"));
  EXPECT_THAT(problems("{web: {http: {headers: [a]}}}"), HasSubstr("from names to values"));
  EXPECT_THAT(problems("{web: {tcp: {path: /}}}"), HasSubstr("web.tcp.path: unknown field"));
  EXPECT_THAT(problems("{web: {grpc: {tls: yes}}}"), HasSubstr("use true or false"));
  EXPECT_THAT(problems("{\"a b\": tcp}"), HasSubstr("\"a b\" is not SERVICE[/PORT]"));
}

TEST(CheckConfig, AllMistakesAreShownAtOnceAlsoThoseThatNeedTheServices) {
  const std::string all = problems(R"(
    web: {http: healthz, period: soon, timeout: 2s}
    shop: tcp
    db: {tcp: }
    "a b": udp
    api/admin: {grpc: {tls: maybe}, port: 0}
)");

  EXPECT_THAT(all, HasSubstr("\"healthz\" is no path"));
  EXPECT_THAT(all, HasSubstr("\"soon\" is not a duration"));
  EXPECT_THAT(all, HasSubstr("agent.checks has shop, which agent.services does not expose"));
  EXPECT_THAT(all, HasSubstr("agent.checks has db, whose target is a unix socket"));
  EXPECT_THAT(all, HasSubstr("\"a b\" is not SERVICE[/PORT]"));
  EXPECT_THAT(all, HasSubstr("\"udp\" is no kind of check"));
  EXPECT_THAT(all, HasSubstr("use true or false"));
  EXPECT_THAT(all, HasSubstr("\"0\" is not a whole number from 1 to 65535"));
  EXPECT_THAT(all, HasSubstr("\n8 errors\n")) << all;
}

TEST(CheckConfig, NumbersAndTimesHaveLimits) {
  for (const char* bad :
       {"port: 0", "port: 65536", "port: web", "failure_threshold: 0", "success_threshold: -1",
        "failure_threshold: 1001", "period: 0s", "period: 9ms", "period: 2h", "timeout: 0s",
        "timeout: soon", "period: -1s", "initial_delay: 61m", "period: 300000d", "period: []"}) {
    EXPECT_THAT(problems(std::string("{web: {tcp: , ") + bad + "}}"), HasSubstr("error HF60"))
        << bad;
  }
  EXPECT_EQ(problems("{web: {tcp: , port: 65535, period: 10ms, timeout: 10ms, initial_delay: 0s, "
                     "failure_threshold: 1000}}"),
            "");
}

TEST(CheckConfig, OnlyWhatIsExposedIsChecked) {
  EXPECT_THAT(problems("{shop: tcp}"),
              HasSubstr("agent.checks has shop, which agent.services does not expose"));
  EXPECT_THAT(problems("{api: tcp}"), HasSubstr("agent.checks has api, which"));
}

TEST(CheckConfig, AUnixSocketIsCheckedByAPortBesideIt) {
  EXPECT_THAT(problems("{db: tcp}"), HasSubstr("whose target is a unix socket"));
  EXPECT_EQ(problems("{db: {tcp: , port: 5432}}"), "");
}

TEST(CheckConfig, ATimeoutBeyondThePeriodIsDoubted) {
  EXPECT_THAT(problems("{web: {tcp: , timeout: 6s}}"),
              HasSubstr("the timeout 6s of web is longer than its period 5s"));
}

TEST(CheckConfig, TheHandlerInsideTheAgentHasAPortOfItsOwn) {
  Sources sources = checks_from_file("");
  EXPECT_EQ(load(sources)->config.agent.probe_listen, "") << "there is none unless it is asked for";
  sources.file_text =
      "agent: {probe_listen: 0.0.0.0:9000}\nnode: {health_listen: 127.0.0.1:9000}\n";

  EXPECT_THAT(problems_text(check(sources).problems, sources.file_text),
              HasSubstr("node.health_listen 127.0.0.1:9000 is also taken by agent.probe_listen"));
}

TEST(CheckConfig, ChecksAreLive) {
  const auto before = load(checks_from_file("{web: tcp}"));
  const auto after = load(checks_from_file("{web: http}"));
  ASSERT_TRUE(before.ok() && after.ok());

  EXPECT_THAT(changes(*before, *after).live, ElementsAre("agent.checks"));
}

TEST(CheckConfig, TheListOfTheHandlerInsideTheAgentIsLive) {
  Sources sources = checks_from_file("");
  const auto before = load(sources);
  sources.file_text += "probe: {registry_file: /etc/probes.json}\n";
  const auto after = load(sources);
  ASSERT_TRUE(before.ok() && after.ok());

  EXPECT_THAT(changes(*before, *after).live, ElementsAre("probe.registry_file"));
}

}  // namespace
}  // namespace holdfast::config
