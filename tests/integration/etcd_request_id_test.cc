// Request ids on a real etcd that two controllers share: the write that either of them carries out
// is applied once.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <set>

#include "api/resource_service.h"
#include "base/check.h"
#include "integration/etcd_cluster.h"
#include "rpc/channel.h"
#include "store/etcd_store.h"
#include "store/store_contract_fixture.h"

namespace holdfast::api {
namespace {

// What a controller has of its own.
struct Part {
  Part(asio::io_context& io, const store::EtcdOptions& options, const Clock& clock)
      : store(io.get_executor(), options, clock),
        audit(*AuditService::open({}, clock)),
        gate(clock, *audit, {}),
        resources({store, gate, *audit, clock}, {}) {}
  store::EtcdStore store;
  std::unique_ptr<AuditService> audit;
  Gate gate;
  ResourceService resources;
};

class EtcdRequestId : public testing::Test {
 protected:
  store::EtcdOptions options(uint64_t seed) const {
    store::EtcdOptions made;
    made.endpoints = cluster_.endpoints();
    made.seed = seed;
    return made;
  }
  static v1::WriteRequest write_of(int number) {
    v1::WriteRequest request;
    *request.mutable_resource() =
        resource::make_resource(resource::Kind::Agent, "edge-" + std::to_string(number));
    request.mutable_resource()->mutable_agent()->set_zone("a");
    request.set_request_id("0123456789abcdef-" + std::to_string(number));
    return request;
  }
  // How often the key was written since it was made, as etcd counts it; and its lease.
  std::vector<etcdserverpb::KeyValue> pairs(const std::string& prefix) {
    const auto kv = etcdserverpb::KV::NewStub(rpc::make_channel(cluster_.endpoints().front(), {}));
    const store::KeyRange range =
        store::EtcdKeys(options(1).prefix).stored_range(store::prefix_range(prefix));
    etcdserverpb::RangeRequest request;
    request.set_key(range.begin);
    request.set_range_end(range.end);
    etcdserverpb::RangeResponse response;
    grpc::ClientContext context;
    const grpc::Status status = kv->Range(&context, request, &response);
    HF_CHECK(status.ok(), status.error_message());
    return {response.kvs().begin(), response.kvs().end()};
  }

  test::EtcdCluster cluster_{{}};
  SystemClock clock_;
  asio::io_context io_;
  Part one_{io_, options(1), clock_};
  Part two_{io_, options(2), clock_};
  const Caller local_{.identity = {.role = identity::Role::Local},
                      .permissions = std::make_shared<const identity::Permissions>()};
};

TEST_F(EtcdRequestId, TwinsThroughTwoControllersAreAppliedOnce) {
  constexpr int kWrites = 40;
  std::vector<Result<v1::Resource>> answers(2 * kWrites, absl::UnknownError("none"));
  for (int i = 0; i < 2 * kWrites; ++i) {
    Part& part = i % 2 == 0 ? one_ : two_;
    asio::co_spawn(io_, part.resources.upsert(local_, write_of(i / 2)),
                   [&answers, i](const std::exception_ptr&, Result<v1::Resource> answer) {
                     answers[static_cast<size_t>(i)] = std::move(answer);
                   });
  }
  io_.restart();
  io_.run();

  for (size_t i = 0; i < answers.size(); i += 2) {
    ASSERT_TRUE(answers[i].ok()) << answers[i].status();
    ASSERT_TRUE(answers[i + 1].ok()) << answers[i + 1].status();
    EXPECT_EQ(answers[i]->SerializeAsString(), answers[i + 1]->SerializeAsString());
  }
  const auto agents = pairs("/agent/");
  EXPECT_EQ(agents.size(), static_cast<size_t>(kWrites));
  for (const etcdserverpb::KeyValue& agent : agents) {
    EXPECT_EQ(agent.create_revision(), agent.mod_revision()) << "written once: " << agent.key();
  }
  EXPECT_EQ(one_.resources.stats().repeated + two_.resources.stats().repeated,
            static_cast<uint64_t>(kWrites));
}

TEST_F(EtcdRequestId, ADeleteIsKnownToTheOtherControllerAndRecordsShareTheirLeases) {
  const Time start = clock_.now();
  constexpr int kWrites = 30;
  for (int i = 0; i < kWrites; ++i) {
    ASSERT_TRUE(store::run(io_, one_.resources.create(local_, write_of(i))).ok());
  }
  const auto records = pairs("/request/");
  std::set<int64_t> leases;
  for (const etcdserverpb::KeyValue& record : records) leases.insert(record.lease());
  v1::DeleteRequest request;
  request.set_kind("agent");
  request.set_name("edge-1");
  request.set_request_id("fedcba9876543210");

  const auto removed = store::run(io_, one_.resources.remove(local_, request));
  const auto again = store::run(io_, two_.resources.remove(local_, request));

  ASSERT_TRUE(removed.ok()) << removed.status();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->revision(), removed->revision());
  EXPECT_EQ(records.size(), static_cast<size_t>(kWrites));
  EXPECT_FALSE(leases.contains(0)) << "every record expires";
  const auto buckets = (clock_.now() - start) / store::LeaseBucketOptions().width + 2;
  EXPECT_LE(leases.size(), static_cast<size_t>(buckets));
}

}  // namespace
}  // namespace holdfast::api
