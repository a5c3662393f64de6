#include "web/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "holdfast/v1/node.pb.h"
#include "resource/codec.h"
#include "resource/registry.h"

namespace holdfast::web {
namespace {

using namespace std::chrono_literals;
using health::Component;
using health::State;

const Moment kMoment{.now = Time(100s), .wall_now = WallTime(1'700'000'100s)};

TEST(Answer, EachFailureHasItsStatus) {
  const std::pair<absl::StatusCode, int> expected[] = {
      {absl::StatusCode::kInvalidArgument, 400},   {absl::StatusCode::kUnauthenticated, 401},
      {absl::StatusCode::kPermissionDenied, 403},  {absl::StatusCode::kNotFound, 404},
      {absl::StatusCode::kAlreadyExists, 409},     {absl::StatusCode::kFailedPrecondition, 409},
      {absl::StatusCode::kOutOfRange, 410},        {absl::StatusCode::kAborted, 412},
      {absl::StatusCode::kResourceExhausted, 429}, {absl::StatusCode::kUnimplemented, 501},
      {absl::StatusCode::kUnavailable, 503},       {absl::StatusCode::kCancelled, 503},
      {absl::StatusCode::kDeadlineExceeded, 504},  {absl::StatusCode::kDataLoss, 500},
      {absl::StatusCode::kInternal, 500},
  };
  for (const auto& [code, status] : expected) {
    EXPECT_EQ(http_status(Status(code, "why")), status) << absl::StatusCodeToString(code);
  }
}

TEST(Answer, AnErrorHasItsCodeOrTheOneOfItsKind) {
  EXPECT_EQ(error_json(coded(absl::StatusCode::kUnauthenticated, "HF5003", "a \"quoted\" text")),
            R"({"error":{"code":"HF5003","message":"a \"quoted\" text"}})");
  EXPECT_EQ(error_json(absl::NotFoundError("gone")),
            R"({"error":{"code":"HF6020","message":"gone"}})");
  EXPECT_THAT(error_answer(absl::ResourceExhaustedError("")).headers,
              testing::Contains(testing::Pair("Retry-After", "1")));
}

TEST(Answer, AResourceIsWhatTheCommandLinePrintsAndReadsBack) {
  v1::Resource web = resource::make_resource(resource::Kind::Service, "web");
  web.mutable_metadata()->set_revision(7);

  const net::HttpResponse response = resource_answer(web);

  EXPECT_EQ(response.body, resource::to_json(web) + "\n");
  EXPECT_THAT(response.headers, testing::Contains(testing::Pair("ETag", "\"7\"")));
}

TEST(Answer, AListSaysItsRevisionAndHowToGoOn) {
  v1::ListResponse list;
  EXPECT_EQ(list_answer(list).body,
            "{\"apiVersion\":\"holdfast.dev/v1\",\"kind\":\"list\","
            "\"metadata\":{\"revision\":0},\"items\":[]}\n");
  *list.add_resources() = resource::make_resource(resource::Kind::Service, "a");
  *list.add_resources() = resource::make_resource(resource::Kind::Service, "b");
  list.set_revision(9);
  list.set_next_page_token("9:b");

  const std::string body = list_answer(list).body;

  EXPECT_THAT(body, testing::HasSubstr(R"("metadata":{"revision":9,"next_page_token":"9:b"})"));
  EXPECT_THAT(body, testing::HasSubstr(resource::to_json(list.resources(0)) + "," +
                                       resource::to_json(list.resources(1)) + "]}"));
}

TEST(Answer, AMessageShowsZerosAndWordsButNotWhatIsAbsent) {
  v1::GetStatusResponse status;
  status.set_controller("c1");
  auto& component = *status.add_components();
  component.set_name("store");
  component.set_state(v1::HEALTH_STATE_DEGRADED);
  component.mutable_since()->set_seconds(1'700'000'000);

  const std::string json = message_json(status);

  EXPECT_THAT(json, testing::StartsWith(R"({"controller":"c1","version":"","cluster":"","state":)"
                                        R"("ok","components":[{"name":"store","state":"degraded",)"
                                        R"("since":"2023-11-14T22:13:20Z",)"));
  EXPECT_THAT(json, testing::HasSubstr(R"("revision":0,"nodes":[],"watchers":0)"));
  EXPECT_THAT(json, testing::Not(testing::HasSubstr("certificate_expires")));
}

TEST(Answer, AServiceConfigKeepsAnEmptyNameApartFromNone) {
  v1::GetServiceConfigResponse response;
  EXPECT_EQ(message_json(response), "{}");
  auto& config = *response.mutable_config();
  config.add_load_balancing_config()->mutable_pick_healthy()->set_mode("reconnect");
  config.mutable_health_check_config()->set_service_name("");

  EXPECT_EQ(message_json(response),
            R"({"config":{"load_balancing_config":[{"pick_healthy":{"mode":"reconnect"}}],)"
            R"("health_check_config":{"service_name":""}}})");
}

TEST(Answer, ReadinessIs200OnlyIfEverythingIsOk) {
  const std::vector<Component> components = {
      {.name = "announce", .state = State::Ok, .since = Time(40s)},
      {.name = "store",
       .state = State::Degraded,
       .since = Time(90s),
       .code = "HF1101",
       .reason = "the write took too long"},
      {.name = "watch", .state = State::Recovering, .since = Time(95s), .code = "HF1101"}};

  const net::HttpResponse degraded = ready_answer(State::Degraded, components, kMoment);

  EXPECT_EQ(degraded.status, 503);
  EXPECT_EQ(degraded.body,
            R"({"status":"degraded","components":[)"
            R"({"name":"announce","status":"ok","since":"2023-11-14T22:14:00.000Z"},)"
            R"({"name":"store","status":"degraded","since":"2023-11-14T22:14:50.000Z",)"
            R"("code":"HF1101","reason":"the write took too long"},)"
            R"({"name":"watch","status":"recovering","since":"2023-11-14T22:14:55.000Z",)"
            R"("code":"HF1101"}],"reasons":["HF1101"]})"
            "\n");
  for (const State state : {State::Starting, State::Recovering}) {
    EXPECT_EQ(ready_answer(state, {}, kMoment).status, 503);
  }
  EXPECT_EQ(ready_answer(State::Ok, {components.data(), 1}, kMoment).status, 200);
}

TEST(Answer, OneComponentAnswersForItself) {
  const std::vector<Component> components = {{.name = "a", .state = State::Ok, .since = Time(0s)},
                                             {.name = "b", .state = State::Starting}};

  EXPECT_EQ(component_answer("a", components, kMoment).status, 200);
  EXPECT_EQ(component_answer("b", components, kMoment).status, 503);
  EXPECT_EQ(component_answer("c", components, kMoment).status, 404);
}

}  // namespace
}  // namespace holdfast::web
