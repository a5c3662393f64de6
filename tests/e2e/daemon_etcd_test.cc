// The daemon on a real etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/api_client.h"
#include "e2e/cluster_process.h"
#include "etcd/etcd.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "integration/etcd_cluster.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Another user of the same etcd writes a key of its own.
void write_foreign_key(const std::string& endpoint) {
  const auto kv = etcdserverpb::KV::NewStub(rpc::make_channel(endpoint, {}));
  etcdserverpb::PutRequest put;
  put.set_key("/somebody/else");
  put.set_value("x");
  etcdserverpb::PutResponse response;
  grpc::ClientContext context;
  const grpc::Status status = kv->Put(&context, put, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
}

TEST(DaemonOnEtcd, AppliesGetsWatchesAndKeeps) {
  const EtcdCluster etcd({});
  ControllerProcess controller({"--store", "etcd", "--etcd-endpoint", etcd.endpoints().front()});

  const ProgramOutcome created = controller.cli({"apply", "-f", "-"}, service_yaml("web"));
  const int64_t first = ApiClient(controller.unix_server()).get("service", "web").revision;
  const ProgramOutcome changed = controller.cli({"apply", "-f", "-"}, service_yaml("web", 9090));
  controller.cli({"delete", "service/web"});
  const ProgramOutcome watched =
      controller.cli({"watch", "svc", "--after", std::to_string(first), "--count", "2"});
  controller.cli({"apply", "-f", "-"}, service_yaml("api"));
  controller.kill();
  controller.start();

  EXPECT_EQ(created.output, "service/web created\n") << created.error;
  EXPECT_EQ(changed.output, "service/web configured\n") << changed.error;
  EXPECT_EQ(watched.exit_code, 0) << watched.error;
  EXPECT_THAT(watched.output, HasSubstr("\ndelete service/web"));
  EXPECT_EQ(controller.cli({"get", "svc", "-o", "name"}).output, "service/api\n");
}

TEST(DaemonOnEtcd, AListCanBeWatchedFromThoughOthersWriteToTheSameEtcd) {
  const EtcdCluster etcd({});
  ClusterProcess controller({"--store", "etcd", "--etcd-endpoint", etcd.endpoints().front()});
  ApiClient client(controller.tcp_server(), controller.admin());
  ASSERT_TRUE(client.upsert(service("web")).status.ok());
  write_foreign_key(etcd.endpoints().front());
  const v1::ListResponse list = client.list_page({"service"});

  WatchReader watch(client, watch_request({"service"}, list.revision()));
  ASSERT_TRUE(watch.wait_for(1)) << watch.end().error_message();
  ASSERT_TRUE(client.upsert(service("api")).status.ok());

  ASSERT_TRUE(watch.wait_for(2)) << watch.end().error_message();
  EXPECT_EQ(watch.events()[1].name, "api");
}

// One of two controllers on one etcd, whose nodes are offline after two seconds of silence.
struct OneOfTwo {
  OneOfTwo(const EtcdCluster& etcd, std::string its_name)
      : name(std::move(its_name)),
        controller({"--store", "etcd", "--etcd-endpoint", etcd.endpoints().front(), "--name", name,
                    "--set", "presence.agent_ttl=2s", "--set", "presence.agent_max_ttl=2s"}) {}

  // Who it says does what one alone does.
  bool says_holder(const std::string& holder) const {
    return controller.cli({"status", "-o", "json"})
        .output.contains("\"tasks_holder\": \"" + holder + "\"");
  }
  bool has_metric(const std::string& line) const {
    const Reply reply = HttpClient(controller.health_server()).ask("GET /metrics");
    return reply.body.contains("\n" + line + "\n");
  }
  void announce(const std::string& agent) const {
    const ApiClient client(controller.unix_server());
    const auto presence = v1::Presence::NewStub(client.channel());
    v1::AnnounceRequest request;
    request.mutable_resource()->mutable_metadata()->set_name(agent);
    request.mutable_resource()->mutable_agent()->set_zone("a");
    const std::string pin = "sha256:" + std::string(64, 'a');
    request.add_trusted_pins(pin);
    request.set_issuer_pin(pin);
    v1::AnnounceResponse response;
    grpc::ClientContext context;
    const grpc::Status said = presence->Announce(&context, request, &response);
    EXPECT_TRUE(said.ok()) << said.error_message();
  }
  bool is_offline(const std::string& agent) const {
    return controller.cli({"get", "agent/" + agent, "-o", "yaml"}).output.contains("offline_since");
  }

  std::string name;
  ControllerProcess controller;
};

TEST(DaemonOnEtcd, OneOfTwoMarksNodesAndWhenItFreezesTheOtherDoesForGood) {
  const EtcdCluster etcd({});
  OneOfTwo a(etcd, "a");
  ASSERT_TRUE(eventually([&] { return a.says_holder("a"); }, 20s)) << a.controller.log();
  OneOfTwo b(etcd, "b");
  ASSERT_TRUE(eventually([&] { return b.says_holder("a"); }, 20s)) << b.controller.log();
  EXPECT_THAT(b.controller.cli({"status"}).output, HasSubstr("done by controller a"));
  b.announce("first");
  ASSERT_TRUE(eventually([&] { return b.is_offline("first"); }, 20s));
  ASSERT_TRUE(
      eventually([&] { return a.has_metric("holdfast_nodes_marked_offline_total 1"); }, 5s));
  ASSERT_TRUE(b.has_metric("holdfast_nodes_marked_offline_total 0"));

  a.controller.freeze();
  b.announce("second");
  EXPECT_TRUE(eventually([&] { return b.is_offline("second"); }, 30s)) << b.controller.log();
  EXPECT_TRUE(b.says_holder("b"));
  b.announce("third");
  a.controller.thaw();
  EXPECT_TRUE(eventually([&] { return b.is_offline("third"); }, 20s)) << b.controller.log();

  EXPECT_TRUE(eventually([&] { return a.says_holder("b"); }, 20s)) << a.controller.log();
  EXPECT_TRUE(eventually([&] { return a.has_metric("holdfast_tasks_held 0"); }, 5s));
  EXPECT_TRUE(a.has_metric("holdfast_nodes_marked_offline_total 1")) << "the woken one wrote";
  EXPECT_TRUE(eventually([&] { return b.has_metric("holdfast_tasks_held 1"); }, 5s));
}

TEST(DaemonOnEtcd, AHolderThatIsStoppedLeavesItsTasksAtOnce) {
  const EtcdCluster etcd({});
  OneOfTwo a(etcd, "a");
  ASSERT_TRUE(eventually([&] { return a.says_holder("a"); }, 20s)) << a.controller.log();
  OneOfTwo b(etcd, "b");
  ASSERT_TRUE(eventually([&] { return b.says_holder("a"); }, 20s)) << b.controller.log();

  a.controller.terminate();
  ASSERT_EQ(a.controller.wait(20s), 0);

  EXPECT_TRUE(eventually([&] { return b.says_holder("b"); }, 4s)) << "the lease is five seconds";
}

TEST(DaemonOnEtcd, WithoutEtcdItSaysSoAndStillEndsInTime) {
  ControllerProcess controller(
      {"--store", "etcd", "--etcd-endpoint", "127.0.0.1:" + std::to_string(free_ports(1).front())});

  const ProgramOutcome asked = controller.cli({"--timeout", "1", "get", "services"});
  controller.terminate();

  EXPECT_THAT(asked.exit_code, testing::AnyOf(69, 75)) << asked.error;
  EXPECT_EQ(controller.wait(10s), 0);
}

}  // namespace
}  // namespace holdfast::test
