// Applications that fall ill, freeze, die and come back behind real agents, proxies and a
// controller: how long it takes until nobody is sent to them, that nobody is from then on, and what
// people see of it. How peers are told is in tests/integration/tunnel_peers_test.cc.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "e2e/raw_connections.h"
#include "e2e/tunnel_fleet.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kCluster = R"(
kind: service
metadata: {name: web}
spec: {ports: [{port: 80, protocol: http}]}
)";
// Out after three failures: the last 400 ms after the first, and each within its timeout. The rest
// is for a machine that has other things to do.
constexpr Duration kOutWithin = 15s;
constexpr Duration kBackWithin = 10s;

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// One request on a connection of its own, and little patience.
Reply ask(uint16_t port, std::string_view path = "/who", time_t patience_seconds = 1) {
  HttpClient client(fmt::format("127.0.0.1:{}", port));
  const timeval patience{.tv_sec = patience_seconds, .tv_usec = 0};
  ::setsockopt(client.socket(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return client.ask(fmt::format("GET {}", path));
}

bool listens(const std::string& address) {
  return run_program({"curl", "-s", "-m", "2", "-o", "/dev/null", "http://" + address + "/livez"},
                     5s)
             .exit_code == 0;
}

class App {
 public:
  App(std::string name, const TempDir& folder)
      : name_(std::move(name)), folder_(folder), port_(free_ports(1).front()) {
    start();
  }

  void start() {
    process_ = std::make_unique<ChildProcess>(
        ChildOptions{.arguments = {kPython, in_tree("tests/e2e/check_app.py"),
                                   std::to_string(port_), name_, folder_.file("")},
                     .output_file = folder_.file(name_ + ".app.log")});
  }
  void fall_ill() { std::ofstream(sick_file()) << "yes"; }
  void recover() { std::filesystem::remove(sick_file()); }
  ChildProcess& process() { return *process_; }
  uint16_t port() const { return port_; }
  const std::string& name() const { return name_; }
  // Requests besides those of checks.
  size_t served() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(folder_.file(name_ + ".served"), none);
    return none ? 0 : size;
  }

 private:
  std::string sick_file() const { return folder_.file(name_ + ".sick"); }

  std::string name_;
  const TempDir& folder_;
  uint16_t port_;
  std::unique_ptr<ChildProcess> process_;
};

class ServiceCheck : public testing::Test {
 protected:
  void SetUp() override {
    fleet_.apply(kCluster);
    for (const auto& [proxy, zone] : {std::pair{"p-1", "a"}, {"p-2", "b"}}) {
      fleet_.add_proxy(proxy, zone, {"web"});
    }
    add_agent("a-1", "a", one_, kCheck);
    add_agent("a-2", "b", two_, kCheck);
    ASSERT_TRUE(eventually([&] { return serves(one_) && serves(two_); }, 60s)) << logs();
  }

  static constexpr const char* kCheck =
      "{web: {http: /healthz, period: 200ms, timeout: 1s, failure_threshold: 3}}";

  void configure(const std::string& agent, const App& app, const std::string& checks) {
    std::ofstream(fleet_.folder().file(agent + ".yaml")) << fmt::format(
        "agent:\n  services: [\"web=127.0.0.1:{}\"]\n  checks: {}\n", app.port(), checks);
  }
  void add_agent(const std::string& name, const std::string& zone, const App& app,
                 const std::string& checks) {
    configure(name, app, checks);
    health_[name] = fmt::format("127.0.0.1:{}", free_ports(1).front());
    fleet_.add_agent(name, zone, {},
                     {"--config", fleet_.folder().file(name + ".yaml"), "--listen", health_[name]});
  }
  void reload(const std::string& agent) {
    const std::string before = fleet_.log(agent);
    ::kill(fleet_.process(agent).pid(), SIGHUP);
    ASSERT_TRUE(eventually(
        [&] { return fleet_.log(agent).substr(before.size()).contains("read again"); }, 10s));
  }

  uint16_t door(const std::string& proxy) const { return fleet_.ports(proxy).ingress[0]; }
  // By the proxy of the application's zone, which prefers it.
  bool serves(const App& app) const {
    return ask(door(app.name() == "one" ? "p-1" : "p-2")).body == app.name();
  }
  // As its agent says; asked directly, so that no controller is needed.
  std::string readiness(const std::string& agent) const {
    return HttpClient(health_.at(agent)).ask("GET /readyz").body;
  }
  std::string metrics(const std::string& agent) const {
    return HttpClient(health_.at(agent)).ask("GET /metrics").body;
  }
  size_t times_found_ill(const std::string& agent) const {
    const std::string log = fleet_.log(agent);
    size_t times = 0;
    for (size_t at = 0; (at = log.find("HF2150", at)) != std::string::npos; ++at) ++times;
    return times;
  }
  // The agent's counters are brought up to date every second.
  bool counts(const std::string& agent, const std::string& line) const {
    return eventually([&] { return metrics(agent).contains(line); }, 10s);
  }
  // From the fault until both proxies send every client to the other application, and have done so
  // ten times each; prints it.
  void expect_out(const App& app, const App& other, std::string_view what) {
    const Time begin = SystemClock().now();
    Time last_seen = begin;
    int good = 0;
    while (good < 10 && SystemClock().now() - begin < kOutWithin + 5s) {
      bool both = true;
      for (const char* proxy : {"p-1", "p-2"}) both = ask(door(proxy)).body == other.name() && both;
      good = both ? good + 1 : 0;
      if (!both) last_seen = SystemClock().now();
    }
    EXPECT_EQ(good, 10) << app.name() << " is still asked for\n" << logs();
    EXPECT_LT(last_seen - begin, kOutWithin) << logs();
    std::cout << fmt::format("SERVICE_CHECK {}: out of routing after {:.2f} s\n", what,
                             seconds(last_seen - begin));
  }
  void expect_back(const App& app, std::string_view what) {
    const Time begin = SystemClock().now();
    EXPECT_TRUE(eventually([&] { return serves(app); }, kBackWithin)) << logs();
    std::cout << fmt::format("SERVICE_CHECK {}: back after {:.2f} s\n", what,
                             seconds(SystemClock().now() - begin));
  }
  // Nobody reaches the application for a hundred requests, and nobody has to wait or try again.
  void expect_untouched(const App& app, const App& other) {
    const size_t served = app.served();
    for (int i = 0; i < 50; ++i) {
      for (const char* proxy : {"p-1", "p-2"}) {
        const Reply reply = ask(door(proxy), "/who", 5);
        ASSERT_EQ(reply.status, 200) << reply.head << logs();
        ASSERT_EQ(reply.body, other.name());
      }
    }
    EXPECT_EQ(app.served(), served);
  }
  std::string logs() const {
    std::string all;
    for (const char* node : {"p-1", "p-2", "a-1", "a-2"}) all += fleet_.log(node);
    return all;
  }

  TunnelFleet fleet_;
  App one_{"one", fleet_.folder()};
  App two_{"two", fleet_.folder()};
  std::map<std::string, std::string> health_;
};

TEST_F(ServiceCheck, WhoFallsIllFreezesOrDiesGetsNobodyUntilItIsBack) {
  one_.fall_ill();
  expect_out(one_, two_, "HTTP 500");
  expect_untouched(one_, two_);
  one_.recover();
  expect_back(one_, "HTTP 500");

  one_.process().freeze();
  expect_out(one_, two_, "frozen");
  expect_untouched(one_, two_);
  one_.process().thaw();
  expect_back(one_, "frozen");

  one_.process().kill();
  expect_out(one_, two_, "dead");
  // Refusals are passed over before the check knows.
  EXPECT_TRUE(eventually([&] { return times_found_ill("a-1") == 3; }, kOutWithin)) << logs();
  expect_untouched(one_, two_);
  one_.start();
  expect_back(one_, "dead");

  EXPECT_TRUE(counts("a-1", "holdfast_agent_check_turns_total{check=\"web\"} 7")) << metrics("a-1");
}

TEST_F(ServiceCheck, WithoutAnyControllerItIsTheSame) {
  fleet_.controller().kill();

  one_.fall_ill();
  expect_out(one_, two_, "HTTP 500, no controller");
  expect_untouched(one_, two_);
  one_.recover();
  expect_back(one_, "HTTP 500, no controller");
  two_.process().freeze();
  expect_out(two_, one_, "frozen, no controller");
  two_.process().thaw();
  expect_back(two_, "frozen, no controller");
}

TEST_F(ServiceCheck, ConnectionsThatRunStay) {
  HttpClient running(fmt::format("127.0.0.1:{}", door("p-1")));
  const std::string request = "GET /who HTTP/1.1\r\nHost: web\r\n\r\n";
  ASSERT_TRUE(running.send(request));
  ASSERT_EQ(running.read_reply().body, "one");

  one_.fall_ill();
  expect_out(one_, two_, "HTTP 500, with a connection that runs");

  ASSERT_TRUE(running.send(request));
  EXPECT_EQ(running.read_reply().body, "one");
}

TEST_F(ServiceCheck, WhenItIsHealthyNowhereClientsAreRefusedAndPeopleSeeWhy) {
  one_.fall_ill();
  two_.fall_ill();
  const auto refused = [&](const char* proxy) {
    const Reply reply = ask(door(proxy));
    return reply.status == 503 && reply.body.contains("HF2205");
  };
  ASSERT_TRUE(eventually([&] { return refused("p-1") && refused("p-2"); }, kOutWithin)) << logs();
  const size_t served = one_.served() + two_.served();

  for (int i = 0; i < 20; ++i) EXPECT_TRUE(refused("p-1") && refused("p-2"));
  EXPECT_EQ(one_.served() + two_.served(), served);
  EXPECT_THAT(ask(door("p-1")).body, Not(HasSubstr("500"))) << "strangers are not told why";
  // An agent announces at most once a second.
  EXPECT_TRUE(eventually(
      [&] {
        const std::string text = fleet_.cli({"get", "agents", "-o", "wide"}).output;
        return text.find("HTTP 500)") != text.rfind("HTTP 500)");
      },
      10s));
  EXPECT_THAT(fleet_.cli({"get", "agents"}).output, ContainsRegex("a-1 .*web.unhealthy."));
  EXPECT_THAT(fleet_.cli({"describe", "service", "web"}).output,
              ContainsRegex("a-2 [^\n]*not healthy: [^\n]*500"));
  EXPECT_THAT(fleet_.cli({"describe", "agent", "a-1"}).output,
              AllOf(HasSubstr("0 of 1 healthy"), ContainsRegex("web +not healthy: .*500")));
  EXPECT_THAT(fleet_.cli({"check", "--only", "reach"}).output,
              AllOf(HasSubstr("HF1045"), HasSubstr("HF1046"), HasSubstr("web on a-1: ")));
  EXPECT_TRUE(eventually([&] { return readiness("a-1").contains("HF2150"); }, 10s));
  EXPECT_TRUE(counts("a-1", "holdfast_agent_check_healthy{check=\"web\"} 0"));

  two_.recover();
  EXPECT_TRUE(eventually([&] { return ask(door("p-1")).body == "two"; }, kBackWithin)) << logs();
}

TEST_F(ServiceCheck, AReloadAddsChangesAndRemovesChecksAndTakesNothingAwayThatWorks) {
  std::atomic<bool> ending = false;
  std::atomic<int> asked = 0;
  std::atomic<int> failed = 0;
  std::thread client([&] {
    while (!ending) {
      ++asked;
      if (ask(door("p-1"), "/who", 5).body != "one") ++failed;
    }
  });
  configure("a-1", one_, "{}");
  reload("a-1");
  one_.fall_ill();
  const int before = asked;
  EXPECT_TRUE(eventually([&] { return asked > before + 50; }, 20s));
  one_.recover();
  configure("a-1", one_, "{web: {tcp: , period: 200ms}}");
  reload("a-1");
  configure("a-1", one_, kCheck);
  reload("a-1");
  const int after = asked;
  EXPECT_TRUE(eventually([&] { return asked > after + 50; }, 20s));
  ending = true;
  client.join();
  EXPECT_EQ(failed, 0) << "of " << asked << logs();

  one_.fall_ill();
  expect_out(one_, two_, "HTTP 500, after a reload");
  configure("a-1", one_, "{}");
  reload("a-1");
  expect_back(one_, "its check taken away");
}

TEST_F(ServiceCheck, TheProbesOfItsChecksAreBehindOnePortIfItIsAskedFor) {
  const std::string address = fmt::format("127.0.0.1:{}", free_ports(1).front());
  fleet_.process("a-1").kill();
  fleet_.start("a-1", {"--set", "agent.probe_listen=" + address});
  const std::string path = fmt::format("GET /{}/healthz", one_.port());
  ASSERT_TRUE(eventually([&] { return listens(address); }, 20s)) << logs();
  ASSERT_TRUE(eventually([&] { return HttpClient(address).ask(path).status == 200; }, 20s))
      << logs();

  one_.fall_ill();
  EXPECT_EQ(HttpClient(address).ask(path).status, 503) << "asked anew each time";
  EXPECT_EQ(HttpClient(address).ask(fmt::format("GET /{}/who", one_.port())).status, 404);
  configure("a-1", one_, fmt::format("{{web: {{tcp: , port: {}}}}}", one_.port()));
  reload("a-1");
  EXPECT_EQ(HttpClient(address).ask(path).status, 404);
  EXPECT_EQ(HttpClient(address).ask(fmt::format("GET /tcp/{}", one_.port())).status, 200);
  configure("a-1", one_, "{web: {grpc: {service: shop}}}");
  reload("a-1");
  const Reply reply = HttpClient(address).ask(fmt::format("GET /grpc/{}/shop", one_.port()));
  EXPECT_EQ(reply.status, 503) << "it speaks no gRPC: " << reply.body;
}

TEST_F(ServiceCheck, WithFewDescriptorsIdleCallersOfItsHandlerTakeNoneFromProbes) {
  const uint16_t port = free_ports(1).front();
  const std::string address = fmt::format("127.0.0.1:{}", port);
  const std::string path = fmt::format("GET /{}/healthz", one_.port());
  fleet_.process("a-1").kill();
  configure("a-1", one_, "{web: {http: /healthz, period: 10s, timeout: 9s}}");
  const ChildProcess agent(ChildOptions{
      .arguments = {"prlimit", "--nofile=128", built("holdfastd"), "agent", "--data-dir",
                    fleet_.data_dir("a-1"), "--config", fleet_.folder().file("a-1.yaml"), "--set",
                    "agent.probe_listen=" + address},
      .output_file = fleet_.folder().file("few.log")});
  ASSERT_TRUE(eventually([&] { return listens(address); }, 20s)) << logs();
  RawConnections idle(port);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(idle.open(""));

  for (int i = 0; i < 20; ++i) {
    const Reply reply = HttpClient(address).ask(path);
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
}

TEST_F(ServiceCheck, AnAgentThatStartsExposesWhatIsIllOnlyOnceItIsWell) {
  fleet_.process("a-1").kill();
  one_.fall_ill();
  fleet_.start("a-1");
  ASSERT_TRUE(eventually([&] { return listens(health_["a-1"]); }, 20s)) << logs();
  ASSERT_TRUE(eventually([&] { return readiness("a-1").contains("HF2150"); }, 20s)) << logs();
  ASSERT_TRUE(eventually([&] { return metrics("a-1").contains("holdfast_agent_tunnels 2"); }, 20s));

  expect_untouched(one_, two_);
  one_.recover();
  expect_back(one_, "ill from the start");
}

}  // namespace
}  // namespace holdfast::test
