// Fill, then spill, with real processes: a controller, a proxy, an agent and an application in each
// of three zones. Clients of zone a offer 60, then 130, then 80 percent of what their zone can
// carry; those of b and c half. Also with the controller dead for the whole run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "e2e/spill_world.h"
#include "e2e/tunnel_fleet.h"
#include "integration/lrs_server.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr uint64_t kCapacity = 60;
constexpr Duration kHold = 1s;
constexpr int kStepSeconds = 6;

struct Step {
  double offered = 0;           // of the capacity
  std::vector<double> local{};  // share of zone a, second by second
  uint64_t came = 0;
  uint64_t refused = 0;
};

class Spill : public testing::Test {
 protected:
  void start(const std::string& when_full = "overflow") {
    lrs_.start({"*"});
    fleet_.apply(fmt::format(R"(
kind: zone_map
metadata: {{name: default}}
spec: {{zones: [{{name: a, id: 1}}, {{name: b, id: 2}}, {{name: c, id: 3}}]}}
---
kind: service
metadata: {{name: web}}
spec:
  ports: [{{port: 80, protocol: tcp}}]
  zone_capacity: {{a: {0}, b: {0}, c: {0}}}
  when_full: {1}
)",
                             kCapacity, when_full));
    // What comes before it has asked is never told to it.
    ASSERT_TRUE(eventually([&] { return !lrs_.nodes().empty(); }, 60s));
    const std::vector<uint16_t> ports = free_ports(3);
    for (const char zone : {'a', 'b', 'c'}) {
      const std::string name(1, zone);
      apps_[zone] = std::make_unique<ZoneApp>(zone, kCapacity);
      metrics_[zone] = fmt::format("127.0.0.1:{}", ports[static_cast<size_t>(zone - 'a')]);
      fleet_.add_proxy("p-" + name, name, {"web"}, {"--listen", metrics_[zone]});
      fleet_.add_agent("e-" + name, name, {fmt::format("web=127.0.0.1:{}", apps_[zone]->port())});
    }
    for (const char zone : {'a', 'b', 'c'}) {
      const uint16_t port = fleet_.ports(fmt::format("p-{}", zone)).ingress.front();
      clients_[zone] = std::make_unique<SpillClients>(port, kHold);
      ASSERT_TRUE(eventually([&] { return serves(zone); }, 20s)) << logs();
    }
    ASSERT_TRUE(eventually([&] { return deals_to_all(); }, 20s)) << logs();
  }
  std::string load_json() { return fleet_.cli({"get", "load", "web", "-o", "json"}).output; }
  // Whether the controller has heard of every proxy and raises leases.
  bool deals_to_all() {
    const std::string load = load_json();
    return load.contains("proxy/p-a") && load.contains("proxy/p-b") && load.contains("proxy/p-c") &&
           !load.contains("warming_up");
  }
  // Whether clients of the zone reach the application there.
  bool serves(char zone) {
    clients_[zone]->take();
    clients_[zone]->set_rate(10);
    const bool served = eventually([&] { return clients_[zone]->take()[zone] > 0; }, 2s);
    clients_[zone]->set_rate(0);
    return served;
  }
  static double rate(double offered) {
    return offered * kCapacity / std::chrono::duration<double>(kHold).count();
  }
  Step run(double offered) {
    Step step{.offered = offered};
    clients_['a']->set_rate(rate(offered));
    for (int second = 0; second < kStepSeconds; ++second) {
      const Time next = clock_.now() + 1s;
      eventually([&] { return clock_.now() >= next; }, 5s);
      std::map<char, uint64_t> counts = clients_['a']->take();
      const uint64_t all = counts['a'] + counts['b'] + counts['c'];
      step.local.push_back(static_cast<double>(counts['a']) /
                           static_cast<double>(std::max<uint64_t>(all, 1)));
      step.came += all;
      step.refused += counts['-'];
    }
    std::cout << fmt::format("offered {:3.0f} %: local share by second", offered * 100);
    for (const double share : step.local) std::cout << fmt::format(" {:.2f}", share);
    std::cout << fmt::format("; {} connections, {} refused, {} reversals\n", step.came,
                             step.refused, reversals(step.local));
    return step;
  }
  std::vector<Step> run_all() {
    clients_['b']->set_rate(rate(0.5));
    clients_['c']->set_rate(rate(0.5));
    for (const auto& [zone, clients] : clients_) clients->take();
    std::vector<Step> steps;
    for (const double offered : {0.6, 1.3, 0.8}) steps.push_back(run(offered));
    for (const auto& [zone, clients] : clients_) clients->set_rate(0);
    return steps;
  }
  // Of all connections, those that came to an application that had as many as it carries.
  double beyond() {
    uint64_t accepted = 0;
    uint64_t beyond = 0;
    for (const auto& [zone, app] : apps_) {
      accepted += app->accepted();
      beyond += app->beyond();
      std::cout << fmt::format("zone {}: {} accepted, {} beyond, at most {} of {}\n", zone,
                               app->accepted(), app->beyond(), app->peak(), kCapacity);
    }
    return static_cast<double>(beyond) / static_cast<double>(accepted);
  }
  std::string metrics(char zone) { return HttpClient(metrics_[zone]).ask("GET /metrics").body; }
  std::string logs() {
    std::string all;
    for (const char* name : {"p-a", "e-a", "p-b", "e-b"}) all += fleet_.log(name);
    return all;
  }

  // What another control plane was told: each connection that an application accepted, once, and
  // those that failed.
  bool others_know_all() const {
    const auto told = [&](const auto& zone) {
      const LrsServer::Stats sum = lrs_.sum("web", std::string(1, zone.first));
      return sum.active == 0 && sum.opened == zone.second->accepted() + sum.failed;
    };
    return eventually([&] { return std::ranges::all_of(apps_, told); }, 10s);
  }
  void show_what_others_know() const {
    for (const auto& [zone, app] : apps_) {
      const LrsServer::Stats sum = lrs_.sum("web", std::string(1, zone));
      std::cout << fmt::format("zone {} by xDS: {} opened of {} accepted, {} failed, {} active\n",
                               zone, sum.opened, app->accepted(), sum.failed, sum.active);
    }
  }

  SystemClock clock_;
  LrsServer lrs_;
  TunnelFleet fleet_{{"load.lrs_server=" + lrs_.address()}};
  std::map<char, std::unique_ptr<ZoneApp>> apps_;
  std::map<char, std::string> metrics_;
  std::map<char, std::unique_ptr<SpillClients>> clients_;
};

// Nightly: it measures shares second by second.
class SpillNightly : public Spill {};

TEST_F(SpillNightly, TheLocalZoneFillsTheRestSpillsAndComesBack) {
  ASSERT_NO_FATAL_FAILURE(start());

  const std::vector<Step> steps = run_all();

  EXPECT_LT(beyond(), 0.01);
  for (const Step& step : steps) {
    EXPECT_LE(reversals(step.local), 1) << step.offered;
    EXPECT_EQ(step.refused, 0U) << step.offered;
  }
  EXPECT_GT(steps[0].local.back(), 0.95);
  EXPECT_LT(steps[1].local.back(), 0.90);
  EXPECT_GT(steps[1].local.back(), 0.55);
  EXPECT_GT(steps[2].local.back(), 0.95);
  // What people and Prometheus see of it.
  const std::string shown = metrics('a');
  EXPECT_THAT(shown, HasSubstr("holdfast_opened_connections_total{dst_zone=\"b\",src_zone=\"a\","
                               "svc_ip=\"web\",svc_port=\"80\",svc_proto=\"tcp\"}"));
  EXPECT_THAT(shown, HasSubstr("holdfast_route_leased{service=\"web\",zone=\"a\"} 1"));
  const ProgramOutcome load = fleet_.cli({"get", "load", "web", "-o", "wide"});
  EXPECT_EQ(load.exit_code, 0) << load.error;
  EXPECT_THAT(load.output, HasSubstr("proxy/p-a"));
  const ProgramOutcome zones = fleet_.cli({"get", "zones"});
  EXPECT_EQ(zones.exit_code, 0) << zones.error;
  EXPECT_THAT(zones.output, HasSubstr("of 60"));
  const ProgramOutcome route = fleet_.cli({"route", "explain", "web", "--from", "b"});
  EXPECT_EQ(route.exit_code, 0) << route.error;
  EXPECT_THAT(route.output, HasSubstr("next:      b: it is first and has a place"));
  const ProgramResult http =
      run_program({"curl", "-s", "--unix-socket", fleet_.controller().data_dir() + "/http.sock",
                   "http://localhost/v1/load"},
                  10s);
  EXPECT_THAT(http.output, HasSubstr("\"holder\":\"proxy/p-a\""));
  std::cout << load.output << zones.output << route.output;
  const ProgramOutcome json = fleet_.cli({"route", "explain", "web", "--from", "b", "-o", "json"});
  EXPECT_THAT(json.output, HasSubstr("\"next\": \"b\"")) << json.error;
  EXPECT_TRUE(others_know_all());
  show_what_others_know();
  // A stream to them does not hold up the controller's end.
  fleet_.controller().terminate();
  EXPECT_EQ(fleet_.controller().wait(10s), 0) << fleet_.controller().log();
}

// Leases are small where nobody comes. Who finds them taken waits for more, not as long as one
// waits in a queue.
TEST_F(Spill, ACrowdIsServedAsLongAsThereArePlaces) {
  ASSERT_NO_FATAL_FAILURE(start("reject"));
  constexpr uint64_t kCrowd = 100;
  // What nobody uses goes back to the controller: no proxy keeps a fixed share, or a lease of use.
  const auto rests = [&] {
    const boost::json::value load = boost::json::parse(load_json());
    const boost::json::array& pools = load.at("pools").as_array();
    return pools.size() == 3 && std::ranges::all_of(pools, [](const boost::json::value& pool) {
             return pool.at("charged").to_number<uint64_t>() <= kCapacity / 4;
           });
  };
  std::map<char, uint64_t> counts;
  ASSERT_TRUE(eventually(rests, 30s)) << load_json();
  clients_['a']->take();
  clients_['a']->set_rate(1000, kCrowd);
  const auto all_came = [&] {
    uint64_t came = 0;
    for (const auto& [zone, count] : clients_['a']->take()) counts[zone] += count;
    for (const auto& [zone, count] : counts) came += count;
    return came == kCrowd;
  };
  ASSERT_TRUE(eventually(all_came, 20s));

  std::cout << fmt::format("a crowd of 100: {} in a, {} in b, {} in c, {} refused\n", counts['a'],
                           counts['b'], counts['c'], counts['-']);
  EXPECT_EQ(counts['-'], 0U);
  EXPECT_LT(beyond(), 0.01);
}

TEST_F(SpillNightly, WithTheControllerDeadItIsStillBounded) {
  ASSERT_NO_FATAL_FAILURE(start());
  fleet_.controller().kill();
  ASSERT_TRUE(eventually(
      [&] { return metrics('a').contains("holdfast_route_leased{service=\"web\",zone=\"a\"} 0"); },
      20s));

  const std::vector<Step> steps = run_all();

  EXPECT_LT(beyond(), 0.01);
  for (const Step& step : steps) EXPECT_LE(reversals(step.local), 1) << step.offered;
}

}  // namespace
}  // namespace holdfast::test
