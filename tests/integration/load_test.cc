// Load reports against a whole controller, over TLS with real certificates: what is stored decides,
// nobody speaks for another, and people see what was said.
#include <gtest/gtest.h>

#include "holdfast/v1/load.grpc.pb.h"
#include "integration/cluster_callers.h"
#include "resource/registry.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class LoadOverGrpc : public testing::Test {
 protected:
  LoadOverGrpc() {
    v1::Resource service = resource::make_resource(resource::Kind::Service, "web");
    v1::ServicePort& port = *service.mutable_service()->add_ports();
    port.set_port(80);
    port.set_protocol(v1::PROTOCOL_TCP);
    (*service.mutable_service()->mutable_zone_capacity())["a"] = 20;
    service.mutable_service()->set_when_full(v1::WHEN_FULL_QUEUE);
    cluster_.upsert(service);
  }
  // As this caller; an empty grant if it is refused.
  v1::LoadGrant report(const std::string& column, uint64_t number, uint64_t active) {
    v1::LoadReport request;
    request.set_holder("proxy/somebody-else");
    request.set_boot(1);
    request.set_number(number);
    request.set_grant(granted_[column]);
    v1::PoolReport& pool = *request.add_pools();
    pool.set_service("web");
    pool.set_zone("a");
    pool.set_active(active);
    pool.set_opened(active);
    pool.set_limit(active);
    v1::LoadGrant grant;
    status_ =
        v1::Load::NewStub(cluster_.as(column).channel)->Report(patient().get(), request, &grant);
    if (status_.ok()) granted_[column] = grant.number();
    return grant;
  }
  v1::GetLoadResponse load(const std::string& column) {
    v1::GetLoadRequest request;
    request.set_with_holders(true);
    v1::GetLoadResponse response;
    status_ = v1::Load::NewStub(cluster_.as(column).channel)
                  ->GetLoad(patient().get(), request, &response);
    return response;
  }

  ClusterCallers cluster_;
  std::map<std::string, uint64_t> granted_;
  grpc::Status status_;
};

TEST_F(LoadOverGrpc, WhatIsReportedIsGrantedAndShownUnderTheNameOfTheCertificate) {
  // The controller follows its own store.
  uint64_t number = 0;
  ASSERT_TRUE(eventually([&] { return report("proxy", ++number, 3).pools_size() == 1; }, 10s))
      << status_.error_message();
  ASSERT_EQ(report("agent", 1, 2).pools_size(), 1) << status_.error_message();

  const v1::GetLoadResponse seen = load("viewer");

  ASSERT_TRUE(status_.ok()) << status_.error_message();
  ASSERT_EQ(seen.pools_size(), 1);
  const v1::PoolStatus& pool = seen.pools(0);
  EXPECT_EQ(pool.capacity(), 20U);
  EXPECT_EQ(pool.active(), 5U);
  EXPECT_EQ(pool.when_full(), v1::WHEN_FULL_QUEUE);
  ASSERT_EQ(pool.holders_size(), 2);
  EXPECT_EQ(pool.holders(0).holder(), "agent/" + cluster_.as("agent").name);
  EXPECT_EQ(pool.holders(1).holder(), "proxy/" + cluster_.as("proxy").name);
}

TEST_F(LoadOverGrpc, WhatCannotBeIsRefusedWithItsCode) {
  report("proxy", 0, 1);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(status_.error_message().starts_with("HF2401: ")) << status_.error_message();
  report("proxy", 5, 1);
  EXPECT_TRUE(status_.ok()) << status_.error_message();
  report("proxy", 5, 1);
  EXPECT_TRUE(status_.error_message().starts_with("HF2406: ")) << status_.error_message();
  report("viewer", 6, 1);
  EXPECT_TRUE(status_.error_message().starts_with("HF5001: ")) << status_.error_message();
}

TEST_F(LoadOverGrpc, AHolderThatFloodsIsSlowedDownAndTheOthersAreNot) {
  int refused = 0;
  for (uint64_t number = 1; refused == 0 && number <= 1'000; ++number) {
    report("proxy", number, 1);
    refused += status_.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
  report("agent", 1, 1);
  EXPECT_TRUE(status_.ok()) << status_.error_message();
}

}  // namespace
}  // namespace holdfast::test
