// Peers that send too much, too little or nonsense: they get an error, others notice nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/rng.h"
#include "e2e/api_client.h"
#include "e2e/controller_process.h"
#include "e2e/idle_watches.h"
#include "e2e/raw_connections.h"
#include "support/eventually.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using grpc::StatusCode;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kMegabyte = size_t{1} << 20;
constexpr size_t kMoreMemory = 160 * kMegabyte * kSanitizerCost;

class ApiAbuse : public testing::Test {
 protected:
  // A write from a new connection, seen by a new watch, all within a second.
  void expect_others_are_served() {
    const auto begin = std::chrono::steady_clock::now();
    ApiClient other(controller_.tcp_server());
    WatchReader watch(other, watch_request({"service"}));
    ASSERT_TRUE(watch.wait_for(1)) << watch.end().error_message();
    ASSERT_TRUE(other.upsert(service("other")).status.ok());
    ASSERT_TRUE(watch.wait_for(2)) << watch.end().error_message();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s * kSanitizerCost);
  }

  ControllerProcess controller_;
  ApiClient client_{controller_.tcp_server()};
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

TEST_F(ApiAbuse, GarbageOnThePortDisturbsNobody) {
  Rng rng(11);
  RawConnections connections(controller_.port());
  for (int i = 0; i < 200; ++i) {
    std::string bytes(i % 3 == 0 ? "" : kPreface);
    for (size_t size = rng.below(2'000); size > 0; --size) {
      bytes += static_cast<char>(rng.below(256));
    }
    ASSERT_TRUE(connections.open(bytes));
  }

  expect_others_are_served();
  EXPECT_TRUE(controller_.running());
}

TEST_F(ApiAbuse, FiveHundredHalfOpenAndIdleConnectionsDisturbNobody) {
  const size_t before = controller_.memory_bytes();
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  RawConnections connections(controller_.port());
  for (int i = 0; i < 500; ++i) {
    const std::string bytes[] = {"", std::string(kPreface.substr(0, 10)), std::string(kPreface),
                                 std::string(kPreface) + settings};
    ASSERT_TRUE(connections.open(bytes[i % 4])) << i;
  }

  expect_others_are_served();
  EXPECT_LT(controller_.memory_bytes(), before + kMoreMemory);
}

TEST_F(ApiAbuse, TooManyStreamsOnAConnectionWaitAndOthersGoOn) {
  constexpr size_t kMost = 1'024;
  IdleWatches watches(client_);
  watches.open(kMost + 100, watch_request({"service"}), IdleWatches::Reads::FirstMessage);
  ASSERT_TRUE(eventually([&] { return watches.answered() >= kMost; }, 10s)) << watches.answered();

  expect_others_are_served();
  EXPECT_EQ(watches.answered(), kMost);
  watches.cancel(200);
  EXPECT_TRUE(eventually([&] { return watches.answered() == kMost + 100; }, 10s))
      << watches.answered();
}

TEST_F(ApiAbuse, WatchersThatNeverReadDoNotSlowTheOthers) {
  constexpr size_t kEvents = 20'000;
  ApiClient stalled(controller_.tcp_server());
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
    ASSERT_EQ(changes[i].revision, changes[i - 1].revision + 1);
  }
  EXPECT_EQ(never_read.ended(), 0U) << "they have their grace";
  EXPECT_LT(controller_.memory_bytes(), before + kMoreMemory);
  expect_others_are_served();
}

}  // namespace
}  // namespace holdfast::test
