// An agent's services against a proxy of bare links: one process, loopback, real TLS.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/reason.h"
#include "echo_app.h"
#include "holdfast/v1/tunnel.pb.h"
#include "loop_driver.h"
#include "raw_proxy.h"
#include "resource/proto_time.h"
#include "support/free_ports.h"
#include "support/temp_dir.h"
#include "tunnel/agent_service.h"
#include "tunnel_cluster.h"

namespace holdfast::test {
namespace {

using identity::Role;
using std::chrono::milliseconds;
using std::chrono::seconds;
using tunnel::AgentIdentity;
using tunnel::AgentOptions;
using tunnel::AgentService;
using tunnel::TargetTable;

using Lines = std::vector<std::string>;
using Client = std::unique_ptr<RawClient>;

AgentOptions quick() {
  AgentOptions options;
  options.version = "test";
  options.pool.spread = Duration::zero();
  options.pool.backoff_step = milliseconds(10);
  options.pool.backoff_cap = milliseconds(50);
  options.forward.connect_timeout = seconds(2);
  options.stop_timeout = seconds(2);
  return options;
}

AgentIdentity identity_of(const TunnelPems& pems) {
  return {
      .private_key_pem = pems.private_key, .certificate_pem = pems.certificate, .ca_pem = pems.ca};
}

class TunnelAgent : public testing::Test {
 protected:
  ~TunnelAgent() override {
    if (agent_) stop_agent();
    for (auto& app : apps_) driver_.wait(finish(app->stop()));
    for (auto& proxy : proxies_) driver_.wait(finish(proxy->stop()));
  }
  static asio::awaitable<bool> finish(asio::awaitable<void> task) {
    co_await std::move(task);
    co_return true;
  }
  void stop_agent() { driver_.wait(finish(agent_->stop())); }

  RawProxy& proxy(const std::string& name, const std::string& zone = "a") {
    return proxy({.name = name, .zone = zone, .pems = cluster_.pems(Role::Proxy, name, zone)});
  }
  RawProxy& proxy(RawProxyOptions options) {
    proxies_.push_back(std::make_unique<RawProxy>(driver_.loop(), std::move(options)));
    return *proxies_.back();
  }
  EchoApp& app(const std::string& address = "127.0.0.1:0", bool reads = true) {
    apps_.push_back(std::make_unique<EchoApp>(driver_.loop(), address, reads));
    return *apps_.back();
  }
  void make_agent(const Lines& targets, AgentOptions options = quick()) {
    agent_ = AgentService::make(driver_.loop().get_executor(), clock_, std::move(options),
                                identity_of(cluster_.pems(Role::Agent, "agent-1", "a")))
                 .value();
    agent_->set_targets(TargetTable::parse(targets).value());
  }
  void start_agent(const Lines& targets, const Lines& bootstrap) {
    make_agent(targets);
    agent_->set_bootstrap(bootstrap);
    agent_->start();
  }
  bool connected(RawProxy& to, size_t tunnels = 1) {
    return driver_.until([&] {
      size_t welcomed = 0;
      for (const RawProxy::Held& held : to.tunnels()) welcomed += held.welcomed ? 1 : 0;
      return welcomed == tunnels && agent_->stats().tunnels > 0;
    });
  }
  // A stream to the service, by the proxy's first tunnel.
  Result<Client> open(RawProxy& by, const std::string& service, const std::string& port = "") {
    v1::OpenStream asked;
    asked.set_service(service);
    asked.set_port(port);
    asked.set_client("127.0.0.1:1");
    auto client = std::make_unique<RawClient>(driver_.loop());
    TRY_OK(driver_.wait(
        by.tunnels().front().link->open(asked.SerializeAsString(), client->end(), seconds(10))));
    return client;
  }
  Status refusal(RawProxy& by, const std::string& service, const std::string& port = "") {
    return open(by, service, port).status();
  }
  // Whether it comes back as it went.
  bool echoes(RawClient& client, const std::string& text) {
    const size_t before = client.received().size();
    if (client.send(text) != text.size()) return false;
    return driver_.until([&] { return client.received().size() >= before + text.size(); }) &&
           client.received().substr(before) == text;
  }
  bool begins_with(const Status& status, std::string_view word) {
    return std::string_view(status.message().data(), status.message().size()).starts_with(word);
  }

  TunnelCluster cluster_;
  SystemClock clock_;
  LoopDriver driver_;
  std::vector<std::unique_ptr<RawProxy>> proxies_;
  std::vector<std::unique_ptr<EchoApp>> apps_;
  std::unique_ptr<AgentService> agent_;
};

TEST_F(TunnelAgent, BytesGoBothWaysToATcpAppAndAUnixApp) {
  const TempDir folder;
  RawProxy& p1 = proxy("p1");
  start_agent({"web=" + app().address(), "db=" + app("unix:" + folder.file("db.sock")).address()},
              {p1.address()});
  ASSERT_TRUE(connected(p1));
  for (const std::string service : {"web", "db"}) {
    const Result<Client> client = open(p1, service);
    ASSERT_TRUE(client.ok()) << service << ": " << client.status();
    EXPECT_TRUE(echoes(**client, "hello"));
    EXPECT_TRUE(echoes(**client, std::string(100'000, 'x')));
    (*client)->finish();
    EXPECT_TRUE(driver_.until([&] { return (*client)->received().empty() || (*client)->ended(); }));
  }
  EXPECT_TRUE(driver_.until([&] { return agent_->forwarded().connections == 0; }));
  EXPECT_EQ(agent_->forwarded().accepted, 2U);
  EXPECT_EQ(agent_->forwarded().bytes_in, 200'010U);
  EXPECT_EQ(agent_->forwarded().bytes_out, 200'010U);
  EXPECT_EQ(agent_->forwarded().cut, 0U);
}

TEST_F(TunnelAgent, TheHelloSaysWhoItIsAndWhatItExposes) {
  RawProxy& p1 = proxy("p1");
  make_agent({"web=127.0.0.1:1"});
  v1::Exposed exposed;
  exposed.add_services()->set_service("web");
  (*exposed.mutable_labels())["tier"] = "front";
  ASSERT_TRUE(agent_->set_exposed(exposed).ok());
  agent_->set_bootstrap({p1.address()});
  agent_->start();
  ASSERT_TRUE(connected(p1));
  RawProxy::Held& held = p1.tunnels().front();
  EXPECT_EQ(held.hello.name(), "agent-1");
  EXPECT_EQ(held.hello.zone(), "a");
  EXPECT_EQ(held.hello.version(), "test");
  EXPECT_NE(held.hello.boot(), 0U);
  EXPECT_EQ(held.exposed.labels().at("tier"), "front");
  exposed.mutable_services(0)->set_healthy(true);
  ASSERT_TRUE(agent_->set_exposed(exposed).ok());
  EXPECT_TRUE(driver_.until([&] { return held.exposed.services(0).healthy(); }));
}

TEST_F(TunnelAgent, AnAppThatIsDownIsRefusedAndTakenOnceItIsUp) {
  RawProxy& p1 = proxy("p1");
  const std::string address = "127.0.0.1:" + std::to_string(free_ports(1).front());
  start_agent({"web=" + address}, {p1.address()});
  ASSERT_TRUE(connected(p1));
  const Status down = refusal(p1, "web");
  EXPECT_TRUE(begins_with(down, to_string(tunnel::ResetCode::Refused))) << down;
  EXPECT_EQ(agent_->forwarded().refused, 1U);
  app(address);
  const Result<Client> client = open(p1, "web");
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE(echoes(**client, "up again"));
}

TEST_F(TunnelAgent, WhatIsNotHealthyIsRefusedToWhoDoesNotKnowYetAndWhatRunsStays) {
  RawProxy& p1 = proxy("p1");
  EchoApp& named = app();
  start_agent({"web=" + named.address()}, {p1.address()});
  ASSERT_TRUE(connected(p1));
  const Result<Client> running = open(p1, "web");
  ASSERT_TRUE(running.ok()) << running.status();
  v1::Exposed exposed;
  exposed.add_services()->set_service("web");
  exposed.mutable_services(0)->set_reason("HTTP 500");
  ASSERT_TRUE(agent_->set_exposed(exposed).ok());

  const Status refused = refusal(p1, "web");
  EXPECT_TRUE(begins_with(refused, to_string(tunnel::ResetCode::Refused))) << refused;
  EXPECT_TRUE(std::string(refused.message()).ends_with("not healthy here: HTTP 500")) << refused;
  EXPECT_EQ(agent_->forwarded().unhealthy, 1U);
  EXPECT_EQ(named.connections(), 1U);
  EXPECT_TRUE(echoes(**running, "still here"));

  exposed.mutable_services(0)->set_healthy(true);
  ASSERT_TRUE(agent_->set_exposed(exposed).ok());
  EXPECT_TRUE(open(p1, "web").ok());
}

TEST_F(TunnelAgent, NothingIsDialledThatTheTableDoesNotName) {
  RawProxy& p1 = proxy("p1");
  EchoApp& named = app();
  EchoApp& other = app();
  start_agent({"web=" + named.address()}, {p1.address()});
  ASSERT_TRUE(connected(p1));
  const std::string_view word = to_string(tunnel::ResetCode::NotExposed);
  EXPECT_TRUE(begins_with(refusal(p1, "web", other.address()), word));
  EXPECT_TRUE(begins_with(refusal(p1, "web", "127.0.0.1:22"), word));
  EXPECT_TRUE(begins_with(refusal(p1, other.address()), word));
  EXPECT_TRUE(begins_with(refusal(p1, "web=" + other.address()), word));
  EXPECT_TRUE(begins_with(refusal(p1, "unix:/tmp/x"), word));
  EXPECT_TRUE(begins_with(refusal(p1, ""), word));
  EXPECT_EQ(other.connections() + named.connections(), 0U);
  EXPECT_EQ(agent_->forwarded().not_exposed, 6U);
  EXPECT_TRUE(open(p1, "web").ok());
}

TEST_F(TunnelAgent, APayloadThatIsNoOpenStreamIsRefusedAndHarmsNobody) {
  RawProxy& p1 = proxy("p1");
  start_agent({"web=" + app().address()}, {p1.address()});
  ASSERT_TRUE(connected(p1));
  RawClient client(driver_.loop());
  const Status refused = driver_.wait(
      p1.tunnels().front().link->open(std::string(100, '\xff'), client.end(), seconds(5)));
  EXPECT_TRUE(begins_with(refused, to_string(tunnel::ResetCode::NotAllowed))) << refused;
  EXPECT_EQ(agent_->forwarded().malformed, 1U);
  EXPECT_TRUE(open(p1, "web").ok());
}

TEST_F(TunnelAgent, ConnectionsBeyondTheLimitAreRefused) {
  RawProxy& p1 = proxy("p1");
  AgentOptions options = quick();
  options.forward.max_connections = 3;
  options.forward.max_per_target = 2;
  make_agent({"web=" + app().address(), "api=" + app().address()}, options);
  agent_->set_bootstrap({p1.address()});
  agent_->start();
  ASSERT_TRUE(connected(p1));
  const std::string_view word = to_string(tunnel::ResetCode::Limit);
  Result<Client> first = open(p1, "web");
  const Result<Client> second = open(p1, "web");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(begins_with(refusal(p1, "web"), word));
  const Result<Client> third = open(p1, "api");
  ASSERT_TRUE(third.ok());
  EXPECT_TRUE(begins_with(refusal(p1, "api"), word));
  EXPECT_EQ(agent_->forwarded().over_limit, 2U);
  (*first)->finish();
  EXPECT_TRUE(driver_.until([&] { return agent_->forwarded().connections == 2; }));
  EXPECT_TRUE(open(p1, "web").ok());
}

TEST_F(TunnelAgent, ManyStreamsShareATunnelAndAnAppThatNeverReadsStallsNone) {
  RawProxy& p1 = proxy("p1");
  EchoApp& deaf = app("127.0.0.1:0", false);
  start_agent({"web=" + app().address(), "deaf=" + deaf.address()}, {p1.address()});
  ASSERT_TRUE(connected(p1));
  const Result<Client> stuck = open(p1, "deaf");
  ASSERT_TRUE(stuck.ok()) << stuck.status();
  // As much as there is room for between here and an app that never reads.
  size_t quiet = 0;
  driver_.until([&] {
    quiet = (*stuck)->send(std::string(65'536, 's')) == 0 ? quiet + 1 : 0;
    return quiet > 50;
  });
  std::vector<Client> clients;
  for (int at = 0; at < 200; ++at) {
    Result<Client> client = open(p1, "web");
    ASSERT_TRUE(client.ok()) << client.status();
    clients.push_back(*std::move(client));
  }
  for (size_t at = 0; at < clients.size(); ++at) {
    EXPECT_TRUE(echoes(*clients[at], "stream " + std::to_string(at)));
  }
  EXPECT_EQ(agent_->streams(), 201U);
  EXPECT_EQ(agent_->describe().front().streams(), 201U);
}

TEST_F(TunnelAgent, ALostTunnelIsReplacedAndTheTimeIsTold) {
  RawProxy& p1 = proxy("p1");
  RawProxy& p2 = proxy("p2", "b");
  start_agent({"web=" + app().address()}, {p1.address()});
  ASSERT_TRUE(connected(p1));
  p1.discover({&p1, &p2});
  ASSERT_TRUE(connected(p2));
  ASSERT_TRUE(driver_.until([&] { return agent_->stats().tunnels == 2; }));
  p2.cut();
  ASSERT_TRUE(driver_.until([&] { return agent_->stats().recoveries == 1; }));
  EXPECT_EQ(agent_->stats().lost, 1U);
  EXPECT_GT(agent_->stats().last_recovery, Duration::zero());
  EXPECT_EQ(agent_->stats().tunnels, 2U);
  EXPECT_EQ(agent_->proxies().size(), 2U);
  EXPECT_TRUE(open(p2, "web").ok());
}

TEST_F(TunnelAgent, ASecondTunnelToTheSameProxyIsNotMade) {
  RawProxy& p1 = proxy("p1");
  start_agent({"web=" + app().address()}, {p1.address()});
  ASSERT_TRUE(connected(p1));
  // What is said to be another leads to the same, by another name of its address.
  v1::TunnelMessage message;
  v1::DiscoveredProxy& other = *message.mutable_discovery()->add_proxies();
  other = p1.discovered();
  other.set_name("p2");
  other.set_tunnel_address("localhost" + p1.address().substr(p1.address().rfind(':')));
  p1.send(message);
  ASSERT_TRUE(driver_.until([&] { return agent_->stats().claims_refused > 0; }));
  driver_.run_for(milliseconds(100));
  EXPECT_EQ(p1.handshakes(), 1U);  // the second one ended in its middle
  EXPECT_EQ(p1.hellos(), 1U);
  EXPECT_EQ(agent_->stats().tunnels, 1U);
  EXPECT_EQ(agent_->stats().connected, 1U);
  EXPECT_EQ(agent_->stats().lost, 0U);
}

TEST_F(TunnelAgent, OnAdviceItConnectsElsewhereFirstAndRunningStreamsFinish) {
  RawProxy& p1 = proxy("p1");
  RawProxy& p2 = proxy("p2", "b");
  make_agent({"web=" + app().address()});
  v1::NetworkingConfig settings;
  settings.set_agent_connection_count(1);
  agent_->set_settings(settings);
  agent_->set_bootstrap({p1.address()});
  agent_->start();
  ASSERT_TRUE(connected(p1));
  Result<Client> running = open(p1, "web");
  ASSERT_TRUE(running.ok()) << running.status();
  p1.discover({&p1, &p2});
  bool old_was_there = false;
  p1.advise(seconds(30));
  ASSERT_TRUE(driver_.until([&] {
    if (p2.tunnels().empty()) {
      old_was_there = !p1.tunnels().empty() && !p1.tunnels().front().said_goodbye;
    }
    return !p2.tunnels().empty() && p2.tunnels().front().welcomed;
  }));
  EXPECT_TRUE(old_was_there);
  ASSERT_TRUE(driver_.until([&] { return p1.tunnels().front().said_goodbye; }));
  EXPECT_TRUE(echoes(**running, "still here"));
  EXPECT_EQ(agent_->proxies(), Lines{"p2"});
  EXPECT_EQ(agent_->describe().size(), 2U);
  (*running)->finish();
  EXPECT_TRUE(driver_.until([&] { return p1.tunnels().empty(); }));
  EXPECT_TRUE(driver_.until([&] { return agent_->stats().drained == 1; }));
  EXPECT_EQ(agent_->stats().lost, 0U);
  EXPECT_FALSE((*running)->broken());
}

TEST_F(TunnelAgent, SettingsChangeTheNumberOfTunnelsWhileItRuns) {
  std::vector<RawProxy*> all;
  for (const std::string name : {"p1", "p2", "p3", "p4"}) all.push_back(&proxy(name, name));
  start_agent({"web=" + app().address()}, {all[0]->address()});
  ASSERT_TRUE(connected(*all[0]));
  all[0]->discover({all.begin(), all.end()});
  ASSERT_TRUE(driver_.until([&] { return agent_->stats().tunnels == 2; }));
  v1::NetworkingConfig settings;
  settings.set_tunnel_strategy(v1::TUNNEL_STRATEGY_AGENT_MESH);
  agent_->set_settings(settings);
  ASSERT_TRUE(driver_.until([&] { return agent_->stats().tunnels == 4; }));
  size_t changes = 0;
  agent_->on_change([&] { ++changes; });
  settings.set_tunnel_strategy(v1::TUNNEL_STRATEGY_PROXY_PEERING);
  settings.set_agent_connection_count(3);
  *settings.mutable_disconnect_threshold() = resource::to_proto(Duration(milliseconds(100)));
  *settings.mutable_keepalive_interval() = resource::to_proto(Duration(milliseconds(100)));
  agent_->set_settings(settings);
  ASSERT_TRUE(driver_.until([&] { return agent_->stats().tunnels == 3; }));
  EXPECT_GT(changes, 0U);
  for (const v1::AgentTunnel& row : agent_->describe()) EXPECT_TRUE(row.has_round_trip());
  agent_->on_change({});
}

TEST_F(TunnelAgent, ProxiesOfTheCacheAreDialledWithoutAnyBootstrap) {
  RawProxy& p1 = proxy("p1");
  make_agent({"web=" + app().address()});
  agent_->start();
  tunnel::KnownProxy known{.name = "p1"};
  known.proxy.set_zone("a");
  known.proxy.set_tunnel_address(p1.address());
  agent_->set_proxies({known});
  EXPECT_TRUE(connected(p1));
}

// Who answers is not a proxy of ours: no tunnel, and a code that says why.
TEST_F(TunnelAgent, WhoeverIsNoProxyOfThisClusterIsRefused) {
  const TunnelCluster stranger;
  const struct {
    const char* what;
    TunnelPems pems;
    std::string code;
  } cases[] = {
      {"another role", cluster_.pems(Role::Agent, "p1", "a"), "HF2022"},
      {"another authority", stranger.pems(Role::Proxy, "p1", "a"), "HF5004"},
      {"another cluster", cluster_.renamed("other").pems(Role::Proxy, "p1", "a"), "HF5004"},
  };
  for (const auto& one : cases) {
    RawProxy& p1 = proxy({.name = "p1", .zone = "a", .pems = one.pems});
    start_agent({"web=127.0.0.1:1"}, {p1.address()});
    ASSERT_TRUE(driver_.until([&] { return !agent_->stats().failures.empty(); })) << one.what;
    const std::string code = agent_->stats().failures.begin()->first;
    EXPECT_EQ(code, one.code) << one.what;
    EXPECT_TRUE(agent_->last_failure().contains(code)) << agent_->last_failure();
    EXPECT_EQ(agent_->stats().connected, 0U) << one.what;
    for (const RawProxy::Held& held : p1.tunnels()) EXPECT_FALSE(held.welcomed) << one.what;
    stop_agent();
    agent_.reset();
  }
}

TEST_F(TunnelAgent, ARefusalIsHeededForAsLongAsItAsks) {
  v1::TunnelRefusal refusal;
  refusal.set_code("HF2103");
  refusal.set_reason("too many at once");
  *refusal.mutable_retry_after() = resource::to_proto(Duration(milliseconds(700)));
  RawProxy& p1 = proxy({.name = "p1",
                        .zone = "a",
                        .pems = cluster_.pems(Role::Proxy, "p1", "a"),
                        .refusal = refusal});
  start_agent({"web=" + app().address()}, {p1.address()});
  ASSERT_TRUE(driver_.until([&] { return agent_->stats().failures.contains("HF2103"); }));
  const Time refused = clock_.now();
  p1.options().refusal.reset();
  ASSERT_TRUE(connected(p1));
  EXPECT_GE(clock_.now() - refused, milliseconds(600));
  EXPECT_EQ(agent_->last_failure(), "");
}

TEST_F(TunnelAgent, AProxyThatCallsItselfOtherwiseOrSaysNothingIsLeft) {
  RawProxy& p1 = proxy(
      {.name = "p1", .zone = "a", .pems = cluster_.pems(Role::Proxy, "p1", "a"), .said = "p2"});
  AgentOptions options = quick();
  options.pool.first_dial_timeout = milliseconds(500);
  options.pool.dial_timeout = milliseconds(500);
  make_agent({"web=127.0.0.1:1"}, options);
  agent_->set_bootstrap({p1.address()});
  agent_->start();
  ASSERT_TRUE(driver_.until([&] { return agent_->stats().failures.contains("HF2123"); }));
  p1.options().answers = false;
  ASSERT_TRUE(driver_.until([&] { return agent_->stats().failures.contains("HF2124"); }));
  EXPECT_EQ(agent_->stats().connected, 0U);
}

TEST_F(TunnelAgent, StopSaysGoodbyeAndLetsRunningStreamsFinish) {
  RawProxy& p1 = proxy("p1");
  start_agent({"web=" + app().address()}, {p1.address()});
  ASSERT_TRUE(connected(p1));
  const Result<Client> client = open(p1, "web");
  ASSERT_TRUE(client.ok()) << client.status();
  auto stopped = asio::co_spawn(driver_.loop(), agent_->stop(), asio::use_future);
  ASSERT_TRUE(driver_.until([&] { return p1.tunnels().front().said_goodbye; }));
  EXPECT_TRUE(echoes(**client, "to the end"));
  EXPECT_FALSE(refusal(p1, "web").ok());
  (*client)->finish();
  ASSERT_TRUE(
      driver_.until([&] { return stopped.wait_for(seconds(0)) == std::future_status::ready; }));
  EXPECT_TRUE(driver_.until([&] { return p1.tunnels().empty(); }));
  EXPECT_TRUE(driver_.until([&] { return (*client)->received().empty() || (*client)->ended(); }));
  EXPECT_FALSE((*client)->broken());
  EXPECT_EQ(agent_->stats().drained, 1U);
  agent_.reset();
}

TEST_F(TunnelAgent, StopCutsWhatDoesNotFinishInTime) {
  RawProxy& p1 = proxy("p1");
  AgentOptions options = quick();
  options.stop_timeout = milliseconds(200);
  make_agent({"web=" + app().address()}, options);
  agent_->set_bootstrap({p1.address()});
  agent_->start();
  ASSERT_TRUE(connected(p1));
  const Result<Client> client = open(p1, "web");
  ASSERT_TRUE(client.ok()) << client.status();
  const Time before = clock_.now();
  stop_agent();
  EXPECT_LT(clock_.now() - before, seconds(10));
  EXPECT_GE(clock_.now() - before, milliseconds(200));
  EXPECT_TRUE(driver_.until([&] { return (*client)->received().empty() && (*client)->ended(); }));
  agent_.reset();
}

TEST_F(TunnelAgent, AHurriedStopCutsAtOnce) {
  RawProxy& p1 = proxy("p1");
  AgentOptions options = quick();
  options.stop_timeout = std::chrono::hours(1);
  make_agent({"web=" + app().address()}, options);
  agent_->set_bootstrap({p1.address()});
  agent_->start();
  ASSERT_TRUE(connected(p1));
  const Result<Client> client = open(p1, "web");
  ASSERT_TRUE(client.ok()) << client.status();
  auto stopped = asio::co_spawn(driver_.loop(), agent_->stop(), asio::use_future);
  ASSERT_TRUE(driver_.until([&] { return p1.tunnels().front().said_goodbye; }));
  EXPECT_TRUE(echoes(**client, "still running"));

  agent_->hurry();

  ASSERT_TRUE(
      driver_.until([&] { return stopped.wait_for(seconds(0)) == std::future_status::ready; }));
  EXPECT_TRUE(driver_.until([&] {
    (*client)->received();
    return (*client)->ended() || (*client)->broken();
  }));
  agent_.reset();
}

TEST_F(TunnelAgent, ARenewedIdentityIsUsedForTheNextTunnel) {
  RawProxy& p1 = proxy("p1");
  start_agent({"web=" + app().address()}, {p1.address()});
  ASSERT_TRUE(connected(p1));
  EXPECT_FALSE(agent_->set_identity(identity_of(cluster_.pems(Role::Agent, "agent-2", "a"))).ok());
  EXPECT_FALSE(agent_->set_identity(identity_of(cluster_.pems(Role::Proxy, "agent-1", "a"))).ok());
  ASSERT_TRUE(agent_->set_identity(identity_of(cluster_.pems(Role::Agent, "agent-1", "b"))).ok());
  p1.cut();
  ASSERT_TRUE(driver_.until(
      [&] { return !p1.tunnels().empty() && p1.tunnels().front().hello.zone() == "b"; }));
  EXPECT_EQ(p1.tunnels().front().link->connection().peer.zone, "b");
}

TEST_F(TunnelAgent, TunnelsOfACertificateThatEndsAreMadeAnewWithTheNextOneFirst) {
  RawProxy& p1 = proxy("p1");
  agent_ = AgentService::make(driver_.loop().get_executor(), clock_, quick(),
                              identity_of(cluster_.pems(Role::Agent, "agent-1", "a", seconds(4))))
               .value();
  agent_->set_bootstrap({p1.address()});
  agent_->start();
  ASSERT_TRUE(connected(p1));
  ASSERT_TRUE(
      agent_->set_identity(identity_of(cluster_.pems(Role::Agent, "agent-1", "a", seconds(3'600))))
          .ok());

  bool dark = false;
  ASSERT_TRUE(driver_.until([&] {
    dark = dark || agent_->proxies().empty();
    return p1.hellos() == 2;
  }));
  ASSERT_TRUE(driver_.until([&] { return agent_->stats().drained == 1; }));
  EXPECT_FALSE(dark) << "there is a tunnel at every moment";
  EXPECT_EQ(p1.tunnels().size(), 1U);
  EXPECT_EQ(agent_->stats().lost, 0U);
}

}  // namespace
}  // namespace holdfast::test
