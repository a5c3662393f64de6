// What the tests of failover stand on: a pair of controllers on one etcd of which either can be
// broken alone, and a balancer that knows nothing of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "e2e/api_client.h"
#include "e2e/etcd_pair.h"
#include "e2e/failover_stuck_server.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using testing::Pair;
using testing::UnorderedElementsAre;

class FailoverHarness : public testing::Test {
 protected:
  static std::string controller_behind(const ApiClient& client) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 5s);
    v1::GetStatusResponse response;
    const grpc::Status status =
        v1::Status::NewStub(client.channel())->GetStatus(&context, {}, &response);
    return status.ok() ? response.controller() : status.error_message();
  }

  int health_of(const Half& half) {
    const ApiClient client(half.controller.tcp_server(), pair_.admin());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 2s);
    HealthCheckResponse response;
    const grpc::Status status = grpc::health::v1::Health::NewStub(client.channel())
                                    ->Check(&context, HealthCheckRequest(), &response);
    return status.ok() ? response.status() : -1;
  }

  EtcdPair pair_{{.arguments = {"--set", "health.recovery_window=1s"}}};
};

TEST_F(FailoverHarness, TheBalancerLeadsToBothInTurnAndBothShareOneStore) {
  ApiClient first(pair_.balancer().address(), pair_.admin());
  ApiClient second(pair_.balancer().address(), pair_.admin());

  const std::set<std::string> reached = {controller_behind(first), controller_behind(second)};
  ASSERT_TRUE(first.upsert(service("shared")).status.ok());
  const Answer seen = second.get("service", "shared");

  EXPECT_EQ(reached, (std::set<std::string>{"a", "b"}));
  EXPECT_TRUE(seen.status.ok()) << seen.status.error_message();
  EXPECT_THAT(pair_.balancer().own_connections(), UnorderedElementsAre(Pair("a", 1), Pair("b", 1)));
}

TEST_F(FailoverHarness, AHungRelayTakesTheStoreFromOneControllerOnly) {
  const Half broken = pair_.a();

  broken.lose_store();
  const bool noticed = eventually([&] { return broken.readiness() == 503; }, 10s);

  EXPECT_TRUE(noticed) << broken.controller.log();
  EXPECT_EQ(health_of(broken), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(health_of(pair_.b()), HealthCheckResponse::SERVING);
  broken.find_store();
  EXPECT_TRUE(eventually([&] { return broken.ready(); }, 30s)) << broken.controller.log();
}

TEST_F(FailoverHarness, AKilledOneIsPassedOverAndComesBack) {
  const Half killed = pair_.b();

  killed.controller.kill();
  std::vector<std::string> reached;
  for (int i = 0; i < 3; ++i) {
    reached.push_back(controller_behind(ApiClient(pair_.balancer().address(), pair_.admin())));
  }
  pair_.mend();

  EXPECT_THAT(reached, testing::Each("a"));
  EXPECT_EQ(health_of(killed), HealthCheckResponse::SERVING);
}

TEST_F(FailoverHarness, AServerThatTakesNoNewConnectionsKeepsThoseItHas) {
  pair_.balancer().set_takes_new("b", false);
  const ApiClient only_a(pair_.balancer().address(), pair_.admin());
  const std::string before = controller_behind(only_a);
  pair_.balancer().set_takes_new("b", true);
  pair_.balancer().set_takes_new("a", false);
  const ApiClient only_b(pair_.balancer().address(), pair_.admin());
  const std::string other = controller_behind(only_b);
  const std::string after = controller_behind(only_a);
  pair_.balancer().set_takes_new("a", true);

  EXPECT_EQ(before, "a");
  EXPECT_EQ(other, "b");
  EXPECT_EQ(after, "a");
}

TEST_F(FailoverHarness, AStuckServerIsTakenForAControllerAndAnswersNothing) {
  StuckServer stuck;
  stuck.open(pair_.server_identity());
  const ApiClient client(stuck.address(), pair_.admin());

  const auto connects_by = std::chrono::system_clock::now() + 5s;
  const bool connected = client.channel()->WaitForConnected(connects_by);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 500ms);
  v1::GetServiceConfigResponse response;
  const grpc::Status status = v1::ServiceConfigDiscovery::NewStub(client.channel())
                                  ->GetServiceConfig(&context, {}, &response);

  EXPECT_TRUE(connected);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  EXPECT_EQ(stuck.discoveries(), 1U);
}

}  // namespace
}  // namespace holdfast::test
