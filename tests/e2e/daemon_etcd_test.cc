// The daemon on a real etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/api_client.h"
#include "e2e/cluster_process.h"
#include "etcd/etcd.grpc.pb.h"
#include "integration/etcd_cluster.h"
#include "support/eventually.h"
#include "support/free_ports.h"

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

TEST(DaemonOnEtcd, WithoutEtcdItSaysSoAndStillEndsInTime) {
  ControllerProcess controller(
      {"--store", "etcd", "--etcd-endpoint", "127.0.0.1:" + std::to_string(free_ports(1).front())});

  const ProgramOutcome asked = controller.cli({"--timeout", "1", "get", "services"});
  controller.terminate();

  EXPECT_THAT(asked.exit_code, testing::AnyOf(69, 75)) << asked.error;
  EXPECT_EQ(controller.wait(3s), 0);
}

}  // namespace
}  // namespace holdfast::test
