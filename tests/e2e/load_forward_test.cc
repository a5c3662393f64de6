// Several controllers on one store: one of them deals capacities, whoever is asked.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "e2e/etcd_pair.h"
#include "holdfast/v1/load.grpc.pb.h"
#include "integration/lrs_server.h"
#include "rpc/channel.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// The local socket of one controller.
class Asked {
 public:
  explicit Asked(const Half& half)
      : stub_(v1::Load::NewStub(rpc::make_channel(half.controller.unix_server(), {}))) {}

  grpc::Status report(uint64_t number, uint64_t active) {
    v1::LoadReport request;
    request.set_holder("proxy/p-1");
    request.set_zone("z");
    request.set_boot(1);
    request.set_number(number);
    v1::PoolReport& pool = *request.add_pools();
    pool.set_service("web");
    pool.set_zone("z");
    pool.set_active(active);
    v1::LoadGrant grant;
    return stub_->Report(context().get(), request, &grant);
  }
  grpc::Status load(v1::GetLoadResponse& seen) {
    return stub_->GetLoad(context().get(), v1::GetLoadRequest(), &seen);
  }

 private:
  static std::unique_ptr<grpc::ClientContext> context() {
    auto made = std::make_unique<grpc::ClientContext>();
    made->set_deadline(std::chrono::system_clock::now() + 5s);
    return made;
  }
  std::unique_ptr<v1::Load::Stub> stub_;
};

// And it alone tells another control plane.
TEST(LoadForward, WhoeverIsToldTheOneThatDealsKnows) {
  LrsServer other;
  other.start({"*"});
  EtcdPair pair({.arguments = {"--set", "load.lrs_server=" + other.address()}});
  Asked a(pair.a());
  Asked b(pair.b());
  grpc::Status status;
  uint64_t number = 0;
  // Each announces itself within seconds; until then the other does not know where it is.
  ASSERT_TRUE(eventually(
      [&] {
        status = a.report(++number, 1);
        return status.ok();
      },
      30s))
      << status.error_message();
  ASSERT_TRUE(eventually(
      [&] {
        status = b.report(++number, 7);
        return status.ok();
      },
      30s))
      << status.error_message();

  v1::GetLoadResponse by_a;
  v1::GetLoadResponse by_b;
  ASSERT_TRUE(a.load(by_a).ok());
  ASSERT_TRUE(b.load(by_b).ok());

  EXPECT_EQ(by_a.controller(), by_b.controller());
  ASSERT_EQ(by_a.pools_size(), 1);
  ASSERT_EQ(by_b.pools_size(), 1);
  EXPECT_EQ(by_a.pools(0).active(), 7U);
  EXPECT_EQ(by_b.pools(0).active(), 7U);
  EXPECT_TRUE(eventually([&] { return other.sum("web", "z").active == 7; }, 20s));
  EXPECT_THAT(other.nodes(), testing::ElementsAre("controller/" + by_a.controller()));
}

}  // namespace
}  // namespace holdfast::test
