// Watch over gRPC: what is confirmed, what is refused, and that nothing is missed or seen twice.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "e2e/api_client.h"
#include "e2e/cluster_process.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

class ApiWatch : public testing::Test {
 protected:
  grpc::Status status_of(const v1::WatchRequest& request) {
    WatchReader watch(client_, request);
    return watch.wait_until_it_ends();
  }

  ClusterProcess controller_{without_rate_limit()};
  ApiClient client_{controller_.tcp_server(), controller_.admin()};
};

std::vector<int64_t> revisions(const std::vector<SeenEvent>& events) {
  std::vector<int64_t> all;
  for (const SeenEvent& event : events) all.push_back(event.revision);
  return all;
}

TEST_F(ApiWatch, InitComesFirstAndOnceWithTheConfirmedKinds) {
  WatchReader watch(client_, watch_request({"service", "agent"}));
  ASSERT_TRUE(watch.wait_for(1));
  ASSERT_TRUE(client_.upsert(service("web")).status.ok());
  ASSERT_TRUE(client_.remove("service", "web").status.ok());
  ASSERT_TRUE(watch.wait_for(3));

  const std::vector<SeenEvent> events = watch.events();
  EXPECT_EQ(events[0].type, v1::EVENT_TYPE_INIT);
  EXPECT_THAT(events[0].confirmed, ElementsAre("service", "agent"));
  EXPECT_EQ(events[1].type, v1::EVENT_TYPE_PUT);
  EXPECT_EQ(events[2].type, v1::EVENT_TYPE_DELETE);
  EXPECT_EQ(watch.changes().size(), 2U);
}

TEST_F(ApiWatch, StreamsEndWhenTheirUserIsDisabledAndOthersGoOn) {
  ApiClient alice(controller_.tcp_server(), controller_.certificate_for("alice", {"viewer"}));
  WatchReader hers(alice, watch_request({"service"}));
  WatchReader others(client_, watch_request({"service"}));
  ASSERT_TRUE(hers.wait_for(1)) << hers.end().error_message();
  ASSERT_TRUE(others.wait_for(1));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const auto health = grpc::health::v1::Health::NewStub(alice.channel())->Watch(&context, {});
  grpc::health::v1::HealthCheckResponse answer;
  ASSERT_TRUE(health->Read(&answer));

  const std::string disabled =
      "kind: user\nmetadata: {name: alice}\nspec: {roles: [viewer], disabled: true}\n";
  ASSERT_EQ(controller_.cli({"apply", "-f", "-"}, disabled).exit_code, 0);

  const grpc::Status ended = hers.wait_until_it_ends();
  EXPECT_EQ(ended.error_code(), StatusCode::UNAUTHENTICATED) << ended.error_message();
  EXPECT_THAT(ended.error_message(), HasSubstr("HF5012"));
  while (health->Read(&answer)) {
  }
  EXPECT_EQ(health->Finish().error_code(), StatusCode::UNAUTHENTICATED);
  ASSERT_TRUE(client_.upsert(service("web")).status.ok());
  EXPECT_TRUE(others.wait_for(2));
}

TEST_F(ApiWatch, AWatchEndsWhenItMayNoLongerSeeWhatItSees) {
  const std::string role =
      "kind: role\nmetadata: {name: team}\nspec: {rules: [{kinds: [service], verbs: [watch]}]}\n";
  ASSERT_EQ(controller_.cli({"apply", "-f", "-"}, role).exit_code, 0);
  ApiClient bob(controller_.tcp_server(), controller_.certificate_for("bob", {"team"}));
  WatchReader watch(bob, watch_request({"service"}));
  ASSERT_TRUE(watch.wait_for(1)) << watch.end().error_message();

  const std::string narrower =
      "kind: role\nmetadata: {name: team}\nspec: {rules: [{kinds: [agent], verbs: [watch]}]}\n";
  ASSERT_EQ(controller_.cli({"apply", "-f", "-"}, narrower).exit_code, 0);

  EXPECT_EQ(watch.wait_until_it_ends().error_code(), StatusCode::PERMISSION_DENIED);
}

TEST_F(ApiWatch, AStrictWatchOfAnUnknownKindFailsWithTheReason) {
  const grpc::Status status = status_of(watch_request({"service", "gateway"}));

  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("\"gateway\""));
}

TEST_F(ApiWatch, PartialSuccessNarrowsToWhatCanBeWatched) {
  v1::WatchRequest request = watch_request({"gateway", "service", "tunnel"});
  request.set_allow_partial_success(true);
  v1::WatchRequest nothing_left = watch_request({"gateway"});
  nothing_left.set_allow_partial_success(true);

  WatchReader watch(client_, request);

  ASSERT_TRUE(watch.wait_for(1));
  EXPECT_THAT(watch.events()[0].confirmed, ElementsAre("service"));
  EXPECT_EQ(status_of(nothing_left).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ApiWatch, RequestsThatCannotBeMeantAreRefused) {
  v1::WatchRequest too_many;
  for (int i = 0; i < 1000; ++i) too_many.add_kinds()->set_kind("service");
  v1::WatchRequest long_name = watch_request({"service"});
  long_name.mutable_kinds(0)->set_name(std::string(10'000, 'x'));

  EXPECT_EQ(status_of(watch_request({})).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status_of(watch_request({""})).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status_of(watch_request({"service"}, -1)).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status_of(too_many).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status_of(long_name).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ApiWatch, ARevisionInTheFutureIsOutOfRange) {
  const int64_t now = client_.list_page({"service"}).revision();
  for (const int64_t ahead : {now + 1'000, now + 1'000'000, INT64_MAX}) {
    const grpc::Status status = status_of(watch_request({"service"}, ahead));
    EXPECT_EQ(status.error_code(), StatusCode::OUT_OF_RANGE) << ahead;
    EXPECT_THAT(status.error_message(), HasSubstr("future"));
  }
}

TEST_F(ApiWatch, BytesThatAreNoRequestAreRefused) {
  grpc::GenericStub stub(client_.channel());
  for (const std::string& bytes : {std::string("\xff\xff\xff\xff"), std::string(1000, '\x0a')}) {
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const auto stream = stub.PrepareCall(&context, "/holdfast.v1.Events/Watch", &queue);
    void* tag = nullptr;
    bool ok = false;
    stream->StartCall(nullptr);
    queue.Next(&tag, &ok);
    const grpc::Slice slice(bytes);
    stream->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    queue.Next(&tag, &ok);
    grpc::Status status;
    stream->Finish(&status, nullptr);
    queue.Next(&tag, &ok);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
  }
  EXPECT_TRUE(client_.upsert(service("web")).status.ok());
}

TEST_F(ApiWatch, AReconnectingClientSeesEveryEventOnceAndInOrder) {
  constexpr size_t kWrites = 3'000;
  const int64_t start = client_.list_page({"service"}).revision();
  std::jthread writer([&] {
    ApiClient other(controller_.unix_server());
    EXPECT_EQ(other.upsert_many(kWrites, [](size_t i) { return service(fmt::format("s{}", i)); }),
              0U);
  });
  std::vector<SeenEvent> seen;
  int64_t last = start;
  size_t connections = 0;
  while (seen.size() < kWrites && connections < 200) {
    ApiClient fresh(controller_.tcp_server(), controller_.admin());
    WatchReader watch(fresh, watch_request({"service"}, last));
    connections += 1;
    const size_t enough = std::min<size_t>(kWrites - seen.size(), 250);
    ASSERT_TRUE(watch.wait_for(1 + enough)) << watch.end().error_message();
    watch.end();
    for (const SeenEvent& event : watch.changes()) seen.push_back(event);
    last = seen.back().revision;
  }
  writer.join();

  // Each service was written once. Revisions have gaps: the controller writes, too.
  std::set<std::string> names;
  for (const SeenEvent& event : seen) names.insert(event.name);
  const std::vector<int64_t> all = revisions(seen);
  EXPECT_GT(connections, 1U);
  EXPECT_EQ(seen.size(), kWrites);
  EXPECT_EQ(names.size(), kWrites);
  EXPECT_EQ(std::ranges::adjacent_find(all, std::greater_equal<>()), all.end());
}

TEST_F(ApiWatch, LabelsNarrowAndAResourceThatStopsMatchingIsSeenAsDeleted) {
  v1::WatchRequest request = watch_request({"service"});
  (*request.mutable_kinds(0)->mutable_labels())["tier"] = "front";
  WatchReader watch(client_, request);
  ASSERT_TRUE(watch.wait_for(1));

  ASSERT_TRUE(client_.upsert(service("web", {{"tier", "front"}})).status.ok());
  ASSERT_TRUE(client_.upsert(service("web", {{"tier", "back"}})).status.ok());
  ASSERT_TRUE(client_.upsert(service("last", {{"tier", "front"}})).status.ok());

  ASSERT_TRUE(watch.wait_for(4));
  const std::vector<SeenEvent> changes = watch.changes();
  EXPECT_EQ(changes[0].type, v1::EVENT_TYPE_PUT);
  EXPECT_EQ(changes[1].type, v1::EVENT_TYPE_DELETE);
  EXPECT_EQ(changes[1].name, "web");
  EXPECT_EQ(changes[2].name, "last");
}

TEST_F(ApiWatch, WatchersThatComeAndGoUnderLoadDisturbNobody) {
  WatchReader steady(client_, watch_request({"service"}));
  ASSERT_TRUE(steady.wait_for(1));
  std::jthread writer([&] {
    ApiClient other(controller_.unix_server());
    other.upsert_many(4'000, [](size_t i) { return service(fmt::format("s{}", i)); });
  });
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<WatchReader>> passing;
    for (int i = 0; i < 10; ++i) {
      passing.push_back(std::make_unique<WatchReader>(client_, watch_request({"service"})));
    }
    for (const auto& watch : passing) watch->wait_for(1);
  }
  writer.join();

  EXPECT_TRUE(steady.wait_for(4'001));
  EXPECT_TRUE(controller_.running());
}

}  // namespace
}  // namespace holdfast::test
