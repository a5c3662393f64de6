// Fill, then spill, by the kernel alone: an agent that counts, an application in each of three
// zones, and clients of the virtual IP that want 60, then 130, then 80 percent of what their zone
// can carry. So many of them are connected at any time, however fast the machine is. Also with the
// controller dead. The same through proxies is in spill_test.cc.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>

#include "base/check.h"
#include "e2e/spill_world.h"
#include "e2e/track_fleet.h"
#include "support/eventually.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kPython = "/usr/bin/python3";
const std::string kClient = in_tree("tests/e2e/track_client.py");
constexpr uint64_t kTrackSpillCapacity = 60;
constexpr const char* kHoldSeconds = "2";
constexpr size_t kStepSeconds = 6;
// A machine that is busy with other things has so long to come to rest.
constexpr Duration kPatience = 90s;

// Who is connected where at the end of a second.
struct Second {
  uint64_t a = 0;
  uint64_t b = 0;
  uint64_t c = 0;
  uint64_t refused = 0;  // in that second

  uint64_t all() const { return a + b + c; }
  double local() const {
    return all() == 0 ? 0 : static_cast<double>(a) / static_cast<double>(all());
  }
};

// Clients in the tracked cgroup; none at first.
class KeptClients {
 public:
  explicit KeptClients(const TrackFleet& fleet) {
    const std::string fifo = dir_.file("input");
    HF_CHECK(::mkfifo(fifo.c_str(), 0600) == 0, "a pipe");
    input_ = ::open(fifo.c_str(), O_RDWR | O_CLOEXEC);
    process_ = std::make_unique<ChildProcess>(ChildOptions{
        .arguments = fleet.inside({kPython, kClient, "keep", kWebIp, "80", kHoldSeconds}),
        .output_file = dir_.file("output"),
        .error_file = dir_.file("errors"),
        .input_file = fifo});
  }
  ~KeptClients() {
    process_->kill();
    ::close(input_);
  }
  KeptClients(const KeptClients&) = delete;
  KeptClients& operator=(const KeptClients&) = delete;

  void want(uint64_t count) const {
    const std::string line = fmt::format("{}\n", count);
    HF_CHECK(::write(input_, line.data(), line.size()) == std::ssize(line), "it listens");
  }
  std::vector<Second> seconds() const {
    std::vector<Second> all;
    std::ifstream output(dir_.file("output"));
    for (Second one; output >> one.a >> one.b >> one.c >> one.refused;) all.push_back(one);
    return all;
  }
  std::string errors() const {
    std::ifstream file(dir_.file("errors"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  TempDir dir_;
  int input_ = -1;
  std::unique_ptr<ChildProcess> process_;
};

class TrackSpill : public testing::Test {
 protected:
  // What is wanted, of the zone's capacity, and the share of it that is to stay in the zone in the
  // end.
  struct Offer {
    double offered = 0;
    double least = 0;
    double most = 1;
  };
  struct Step {
    bool settled = false;  // nearly all that were wanted were there, and shared as they should
    std::vector<double> local{};
    uint64_t refused = 0;
  };

  void SetUp() override {
    if (const std::string why = TrackFleet::why_not(); !why.empty()) {
      GTEST_SKIP() << "not counted in the kernel here: " << why;
    }
    fleet_ = std::make_unique<TrackFleet>();
    fleet_->load();
    std::string endpoints;
    for (const char zone : {'a', 'b', 'c'}) {
      apps_[zone] = std::make_unique<ZoneApp>(zone, kTrackSpillCapacity);
      endpoints +=
          fmt::format("{{address: '127.0.0.1:{}', zone: {}}}, ", apps_[zone]->port(), zone);
    }
    fleet_->cluster().apply(
        fmt::format("kind: service\nmetadata: {{name: web}}\nspec: {{virtual_ip: {0}, ports: "
                    "[{{port: 80, protocol: tcp}}], endpoints: [{1}], zone_capacity: {{a: {2}, b: "
                    "{2}, c: {2}}}, when_full: reject}}\n",
                    kWebIp, endpoints, kTrackSpillCapacity));
    fleet_->start_agent();
    ASSERT_TRUE(eventually([&] { return serves(); }, kPatience)) << fleet_->agent_log();
    clients_ = std::make_unique<KeptClients>(*fleet_);
    ASSERT_TRUE(eventually([&] { return is_leased(); }, kPatience)) << load();
  }
  // A client that comes before the kernel knows the service would not be heard.
  bool serves() const {
    const std::string served =
        fleet_->run_inside({kPython, kClient, "rate", kWebIp, "80", "0.1", "10", "0"}).output;
    return !served.empty() && !served.starts_with('0');
  }
  std::string load() { return fleet_->cluster().cli({"get", "load", "web", "-o", "wide"}).output; }
  // By a controller that deals, in no zone the fixed share, which stands in brackets.
  bool is_leased() {
    const std::string shown = load();
    return shown.contains("agent/edge-1") && !shown.contains('(') && !shown.contains("just begun");
  }
  Step run(const Offer& offer) {
    const auto wanted = static_cast<uint64_t>(std::lround(offer.offered * kTrackSpillCapacity));
    const size_t from = clients_->seconds().size() + 1;  // not the one that runs
    clients_->want(wanted);
    Step step;
    std::vector<Second> seconds;
    step.settled = eventually(
        [&] {
          seconds = clients_->seconds();
          if (seconds.size() < from + kStepSeconds) return false;
          const Second& last = seconds.back();
          const bool all_there = last.all() <= wanted && last.all() * 10 >= wanted * 9;
          return all_there && last.local() >= offer.least && last.local() <= offer.most;
        },
        kPatience);
    std::cout << fmt::format("wanted {:3.0f} %: local share by second", offer.offered * 100);
    for (size_t i = from; i < seconds.size(); ++i) {
      step.local.push_back(seconds[i].local());
      step.refused += seconds[i].refused;
      std::cout << fmt::format(" {:.2f}", seconds[i].local());
    }
    std::cout << fmt::format("; {} refused\n", step.refused);
    return step;
  }
  // Of all connections, those that came to an application that had as many as it carries.
  double beyond() const {
    uint64_t accepted = 0;
    uint64_t beyond = 0;
    for (const auto& [zone, app] : apps_) {
      accepted += app->accepted();
      beyond += app->beyond();
      std::cout << fmt::format("zone {}: {} accepted, {} beyond, at most {} of {}\n", zone,
                               app->accepted(), app->beyond(), app->peak(), kTrackSpillCapacity);
    }
    return static_cast<double>(beyond) / static_cast<double>(std::max<uint64_t>(accepted, 1));
  }

  std::unique_ptr<TrackFleet> fleet_;
  std::map<char, std::unique_ptr<ZoneApp>> apps_;
  std::unique_ptr<KeptClients> clients_;
};

// Nightly: it measures shares second by second.
class TrackSpillNightly : public TrackSpill {};

TEST_F(TrackSpillNightly, TheKernelFillsTheLocalZoneSpillsTheRestAndComesBack) {
  for (const Offer& offer :
       {Offer{.offered = 0.6, .least = 0.9}, Offer{.offered = 1.3, .least = 0.55, .most = 0.8},
        Offer{.offered = 0.8, .least = 0.9}}) {
    const Step step = run(offer);

    ASSERT_FALSE(step.local.empty()) << clients_->errors();
    EXPECT_TRUE(step.settled) << offer.offered << "\n" << load() << fleet_->agent_log();
    EXPECT_LE(reversals(step.local), 1) << offer.offered;
  }
  EXPECT_LT(beyond(), 0.01);
  clients_->want(0);
  const auto explained = [&] {
    return fleet_->cluster().cli({"route", "explain", "web", "--from", "a"}).output;
  };
  EXPECT_TRUE(eventually(
      [&] { return explained().contains("next:      a: it is first and has a place\n"); },
      kPatience))
      << explained();
  EXPECT_THAT(explained(), HasSubstr("of holders in a: agent/edge-1 "));
  std::cout << load() << explained();
}

// One holder has all places as its fixed share; there are no more than that for anybody.
TEST_F(TrackSpillNightly, WithTheControllerDeadTheKernelStillKeepsToTheCapacity) {
  fleet_->cluster().controller().kill();
  let_pass(11s);  // leases run out, then what they held beyond the fixed shares

  for (const double offered : {0.6, 1.3, 0.8}) {
    const Step step = run({.offered = offered});

    ASSERT_FALSE(step.local.empty()) << clients_->errors();
    EXPECT_TRUE(step.settled) << offered << "\n" << fleet_->agent_log();
    EXPECT_LE(reversals(step.local), 1) << offered;
  }
  EXPECT_LT(beyond(), 0.01);
  // More than all zones carry together.
  clients_->want(4 * kTrackSpillCapacity);
  EXPECT_TRUE(eventually(
      [&] {
        const std::vector<Second> seconds = clients_->seconds();
        return seconds.back().refused > 0 && seconds.back().all() > 2 * kTrackSpillCapacity;
      },
      kPatience))
      << clients_->errors();

  EXPECT_LT(beyond(), 0.01);
}

}  // namespace
}  // namespace holdfast::test
