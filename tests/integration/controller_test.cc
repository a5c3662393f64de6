// A whole controller in this process, under the sanitizers, with real gRPC clients.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <thread>

#include "app/controller.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "rpc/channel.h"
#include "support/temp_dir.h"

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

// A controller on its own loop and thread.
class Running {
 public:
  explicit Running(ControllerOptions options) {
    auto started = Controller::start(loop_, clock_, std::move(options));
    HF_CHECK(started.ok(), started.status().ToString());
    controller_ = *std::move(started);
    thread_ = std::thread([this] { loop_.run(); });
    channel_ = rpc::make_channel(controller_->addresses().front(), {});
  }
  ~Running() {
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

// One watch, read by the test.
class Watching {
 public:
  Watching(const Running& controller, int64_t after)
      : stub_(v1::Events::NewStub(controller.channel())) {
    v1::WatchRequest request;
    request.add_kinds()->set_kind("agent");
    request.set_after_revision(after);
    context_.set_deadline(std::chrono::system_clock::now() + 30s);
    stream_ = stub_->Watch(&context_, request);
  }
  // The revisions of the next message; empty when the stream is over.
  std::vector<int64_t> next() {
    v1::WatchResponse response;
    std::vector<int64_t> revisions;
    if (!stream_->Read(&response)) return revisions;
    for (const v1::Event& event : response.events()) revisions.push_back(event.revision());
    return revisions;
  }
  void cancel() { context_.TryCancel(); }
  grpc::Status finish() { return stream_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::Events::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> stream_;
};

class ControllerTest : public testing::Test {
 protected:
  ControllerOptions options(StoreType store) {
    return {.data_dir = dir_.file("data"), .store = store};
  }
  static int64_t put(const Running& controller, const std::string& name) {
    grpc::ClientContext context;
    v1::WriteRequest request;
    request.mutable_resource()->mutable_metadata()->set_name(name);
    request.mutable_resource()->mutable_agent()->set_zone("a");
    v1::Resource response;
    const grpc::Status status =
        v1::Resources::NewStub(controller.channel())->Upsert(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.metadata().revision();
  }
  static int64_t list_revision(const Running& controller) {
    grpc::ClientContext context;
    v1::ListRequest request;
    request.set_kind("agent");
    v1::ListResponse response;
    EXPECT_TRUE(
        v1::Resources::NewStub(controller.channel())->List(&context, request, &response).ok());
    return response.revision();
  }

  test::TempDir dir_;
};

TEST_F(ControllerTest, WithoutAFolderItAsksForOne) {
  const SystemClock clock;
  asio::io_context loop;

  const auto started = Controller::start(loop, clock, {.data_dir = "", .store = StoreType::Memory});

  ASSERT_EQ(started.status().code(), absl::StatusCode::kInvalidArgument) << started.status();
  EXPECT_NE(started.status().message().find("--data-dir"), std::string::npos);
}

TEST_F(ControllerTest, WatchersThatLeaveWhileTheyAreDueDoNoHarm) {
  const Running controller(options(StoreType::Memory));
  Watching steady(controller, 0);
  steady.next();
  int64_t last = 0;
  for (int round = 0; round < 30; ++round) {
    std::vector<std::unique_ptr<Watching>> leaving;
    for (int i = 0; i < 20; ++i) leaving.push_back(std::make_unique<Watching>(controller, 0));
    for (const auto& watching : leaving) watching->next();
    last = put(controller, "a");
    for (const auto& watching : leaving) watching->cancel();
    for (const auto& watching : leaving) watching->finish();
  }

  int64_t seen = 0;
  size_t count = 0;
  while (seen < last) {
    const std::vector<int64_t> revisions = steady.next();
    ASSERT_FALSE(revisions.empty());
    EXPECT_GT(revisions.front(), seen);
    seen = revisions.back();
    count += revisions.size();
  }
  EXPECT_EQ(count, 30U) << "each put once; the controller's own heartbeats lie in between";
}

TEST_F(ControllerTest, TheRevisionOfAListIsNeverInTheFuture) {
  const Running controller(options(StoreType::Sqlite));
  for (int i = 0; i < 50; ++i) {
    put(controller, "a");
    const int64_t revision = list_revision(controller);
    Watching watching(controller, revision);
    const std::vector<int64_t> init = watching.next();
    ASSERT_FALSE(init.empty()) << watching.finish().error_message();
    EXPECT_EQ(init.front(), revision);
    watching.cancel();
    watching.finish();
  }
}

TEST_F(ControllerTest, AWatchResumesOverARestart) {
  int64_t first = 0;
  int64_t last = 0;
  {
    const Running controller(options(StoreType::Sqlite));
    first = put(controller, "a");
    put(controller, "b");
    last = put(controller, "c");
  }
  const Running controller(options(StoreType::Sqlite));
  Watching resumed(controller, first);

  EXPECT_EQ(resumed.next(), std::vector{first});  // Init
  std::vector<int64_t> seen;
  while (seen.empty() || seen.back() < last) {
    const std::vector<int64_t> more = resumed.next();
    ASSERT_FALSE(more.empty());
    seen.insert(seen.end(), more.begin(), more.end());
  }

  EXPECT_EQ(seen, (std::vector<int64_t>{first + 1, last}));
}

TEST_F(ControllerTest, ARevisionTheStoreHasNotReachedIsRefused) {
  const Running controller(options(StoreType::Memory));
  Watching watching(controller, put(controller, "a") + 1);

  EXPECT_TRUE(watching.next().empty());
  EXPECT_EQ(watching.finish().error_code(), grpc::StatusCode::OUT_OF_RANGE);
}

TEST_F(ControllerTest, StopsWithWatchesOpenAndTellsThem) {
  std::optional<Running> controller(std::in_place, options(StoreType::Memory));
  Watching watching(*controller, 0);
  watching.next();

  controller.reset();

  EXPECT_TRUE(watching.next().empty());
  EXPECT_EQ(watching.finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ControllerTest, ASecondControllerOnOneFolderIsRefused) {
  const Running controller(options(StoreType::Memory));
  const SystemClock clock;
  asio::io_context loop;

  const auto second = Controller::start(loop, clock, options(StoreType::Memory));

  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace holdfast::app
