// The maintainers' list for pick_healthy, with real controllers that say how to balance: when a
// client stays, when it leaves, and where its calls go when nothing better is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/etcd_pair.h"
#include "e2e/failover_traffic.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

Arguments balancing_by(const std::string& mode) {
  return {"--set", R"(grpc_service_config={"loadBalancingConfig":[{"pick_healthy":{"mode":")" +
                       mode + R"("}}],"healthCheckConfig":{"serviceName":""}})"};
}

class FailoverModes : public testing::Test {
 protected:
  void begin(const std::string& mode) {
    Arguments arguments = {"--set", "health.recovery_window=1s"};
    if (mode == "pick_first") {
      const Arguments more = balancing_by(mode);
      arguments.insert(arguments.end(), more.begin(), more.end());
    }
    pair_ = std::make_unique<EtcdPair>(EtcdPairOptions{.arguments = arguments});
    client_ = std::make_unique<FailoverTraffic>(
        TrafficOptions{.addresses = {pair_->balancer().address()}, .tls = pair_->admin()});
  }

  std::string in_use() {
    const Result<std::string> used = client_->controller_in_use();
    EXPECT_TRUE(used.ok()) << used.status();
    return used.value_or("");
  }
  bool moves_to(const Half& half, Duration patience = 20s) {
    const auto there = [&] {
      const Result<std::string> used = client_->controller_in_use();
      return used.ok() && *used == half.name;
    };
    return eventually(there, patience);
  }
  static void lose_store(const Half& half) {
    half.lose_store();
    ASSERT_TRUE(eventually([&] { return half.readiness() == 503; }, 10s)) << half.controller.log();
  }

  std::unique_ptr<EtcdPair> pair_;
  std::unique_ptr<FailoverTraffic> client_;
};

TEST_F(FailoverModes, PickFirstStaysOnAnUnhealthyControllerUntilItStops) {
  begin("pick_first");
  const Half used = pair_->half(in_use());
  const uint64_t connection = client_->pin()->id;

  lose_store(used);
  let_pass(5s);  // a client that leaves has left after 3 s
  const std::string meanwhile = in_use();
  const uint64_t connection_meanwhile = client_->pin()->id;
  const auto connections = pair_->balancer().own_connections();
  used.controller.kill();

  EXPECT_EQ(meanwhile, used.name);
  EXPECT_EQ(connection_meanwhile, connection);
  EXPECT_THAT(connections, ElementsAre(Pair(used.name, 1)));
  EXPECT_TRUE(moves_to(pair_->other(used.name)));
}

TEST_F(FailoverModes, ReconnectLeavesAnUnhealthyControllerAndReturnsWhenTheOtherDies) {
  begin("reconnect");
  const Half unhealthy = pair_->half(in_use());
  const Half healthy = pair_->other(unhealthy.name);

  lose_store(unhealthy);
  ASSERT_TRUE(moves_to(healthy));
  EXPECT_TRUE(eventually(
      [&] {
        const auto open = pair_->balancer().own_connections();
        return open.size() == 1 && open.contains(healthy.name);
      },
      5s));
  healthy.controller.kill();

  EXPECT_TRUE(moves_to(unhealthy)) << "calls go to the unhealthy one when it is all there is";
  EXPECT_EQ(unhealthy.readiness(), 503);
}

TEST_F(FailoverModes, AChangedModeIsTakenOverAtTheNextConnection) {
  begin("pick_first");
  ASSERT_NE(in_use(), "");
  for (const Half& half : {pair_->a(), pair_->b()}) {
    half.controller.terminate();
    ASSERT_EQ(half.controller.wait(20s), 0);
    half.controller.start(balancing_by("reconnect"));
  }
  pair_->mend();
  const Half used = pair_->half(in_use());

  lose_store(used);

  EXPECT_TRUE(moves_to(pair_->other(used.name)));
  EXPECT_EQ(used.readiness(), 503);
}

}  // namespace
}  // namespace holdfast::test
