#include "config/relations.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/reason.h"

namespace holdfast::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string relation_problems(const std::string& yaml) {
  const Sources sources = {.file_path = "f",
                           .file_text = yaml,
                           .environment = {},
                           .flags = {},
                           .machine = {{"controller.name", "n"}, {"controller.data_dir", "/d"}}};
  return problems_text(check(sources).problems, "");
}

TEST(Relations, TheLongestTtlIsNotShorterThanTheShortest) {
  EXPECT_EQ(relation_problems("presence: {agent_max_ttl: 30s}"),
            "f:1:12: error HF6010: presence.agent_max_ttl 30s is less than presence.agent_ttl 1m; "
            "use as much or more\n");
  EXPECT_EQ(relation_problems("presence: {agent_max_ttl: 60s}"), "");
}

TEST(Relations, NodesAreNotForgottenBeforeTheyAreOffline) {
  EXPECT_THAT(relation_problems("presence: {keep_offline: 5m}"),
              HasSubstr("presence.keep_offline 5m would forget nodes before "
                        "presence.agent_max_ttl 6m calls them offline"));
  EXPECT_THAT(relation_problems("presence: {keep_offline: 6m}"), Not(HasSubstr("error")));
}

TEST(Relations, AHungControllerIsFoundOutWithinSixSecondsOrThereIsAWarning) {
  EXPECT_THAT(relation_problems("presence: {controller_ttl: 7s}"),
              AllOf(HasSubstr("f:1:12: warning HF6010: "), HasSubstr("only after 6s200ms")));
  EXPECT_EQ(relation_problems("presence: {controller_ttl: 4s}"), "");
}

TEST(Relations, AHeartbeatEndsBeforeItsTtl) {
  EXPECT_THAT(relation_problems("health: {heartbeat_write_timeout: 5s}"),
              HasSubstr("error HF6010: health.heartbeat_write_timeout 5s must be less than "
                        "presence.controller_ttl 5s"));
}

TEST(Relations, CertificatesOutliveSeveralAnnouncements) {
  EXPECT_THAT(relation_problems("identity: {node_certificate_ttl: 1m}"),
              HasSubstr("warning HF6010"));
  EXPECT_EQ(relation_problems("identity: {node_certificate_ttl: 18m}"), "");
}

TEST(Relations, ANodeIsRememberedAsLongAsItsCertificateLives) {
  EXPECT_THAT(relation_problems("presence: {keep_offline: 1h}"),
              HasSubstr("warning HF6010: presence.keep_offline 1h is shorter than "
                        "identity.node_certificate_ttl 24h"));
  EXPECT_EQ(
      relation_problems("{presence: {keep_offline: 1h}, identity: {node_certificate_ttl: 1h}}"),
      "");
}

TEST(Relations, ListenersDoNotShareAPort) {
  EXPECT_THAT(relation_problems("controller: {http: {listen: 127.0.0.1:7443}}"),
              HasSubstr("controller.http.listen 127.0.0.1:7443 is also taken by controller.listen "
                        "127.0.0.1:7443"));
  EXPECT_THAT(relation_problems("controller: {hosts: [a], listen: [0.0.0.0:7444]}"),
              HasSubstr("is also taken by controller.listen 0.0.0.0:7444"));
  EXPECT_THAT(relation_problems("controller: {hosts: [a], listen: [\"[::]:7444\"]}"),
              HasSubstr("is also taken by"));
  EXPECT_EQ(relation_problems("controller: {hosts: [a], listen: [0.0.0.0:1, \"[::1]:1\"]}"), "");
  EXPECT_EQ(relation_problems("controller: {listen: [127.0.0.1:0], http: {listen: 127.0.0.1:0}}"),
            "");
}

TEST(Relations, AListenerThatOthersReachNeedsNames) {
  EXPECT_THAT(relation_problems("controller: {listen: [0.0.0.0:7443]}"),
              HasSubstr("f:1:14: error HF6010: controller.listen 0.0.0.0:7443 can be reached"));
  EXPECT_THAT(relation_problems("controller: {http: {listen: \"[fd00::7]:7444\"}}"),
              HasSubstr("controller.hosts is empty"));
  EXPECT_EQ(relation_problems("controller: {listen: [\"[::1]:7443\"]}"), "");
  EXPECT_EQ(relation_problems("controller: {listen: [0.0.0.0:7443], hosts: [ctl-1.example]}"), "");
}

TEST(Relations, OpenHealthIsAWarning) {
  EXPECT_THAT(relation_problems("controller: {http: {health_listen: 0.0.0.0:7480}}"),
              HasSubstr("warning HF6010: controller.http.health_listen 0.0.0.0:7480 shows"));
}

TEST(Relations, EtcdNeedsEndpointsAndWholePairs) {
  EXPECT_THAT(relation_problems("store: {type: etcd}"), HasSubstr("needs store.etcd.endpoints"));
  EXPECT_THAT(relation_problems("store: {etcd: {endpoints: [a:1]}}"),
              HasSubstr("warning HF6010: store.etcd.endpoints has no effect"));
  const std::string etcd = "store: {type: etcd, etcd: {endpoints: [a:1], ";
  EXPECT_THAT(relation_problems(etcd + "certificate: c, ca: x}}"),
              HasSubstr("needs store.etcd.key"));
  EXPECT_THAT(relation_problems(etcd + "key: k}}"), HasSubstr("needs store.etcd.certificate"));
  EXPECT_THAT(relation_problems(etcd + "username: u}}"),
              HasSubstr("needs store.etcd.password_file"));
  EXPECT_THAT(relation_problems(etcd + "password_file: p}}"),
              HasSubstr("needs store.etcd.username"));
  EXPECT_EQ(
      relation_problems(etcd + "ca: x, certificate: c, key: k, username: u, password_file: p}}"),
      "");
}

TEST(Relations, AServerThatIsToldAboutLoadIsVerifiedUnlessItIsHere) {
  EXPECT_EQ(relation_problems("load: {lrs_server: \"127.0.0.1:18000\"}"), "");
  EXPECT_EQ(relation_problems("load: {lrs_server: \"[::1]:18000\"}"), "");
  EXPECT_EQ(relation_problems("load: {lrs_server: \"localhost:18000\"}"), "");
  EXPECT_EQ(relation_problems("load: {lrs_server: \"xds:18000\", lrs_ca: c}"), "");
  for (const char* server : {"xds:18000", "127.xds.example:1", "10.0.0.7:1"}) {
    EXPECT_THAT(relation_problems(fmt::format("load: {{lrs_server: \"{}\"}}", server)),
                HasSubstr("load.lrs_server needs load.lrs_ca"));
  }
  EXPECT_THAT(relation_problems("load: {lrs_ca: c}"),
              HasSubstr("load.lrs_ca needs load.lrs_server"));
  const std::string here = "load: {lrs_server: \"127.0.0.1:18000\", ";
  EXPECT_EQ(relation_problems(here + "lrs_ca: c, lrs_certificate: x, lrs_key: k}"), "");
  EXPECT_THAT(relation_problems(here + "lrs_ca: c, lrs_certificate: x}"),
              HasSubstr("load.lrs_certificate needs load.lrs_key"));
  EXPECT_THAT(relation_problems(here + "lrs_ca: c, lrs_key: k}"),
              HasSubstr("load.lrs_key needs load.lrs_certificate"));
  EXPECT_THAT(relation_problems(here + "lrs_certificate: x, lrs_key: k}"),
              HasSubstr("load.lrs_certificate needs load.lrs_ca"));
}

TEST(Relations, AHalfOfAPairKnowsWhichOneItIsAndWhoTheOtherIs) {
  EXPECT_EQ(relation_problems("ha: {role: backup, peer: \"b:1\", witness: \"w:1\"}"), "");
  EXPECT_EQ(relation_problems("ha: {role: primary, peer: \"b:1\", mode: sync}"), "");
  EXPECT_THAT(relation_problems("ha: {peer: \"b:1\", witness: \"w:1\"}"),
              HasSubstr("ha.peer needs ha.role"));
  EXPECT_THAT(relation_problems("ha: {role: primary}"), HasSubstr("ha.role needs ha.peer"));
  EXPECT_THAT(relation_problems("ha: {role: primary, peer: \"b:1\"}"),
              HasSubstr("ha.mode witness needs ha.witness"));
}

TEST(Relations, APairHasAFileEachAndAPortThatStays) {
  const std::string ha = "ha: {role: primary, peer: \"b:1\", mode: sync}\n";
  EXPECT_THAT(relation_problems(ha + "store: {type: memory}"),
              HasSubstr("for store.type sqlite, not memory"));
  EXPECT_THAT(relation_problems(ha + "store: {type: etcd, etcd: {endpoints: [a:1]}}"),
              HasSubstr("with etcd run several controllers"));
  EXPECT_THAT(relation_problems(ha + "controller: {listen: [\"127.0.0.1:0\"]}"),
              HasSubstr("a port in controller.listen that is always the same"));
}

TEST(Relations, APairAndItsWitnessAreThreeProcesses) {
  const auto of = [](const std::string& peer, const std::string& witness) {
    return relation_problems(
        fmt::format("ha: {{role: primary, peer: \"{}\", witness: \"{}\"}}\n"
                    "controller: {{listen: [\"0.0.0.0:7443\"], hosts: [a.example]}}",
                    peer, witness));
  };
  EXPECT_EQ(of("b.example:7443", "w.example:7461"), "");
  EXPECT_EQ(of("b.example:7443", "b.example:7461"), "") << "beside the other half";
  for (const char* own : {"a.example:7443", "127.0.0.1:7443", "localhost:7443"}) {
    EXPECT_THAT(of(own, "w:1"), HasSubstr("error HF6010: ha.peer is " + std::string(own) +
                                          ", which is this controller itself"));
    EXPECT_THAT(of("b.example:7443", own), HasSubstr("error HF6010: ha.witness is"));
  }
  EXPECT_THAT(of("b.example:7443", "b.example:7443"), HasSubstr("which is ha.peer"));
}

TEST(Relations, TheTimesOfAPairAreAskedFor) {
  Sources sources = {.file_path = "f",
                     .file_text = "ha: {role: primary, peer: \"b:1\", mode: sync,\n  lease: 10ms}",
                     .environment = {},
                     .flags = {},
                     .machine = {{"controller.name", "n"}, {"controller.data_dir", "/d"}},
                     .pair_times = [](const HaConfig& ha) {
                       if (ha.lease > std::chrono::milliseconds(10)) return absl::OkStatus();
                       return coded(absl::StatusCode::kInvalidArgument, "HF4110", "too short");
                     }};
  EXPECT_THAT(problems_text(check(sources).problems, ""),
              HasSubstr("f:2:3: error HF4110: too short"));
  sources.role = Role::Agent;
  EXPECT_THAT(problems_text(check(sources).problems, ""), Not(HasSubstr("HF4110")))
      << "not an agent's";
  sources.role = Role::Controller;
  sources.flags["ha.lease"] = "20ms";
  EXPECT_EQ(problems_text(check(sources).problems, ""), "");
}

TEST(Relations, SayNothingAboutAKeyThatIsWrongInItself) {
  EXPECT_THAT(relation_problems("presence: {agent_max_ttl: 5, agent_ttl: 10m, keep_offline: 1s}"),
              Not(HasSubstr("less than")));
}

TEST(Relations, OneConnectionCannotTakeEveryCall) {
  EXPECT_THAT(relation_problems("limits: {calls_in_flight: 100}"),
              HasSubstr("warning HF6010: one connection may open 1024 streams"));
}

}  // namespace
}  // namespace holdfast::config
