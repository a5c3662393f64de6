// Configuration of agents and proxies: the same file, looked at by another role.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/addresses.h"
#include "config/load.h"
#include "config/node_rules.h"

namespace holdfast::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Sources from_file(Role role, std::string text) {
  return {.file_path = "holdfast.yaml",
          .file_text = std::move(text),
          .environment = {},
          .flags = {},
          .machine = {{"node.data_dir", "/var/lib/holdfast"}},
          .role = role};
}

std::string node_config_all_problems(const Sources& sources) {
  return problems_text(check(sources).problems, sources.file_text);
}

TEST(AgentConfig, AnEmptyFileIsEnough) {
  const auto loaded = load(from_file(Role::Agent, ""));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config.node.data_dir, "/var/lib/holdfast");
  EXPECT_THAT(loaded->config.node.servers, IsEmpty());
  EXPECT_THAT(loaded->config.agent.services, IsEmpty());
  EXPECT_EQ(loaded->config.agent.stop_timeout, 10s);
}

TEST(AgentConfig, SaysWhatIsExposed) {
  const auto loaded = load(from_file(Role::Agent, R"(
node: {servers: [ctl-1:7443, "[::1]:7443"]}
agent:
  services: ["web=127.0.0.1:8080", "db=unix:/run/pg.sock", "api/metrics=http://127.0.0.1:9090"]
  labels: [app=shop, tier=]
)"));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->config.node.servers, ElementsAre("ctl-1:7443", "[::1]:7443"));
  EXPECT_THAT(loaded->config.agent.services,
              ElementsAre("web=127.0.0.1:8080", "db=unix:/run/pg.sock",
                          "api/metrics=http://127.0.0.1:9090"));
  EXPECT_THAT(loaded->config.agent.labels, ElementsAre("app=shop", "tier="));
}

TEST(AgentConfig, MistakesAreShownWithTheirPlace) {
  const std::string problems = node_config_all_problems(from_file(Role::Agent, R"(agent:
  service: [web=127.0.0.1:8080]
  services: [web, "db=unix:run"]
  labels: [holdfast.zone=a]
)"));

  EXPECT_THAT(problems, HasSubstr("holdfast.yaml:2:3: error HF6004: unknown key \"service\" in "
                                  "agent; did you mean \"services\"?"));
  EXPECT_THAT(problems, HasSubstr("holdfast.yaml:3:14: error HF6010: agent.services: \"web\" is "
                                  "not SERVICE[/PORT]=TARGET"));
  EXPECT_THAT(problems, HasSubstr("\"db=unix:run\" is not SERVICE"));
  EXPECT_THAT(problems, HasSubstr("holdfast.yaml:4:12: error HF6010: agent.labels: "
                                  "\"holdfast.zone\" is the cluster's to say"));
}

TEST(AgentConfig, OneServiceHasOneTarget) {
  EXPECT_THAT(node_config_all_problems(from_file(Role::Agent, "agent: {services: [a=h:1, a=h:2]}")),
              HasSubstr("agent.services has a twice"));
}

TEST(AgentConfig, ServicesAndLabelsAreLive) {
  const auto before = load(from_file(Role::Agent, "agent: {services: [a=h:1]}"));
  const auto after = load(from_file(
      Role::Agent, "agent: {services: [a=h:2], labels: [x=y]}\nnode: {servers: [c:1]}\n"));
  ASSERT_TRUE(before.ok() && after.ok());

  const Changes changed = changes(*before, *after);

  EXPECT_THAT(changed.live, ElementsAre("agent.services", "agent.labels"));
  EXPECT_THAT(changed.need_restart, ElementsAre("node.servers"));
}

TEST(ProxyConfig, HasPortsOfItsOwn) {
  const auto loaded = load(from_file(Role::Proxy, "proxy: {reuse_port: yes, generation: 7}"));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const ProxySection& proxy = loaded->config.proxy;
  EXPECT_EQ(proxy.tunnel_listen, "0.0.0.0:7451");
  EXPECT_EQ(proxy.peer_listen, "0.0.0.0:7452");
  EXPECT_EQ(proxy.public_listen, "0.0.0.0:7453");
  EXPECT_EQ(proxy.drain_timeout, 5min);
  EXPECT_EQ(proxy.generation, 7u);
  EXPECT_TRUE(proxy.reuse_port);
  EXPECT_EQ(proxy.limits.tunnels, 20'000u);
}

// All of them on one machine is how people begin.
TEST(ProxyConfig, TheDefaultsOfARoleLeaveThoseOfTheOthersAlone) {
  Sources sources = from_file(Role::Controller, "");
  sources.machine = {{"controller.name", "ctl"}, {"controller.data_dir", "/var/lib/holdfast"}};
  const auto controller = load(sources);
  const auto proxy = load(from_file(Role::Proxy, ""));
  ASSERT_TRUE(controller.ok()) << controller.status();
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  const Config& held = controller->config;
  std::vector<std::string_view> taken = {port_of(held.controller.http.listen),
                                         port_of(held.controller.http.health_listen)};
  for (const std::string& address : held.controller.listen) taken.push_back(port_of(address));

  for (const std::string& address :
       {proxy->config.proxy.tunnel_listen, proxy->config.proxy.peer_listen,
        proxy->config.proxy.public_listen}) {
    EXPECT_THAT(taken, testing::Not(testing::Contains(port_of(address)))) << address;
  }
}

TEST(AgentConfig, ATunnelHasRoomForSoManyConnectionsAndNoMore) {
  EXPECT_TRUE(load(from_file(Role::Agent, "agent: {limits: {connections: 65536}}")).ok());
  EXPECT_THAT(
      node_config_all_problems(from_file(Role::Agent, "agent: {limits: {connections: 65537}}")),
      HasSubstr("agent.limits.connections"));
}

TEST(AgentConfig, CountingInTheKernelIsOffUnlessItIsAskedFor) {
  const auto loaded = load(from_file(Role::Agent, ""));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const TrackingConfig& tracking = loaded->config.agent.tracking;
  EXPECT_FALSE(tracking.enabled);
  EXPECT_EQ(tracking.pins, "/run/holdfast/bpf");
  EXPECT_EQ(tracking.cgroup, "");
  EXPECT_EQ(tracking.audit_interval, 1min);
  EXPECT_EQ(tracking.refusals_to_eject, 5u);
  EXPECT_EQ(tracking.limits.series, 500u);
}

TEST(AgentConfig, CountingNeedsToKnowWhose) {
  EXPECT_THAT(node_config_all_problems(from_file(Role::Agent, "agent: {tracking: {enabled: yes}}")),
              HasSubstr("agent.tracking.enabled needs agent.tracking.cgroup"));
  EXPECT_TRUE(
      load(from_file(Role::Agent, "agent: {tracking: {enabled: yes, cgroup: /sys/fs/cgroup/apps}}"))
          .ok());
  EXPECT_THAT(node_config_all_problems(from_file(Role::Agent, "agent: {tracking: {cgroup: apps}}")),
              HasSubstr("agent.tracking.cgroup: \"apps\" is not an absolute path"));
}

TEST(AgentConfig, ABackendIsTriedAgainWithinTheLongestTime) {
  EXPECT_THAT(node_config_all_problems(from_file(
                  Role::Agent, "agent: {tracking: {probe_after: 1m, probe_at_most: 1s}}")),
              HasSubstr("agent.tracking.probe_after 1m is more than"));
}

TEST(ProxyConfig, TwoListenersDoNotShareAPort) {
  const std::string problems = node_config_all_problems(
      from_file(Role::Proxy, "proxy: {peer_listen: 0.0.0.0:7451, ingress: ['tcp:[::]:7453=db']}"));

  EXPECT_THAT(problems, HasSubstr("proxy.peer_listen 0.0.0.0:7451 is also taken by "
                                  "proxy.tunnel_listen 0.0.0.0:7451"));
  EXPECT_THAT(problems, HasSubstr("proxy.ingress [::]:7453 is also taken by proxy.public_listen"));
}

TEST(ProxyConfig, AVariableMayNameSeveralServicesOfOneListener) {
  Sources sources = from_file(Role::Proxy, "");
  sources.environment["HOLDFAST_PROXY_INGRESS"] = "sni:0.0.0.0:8443=web,api/http,tcp:[::]:5432=db";

  const auto loaded = load(sources);

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(ingress_specs(loaded->config.proxy.ingress),
              ElementsAre("sni:0.0.0.0:8443=web,api/http", "tcp:[::]:5432=db"));
}

TEST(ProxyConfig, AnIngressIsAListenerWithAService) {
  EXPECT_EQ(wrong_ingress("tcp:0.0.0.0:5432=db/main"), std::nullopt);
  EXPECT_EQ(wrong_ingress("sni:[::1]:8443=web,api"), std::nullopt);
  for (const char* spec : {"tcp:0.0.0.0:5432", "tcp:0.0.0.0:5432=", "tcp:db:5432=db",
                           "udp:0.0.0.0:1=db", "tcp:0.0.0.0:5432=a,b", "sni:0.0.0.0:1=a,,b"}) {
    EXPECT_NE(wrong_ingress(spec), std::nullopt) << spec;
  }
  EXPECT_THAT(node_config_all_problems(from_file(Role::Proxy, "proxy: {ingress: [db]}")),
              HasSubstr("proxy.ingress begins with the service db"));
}

TEST(ProbeConfig, HasTheDefaultsOfAPod) {
  const auto loaded = load(from_file(Role::Probe, ""));

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const ProbeSection& probe = loaded->config.probe;
  EXPECT_EQ(probe.listen, "[::]:9000");
  EXPECT_EQ(probe.address, "127.0.0.1");
  EXPECT_EQ(probe.registry_file, "");
  EXPECT_EQ(probe.limits.running, 4096u);
}

TEST(ProbeConfig, AddressesAreAddressesAndListenersDiffer) {
  EXPECT_THAT(node_config_all_problems(from_file(Role::Probe, "probe: {address: localhost}")),
              HasSubstr("probe.address"));
  EXPECT_THAT(node_config_all_problems(from_file(Role::Probe, "probe: {listen: 9000}")),
              HasSubstr("probe.listen"));
  EXPECT_THAT(
      node_config_all_problems(from_file(Role::Probe, "probe: {health_listen: 127.0.0.1:9000}")),
      HasSubstr("probe.health_listen"));
}

TEST(Roles, AnotherRolesSectionsMustBeGoodButNotWhole) {
  // The listener without controller.hosts is a controller's trouble, not an agent's.
  EXPECT_EQ(
      node_config_all_problems(from_file(Role::Agent, "controller: {listen: [0.0.0.0:7443]}")), "");
  EXPECT_THAT(node_config_all_problems(from_file(Role::Agent, "controller: {listen: [nowhere]}")),
              HasSubstr("controller.listen"));
}

TEST(Roles, ShowTheirOwnKeysOnly) {
  const auto agent = load(from_file(Role::Agent, ""));
  ASSERT_TRUE(agent.ok());
  const std::string text = effective_text(*agent, true);

  EXPECT_THAT(text, HasSubstr("agent.services"));
  EXPECT_THAT(text, HasSubstr("log.level"));
  EXPECT_THAT(text, Not(HasSubstr("proxy.")));
  EXPECT_THAT(text, Not(HasSubstr("controller.")));
}

}  // namespace
}  // namespace holdfast::config
