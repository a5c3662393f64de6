// Request ids with whole controllers: over gRPC and HTTP, and over a restart.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <fmt/format.h>

#include <thread>

#include "app/controller.h"
#include "base/check.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "resource/registry.h"
#include "rpc/channel.h"
#include "support/http_client.h"
#include "support/old_server.h"
#include "support/temp_dir.h"

namespace holdfast::app {
namespace {

using testing::HasSubstr;

constexpr const char* kId = "0123456789-abcdef";

// A controller on its own loop and thread.
class RequestIdRunning {
 public:
  explicit RequestIdRunning(const std::string& data_dir) {
    auto started =
        Controller::start(loop_, clock_, {.data_dir = data_dir, .store = StoreType::Sqlite});
    HF_CHECK(started.ok(), started.status().ToString());
    controller_ = *std::move(started);
    thread_ = std::thread([this] { loop_.run(); });
    channel_ = rpc::make_channel(controller_->addresses().front(), {});
  }
  ~RequestIdRunning() {
    asio::co_spawn(loop_, controller_->stop(), asio::detached);
    thread_.join();
  }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  SystemClock clock_;
  asio::io_context loop_{1};
  std::unique_ptr<Controller> controller_;
  std::thread thread_;
  std::shared_ptr<grpc::Channel> channel_;
};

struct Answer {
  grpc::Status status{};
  v1::Resource resource{};
};

Answer create(const std::shared_ptr<grpc::Channel>& channel, const std::string& id) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::WriteRequest request;
  *request.mutable_resource() = resource::make_resource(resource::Kind::Agent, "edge");
  request.mutable_resource()->mutable_agent()->set_zone("a");
  request.set_request_id(id);
  Answer answer;
  answer.status = v1::Resources::NewStub(channel)->Create(&context, request, &answer.resource);
  return answer;
}

class RequestIdTest : public testing::Test {
 protected:
  std::string data_dir() const { return folder_.file("data"); }
  test::TempDir folder_;
};

TEST_F(RequestIdTest, AWriteIsKnownAfterARestart) {
  auto controller = std::make_unique<RequestIdRunning>(data_dir());
  const Answer first = create(controller->channel(), kId);
  controller.reset();

  controller = std::make_unique<RequestIdRunning>(data_dir());
  const Answer again = create(controller->channel(), kId);
  const Answer another = create(controller->channel(), "another-0123456789");

  ASSERT_TRUE(first.status.ok()) << first.status.error_message();
  ASSERT_TRUE(again.status.ok()) << again.status.error_message();
  EXPECT_EQ(again.resource.SerializeAsString(), first.resource.SerializeAsString());
  EXPECT_EQ(another.status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(RequestIdTest, WithoutAnIdAndWithAnOldServerAWriteIsTakenForANewOne) {
  const RequestIdRunning controller(data_dir());
  const test::OldServer old(controller.channel());
  const auto to_old = rpc::make_channel(old.address(), {});

  EXPECT_TRUE(create(to_old, kId).status.ok());
  EXPECT_EQ(create(to_old, kId).status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(create(controller.channel(), "").status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(RequestIdTest, OverHttpItIsTheIdempotencyKey) {
  const RequestIdRunning controller(data_dir());
  const auto send = [&](const std::string& method, const std::string& body) {
    // One each: a controller that is not yet healthy closes after every answer.
    test::HttpClient client("unix:" + data_dir() + "/http.sock");
    client.send(
        fmt::format("{}/v1/agent/edge HTTP/1.1\r\nHost: x\r\nIdempotency-Key: {}-{}\r\n"
                    "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                    method, kId, method.front(), body.size(), body));
    return client.read_reply();
  };
  const std::string body = R"({"kind":"agent","metadata":{"name":"edge"},"spec":{"zone":"a"}})";
  const std::string changed = R"({"kind":"agent","metadata":{"name":"edge"},"spec":{"zone":"b"}})";

  const test::Reply put = send("PUT ", body);
  const test::Reply put_again = send("PUT ", body);
  const test::Reply misused = send("PUT ", changed);
  const test::Reply removed = send("DELETE ", "");
  const test::Reply removed_again = send("DELETE ", "");

  EXPECT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(put_again.body, put.body);
  EXPECT_EQ(misused.status, 400);
  EXPECT_THAT(misused.body, HasSubstr("HF6024"));
  EXPECT_EQ(removed.status, 200) << removed.body;
  EXPECT_EQ(removed_again.body, removed.body);
}

}  // namespace
}  // namespace holdfast::app
