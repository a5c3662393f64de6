// A kernel and a proxy that share one pool: places of one service in one zone, dealt to an agent
// that counts in the kernel and to a proxy. Clients of both come at once, and what each does not
// need the other gets; together they never have more than the zone carries.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "e2e/spill_world.h"
#include "e2e/track_fleet.h"
#include "support/eventually.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kCapacity = 30;
constexpr Duration kHold = 1s;
constexpr int kSeconds = 5;
// Connections a second that fill nine tenths of the zone.
constexpr double kBusy = 0.9 * kCapacity;

// Connections of one side in one step.
struct Came {
  uint64_t served = 0;
  uint64_t refused = 0;
};

// Clients of the virtual IP in the tracked cgroup.
Arguments kernel_clients(const TrackFleet& fleet, double seconds, double rate) {
  return fleet.inside({"/usr/bin/python3", in_tree("tests/e2e/track_client.py"), "rate", kWebIp,
                       "80", std::to_string(seconds), std::to_string(rate),
                       std::to_string(std::chrono::duration<double>(kHold).count())});
}

// They come for kSeconds.
class KernelClients {
 public:
  KernelClients(const TrackFleet& fleet, double rate) {
    if (rate <= 0) return;
    process_ = std::make_unique<ChildProcess>(ChildOptions{
        .arguments = kernel_clients(fleet, kSeconds, rate), .output_file = dir_.file("output")});
  }
  Came wait() {
    Came came;
    if (process_ == nullptr) return came;
    EXPECT_EQ(process_->wait(30s), 0);
    std::ifstream(dir_.file("output")) >> came.served >> came.refused;
    return came;
  }

 private:
  TempDir dir_;
  std::unique_ptr<ChildProcess> process_;
};

class TrackShare : public testing::Test {
 protected:
  struct Rates {
    double proxy = 0;
    double kernel = 0;
  };
  struct Step {
    Came proxy{};
    Came kernel{};
    // As the controller showed it meanwhile: the most that all had, and each of them.
    uint64_t most_leased = 0;
    uint64_t proxy_lease = 0;
    uint64_t kernel_lease = 0;
  };

  void SetUp() override {
    if (const std::string why = TrackFleet::why_not(); !why.empty()) {
      GTEST_SKIP() << "not counted in the kernel here: " << why;
    }
    fleet_ = std::make_unique<TrackFleet>();
    fleet_->load();
    app_ = std::make_unique<ZoneApp>('a', kCapacity);
    TunnelFleet& cluster = fleet_->cluster();
    cluster.apply(fmt::format(
        "kind: service\nmetadata: {{name: web}}\nspec: {{virtual_ip: {}, ports: [{{port: 80, "
        "protocol: tcp}}], endpoints: [{{address: '127.0.0.1:{}', zone: a}}], "
        "zone_capacity: {{a: {}}}, when_full: reject}}\n",
        kWebIp, app_->port(), kCapacity));
    cluster.add_proxy("p-a", "a", {"web"});
    cluster.add_agent("e-a", "a", {fmt::format("web=127.0.0.1:{}", app_->port())});
    fleet_->start_agent();
    clients_ = std::make_unique<SpillClients>(cluster.ports("p-a").ingress.front(), kHold);
    ASSERT_TRUE(eventually([&] { return both_serve(); }, 30s)) << fleet_->agent_log();
    ASSERT_TRUE(eventually([&] { return both_hold(); }, 30s)) << load() << fleet_->agent_log();
  }
  // A service that nobody uses has no pools yet.
  bool both_serve() {
    const std::string kernel =
        run_program({.arguments = kernel_clients(*fleet_, 0.1, 10)}).output;  // served, refused
    clients_->set_rate(10);
    const bool by_proxy = eventually([&] { return clients_->take()['a'] > 0; }, 2s);
    clients_->set_rate(0);
    return by_proxy && !kernel.empty() && !kernel.starts_with('0');
  }
  std::string load() { return fleet_->cluster().cli({"get", "load", "web", "-o", "wide"}).output; }
  // Leases, not fixed shares, which stand in brackets.
  bool both_hold() {
    const std::string shown = load();
    return shown.contains("agent/edge-1 0/") && shown.contains("proxy/p-a 0/") &&
           !shown.contains('(');
  }
  // SERVICE ZONE CAPACITY ACTIVE LEASED of the second line.
  static uint64_t leased(const std::string& shown) {
    std::istringstream words(shown.substr(shown.find('\n') + 1));
    std::string service, zone;
    uint64_t capacity = 0, active = 0, leased = 0;
    words >> service >> zone >> capacity >> active >> leased;
    return leased;
  }
  // The second number of a holder, as in "agent/edge-1 20/25": active and leased.
  static uint64_t lease_of(const std::string& holder, const std::string& shown) {
    const size_t at = shown.find(holder);
    const size_t slash = at == std::string::npos ? at : shown.find('/', at + holder.size());
    return slash == std::string::npos ? 0 : std::strtoull(&shown[slash + 1], nullptr, 10);
  }
  // Clients of one side alone come until the controller has leased it most of the zone.
  Step run_alone(const std::string& name, Rates rates) {
    Step step;
    for (int round = 0; round < 6; ++round) {
      step = run(name, rates);
      if (std::max(step.proxy_lease, step.kernel_lease) > kCapacity / 2) break;
    }
    return step;
  }
  Step run(const std::string& name, Rates rates) {
    Step step;
    clients_->take();
    KernelClients kernel(*fleet_, rates.kernel);
    clients_->set_rate(rates.proxy);
    const Time end = clock_.now() + std::chrono::seconds(kSeconds);
    eventually(
        [&] {
          const std::string shown = fleet_->cluster().controller().running() ? load() : "";
          step.most_leased = std::max(step.most_leased, leased(shown));
          step.proxy_lease = std::max(step.proxy_lease, lease_of("proxy/p-a", shown));
          step.kernel_lease = std::max(step.kernel_lease, lease_of("agent/edge-1", shown));
          return clock_.now() >= end;
        },
        30s);
    clients_->set_rate(0);
    step.kernel = kernel.wait();
    eventually([&] { return app_->active() == 0; }, 10s);
    std::map<char, uint64_t> came = clients_->take();
    step.proxy = {.served = came['a'], .refused = came['-']};
    std::cout << fmt::format(
        "{}: proxy {} served, {} refused; kernel {} served, {} refused; leased at most {} of {}; "
        "at "
        "most {} at once, {} of {} beyond\n",
        name, step.proxy.served, step.proxy.refused, step.kernel.served, step.kernel.refused,
        step.most_leased, kCapacity, app_->peak(), app_->beyond(), app_->accepted());
    return step;
  }

  SystemClock clock_;
  std::unique_ptr<TrackFleet> fleet_;
  std::unique_ptr<ZoneApp> app_;
  std::unique_ptr<SpillClients> clients_;
};

TEST_F(TrackShare, AKernelAndAProxyTogetherKeepToTheCapacityOfTheZone) {
  const Step proxy = run_alone("proxy alone", {.proxy = kBusy});
  const Step both = run("both", {.proxy = kBusy, .kernel = kBusy});
  const Step kernel = run_alone("kernel alone", {.kernel = kBusy});
  std::cout << load();

  for (const Step& step : {proxy, both, kernel}) EXPECT_LE(step.most_leased, kCapacity);
  // A side that is alone gets slots that the other side no longer needs.
  EXPECT_GT(proxy.proxy_lease, kCapacity / 2);
  EXPECT_GT(kernel.kernel_lease, kCapacity / 2);
  // Both want nine tenths: each gets some (who was there before more), and together they fill it.
  // How much each gets, and how soon, is measured by TrackShareNightly.
  EXPECT_GT(both.proxy.refused + both.kernel.refused, 0U);
  EXPECT_GT(both.proxy.served, 0U);
  EXPECT_GT(both.kernel.served, 0U);
  EXPECT_GT(both.proxy.served + both.kernel.served, kCapacity * (kSeconds - 1) * 3 / 4);
  EXPECT_LT(app_->beyond() * 100, app_->accepted());

  fleet_->cluster().controller().kill();
  let_pass(14s);  // leases run out, then what they held beyond the fixed shares
  const uint64_t before = app_->accepted();
  const Step alone = run("both, the controller dead", {.proxy = kBusy, .kernel = kBusy});

  EXPECT_GT(app_->accepted(), before + kCapacity);
  EXPECT_GT(alone.proxy.served, 0U);
  EXPECT_GT(alone.kernel.served, 0U);
  EXPECT_LT(app_->beyond() * 100, app_->accepted());
}

// The allocator takes no slot in use from a holder of the same zone: the kernel's clients get the
// slots that become free while the proxy's clients pause, so their share depends on the machine.
using TrackShareNightly = TrackShare;
TEST_F(TrackShareNightly, ANewcomerGetsAThirdOfTheCapacityInFiveSecondsAndAloneMostOfIt) {
  const Step proxy = run("proxy alone", {.proxy = kBusy});
  const Step both = run("both", {.proxy = kBusy, .kernel = kBusy});
  const Step kernel = run("kernel alone", {.kernel = kBusy});

  EXPECT_GT(proxy.proxy.served, proxy.proxy.refused);
  EXPECT_GT(kernel.kernel.served, kernel.kernel.refused);
  EXPECT_GT(both.proxy.served, kCapacity / 3);
  EXPECT_GT(both.kernel.served, kCapacity / 3);
}

}  // namespace
}  // namespace holdfast::test
