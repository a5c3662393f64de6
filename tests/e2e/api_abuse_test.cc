// Callers that send too much or read too little: they get an error or wait, others notice nothing.
// More of that is in abuse/.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "e2e/api_client.h"
#include "e2e/cluster_process.h"
#include "e2e/idle_watches.h"
#include "support/eventually.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using grpc::StatusCode;

constexpr size_t kMegabyte = size_t{1} << 20;
constexpr size_t kMoreMemory = 160 * kMegabyte * kSanitizerCost;

class ApiAbuse : public testing::Test {
 protected:
  // A write from a new connection, seen by a new watch, all within a second.
  void expect_others_are_served() {
    const auto begin = std::chrono::steady_clock::now();
    ApiClient other(controller_.tcp_server(), controller_.admin());
    WatchReader watch(other, watch_request({"service"}));
    ASSERT_TRUE(watch.wait_for(1)) << watch.end().error_message();
    ASSERT_TRUE(other.upsert(service("other")).status.ok());
    ASSERT_TRUE(watch.wait_for(2)) << watch.end().error_message();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s * kSanitizerCost);
  }

  ClusterProcess controller_{without_rate_limit()};
  ApiClient client_{controller_.tcp_server(), controller_.admin()};
};

TEST_F(ApiAbuse, AMessageOverTheLimitIsRefusedAndTheServerGoesOn) {
  v1::Resource huge = service("huge");
  huge.mutable_metadata()->set_description(std::string(5 * kMegabyte, 'x'));
  v1::Resource large = service("large");
  large.mutable_metadata()->set_description(std::string(2 * kMegabyte, 'x'));

  EXPECT_EQ(client_.upsert(huge).status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(client_.upsert(large).status.error_code(), StatusCode::INVALID_ARGUMENT);

  EXPECT_EQ(client_.get("service", "huge").status.error_code(), StatusCode::NOT_FOUND);
  expect_others_are_served();
}

TEST_F(ApiAbuse, WatchersThatNeverReadDoNotSlowTheOthers) {
  constexpr size_t kEvents = 20'000;
  ApiClient stalled(controller_.tcp_server(), controller_.admin());
  IdleWatches never_read(stalled);
  never_read.open(20, watch_request({"service"}), IdleWatches::Reads::Nothing);
  WatchReader quick(client_, watch_request({"service"}));
  ASSERT_TRUE(quick.wait_for(1));
  ASSERT_TRUE(eventually([&] { return never_read.answered() == 20; }, 10s));
  const size_t before = controller_.memory_bytes();

  ApiClient writer(controller_.unix_server());
  const size_t refused = writer.upsert_many(kEvents, [](size_t i) {
    v1::Resource resource = service(fmt::format("s{}", i % 100));
    resource.mutable_metadata()->set_description(std::string(1'000, 'x'));
    return resource;
  });

  EXPECT_EQ(refused, 0U);
  ASSERT_TRUE(quick.wait_for(1 + kEvents)) << quick.count() << quick.end().error_message();
  const std::vector<SeenEvent> changes = quick.changes();
  for (size_t i = 1; i < changes.size(); ++i) {
    ASSERT_GT(changes[i].revision, changes[i - 1].revision);
  }
  EXPECT_EQ(changes.size(), kEvents);
  EXPECT_EQ(never_read.ended(), 0U) << "they have their grace";
  EXPECT_LT(controller_.memory_bytes(), before + kMoreMemory);
  expect_others_are_served();
}

}  // namespace
}  // namespace holdfast::test
