// Old and new together, on the wire: clients that know less than the controller, and controllers
// that know less than their clients (docs/api.md, "Old and new together").
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <thread>

#include "app/controller.h"
#include "base/check.h"
#include "base/clock.h"
#include "events/watch_request.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "integration/cluster_callers.h"
#include "resource/registry.h"
#include "rpc/channel.h"
#include "support/old_server.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

using Channel = std::shared_ptr<grpc::Channel>;
using resource::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

v1::WatchRequest watch_of(const std::vector<std::string>& kinds, bool partial = false) {
  v1::WatchRequest request;
  for (const std::string& kind : kinds) request.add_kinds()->set_kind(kind);
  request.set_allow_partial_success(partial);
  return request;
}

std::vector<events::WatchKind> asked_by(const v1::WatchRequest& request) {
  return events::from_proto(request, {}).value().kinds;
}

// One watch, read by the test.
class Watching {
 public:
  Watching(const Channel& channel, const v1::WatchRequest& request)
      : stub_(v1::Events::NewStub(channel)), stream_(stub_->Watch(context_.get(), request)) {}
  ~Watching() { context_->TryCancel(); }

  // Absent when the stream is over.
  std::optional<v1::Event> next() {
    while (at_ == response_.events_size()) {
      at_ = 0;
      if (!stream_->Read(&response_)) return std::nullopt;
    }
    return response_.events(at_++);
  }
  grpc::Status finish() { return stream_->Finish(); }

 private:
  std::unique_ptr<grpc::ClientContext> context_ = patient();
  std::unique_ptr<v1::Events::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> stream_;
  v1::WatchResponse response_;
  int at_ = 0;
};

grpc::Status end_of(const Channel& channel, const v1::WatchRequest& request) {
  Watching watching(channel, request);
  EXPECT_FALSE(watching.next().has_value()) << "all or nothing";
  return watching.finish();
}

std::vector<std::string> names_of(const std::vector<events::WatchKind>& kinds) {
  std::vector<std::string> names;
  for (const events::WatchKind& kind : kinds) names.push_back(kind.kind);
  return names;
}

template <typename Message>
void add_unknown_field(Message& message) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(1'000, "of tomorrow");
}

class CompatibilityTest : public testing::Test {
 protected:
  CompatibilityTest() {
    auto started = app::Controller::start(
        loop_, clock_, {.data_dir = folder_.file("data"), .store = app::StoreType::Memory});
    HF_CHECK(started.ok(), started.status().ToString());
    controller_ = *std::move(started);
    channel_ = rpc::make_channel(controller_->addresses().front(), {});
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~CompatibilityTest() override {
    boost::asio::co_spawn(loop_, controller_->stop(), boost::asio::detached);
    thread_.join();
  }

  // To the controller of today.
  const Channel& local() const { return channel_; }
  static v1::WriteRequest write_of(const std::string& name) {
    v1::WriteRequest request;
    *request.mutable_resource() = resource::make_resource(Kind::Service, name);
    v1::ServicePort& port = *request.mutable_resource()->mutable_service()->add_ports();
    port.set_port(80);
    port.set_protocol(v1::PROTOCOL_TCP);
    return request;
  }
  using Stub = v1::Resources::Stub;
  template <typename Request, typename Response>
  static grpc::Status call(const Channel& channel,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           const Request& request, Response* response) {
    const auto stub = v1::Resources::NewStub(channel);
    return ((*stub).*method)(patient().get(), request, response);
  }
  static v1::ListRequest list_of(const std::string& kind) {
    v1::ListRequest request;
    request.set_kind(kind);
    return request;
  }
  static Channel channel_to(const OldServer& server) {
    return rpc::make_channel(server.address(), {});
  }

 private:
  TempDir folder_;
  SystemClock clock_;
  boost::asio::io_context loop_{1};
  std::unique_ptr<app::Controller> controller_;
  Channel channel_;
  std::thread thread_;
};

// An old client, the controller of today.

TEST_F(CompatibilityTest, AnOldClientWatchesAllOfItsKindsOrGetsTheOriginalError) {
  const grpc::Status unknown = end_of(local(), watch_of({"service", "spaceship"}));
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(unknown.error_message(), HasSubstr("spaceship"));

  const ClusterCallers cluster;
  const grpc::Status denied = end_of(cluster.as("agent").channel, watch_of({"service", "user"}));
  EXPECT_EQ(denied.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(denied.error_message(), HasSubstr("HF5001"));
}

TEST_F(CompatibilityTest, AnOldClientReadsInitAsTheEventWithNothingSet) {
  Watching watching(local(), watch_of({"service", "agent"}));

  std::optional<v1::Event> init = watching.next();

  ASSERT_TRUE(init.has_value());
  EXPECT_GT(init->revision(), 0);
  init->clear_revision();
  init->clear_status();  // what it does not know
  EXPECT_EQ(init->ByteSizeLong(), 0U);
}

TEST_F(CompatibilityTest, FieldsOfTomorrowAreIgnoredInRequestsAndKeptInResources) {
  v1::WriteRequest write = write_of("web");
  add_unknown_field(write);
  add_unknown_field(*write.mutable_resource()->mutable_service());
  v1::Resource written;
  const grpc::Status upserted = call(local(), &Stub::Upsert, write, &written);
  ASSERT_TRUE(upserted.ok()) << upserted.error_message();

  v1::ListRequest list = list_of("service");
  add_unknown_field(list);
  v1::ListResponse listed;
  ASSERT_TRUE(call(local(), &Stub::List, list, &listed).ok());
  v1::WatchRequest watch = watch_of({"service"});
  watch.set_after_revision(written.metadata().revision() - 1);
  add_unknown_field(watch);
  add_unknown_field(*watch.mutable_kinds(0));
  Watching watching(local(), watch);

  ASSERT_EQ(listed.resources_size(), 1);
  EXPECT_THAT(listed.resources(0).SerializeAsString(), HasSubstr("of tomorrow"));
  ASSERT_TRUE(watching.next().has_value());
  EXPECT_THAT(watching.next()->SerializeAsString(), HasSubstr("of tomorrow"));
}

// A client of today, an old controller.

TEST_F(CompatibilityTest, AnInitThatListsNothingConfirmsAllThatWasAskedFor) {
  const OldServer old(local());
  const v1::WatchRequest request = watch_of({"service", "agent", "zone_map"}, true);
  Watching watching(channel_to(old), request);

  const std::optional<v1::Event> init = watching.next();

  ASSERT_TRUE(init.has_value());
  EXPECT_FALSE(init->has_status());
  EXPECT_EQ(events::confirmed_by(*init, asked_by(request)).value(), asked_by(request));
}

TEST_F(CompatibilityTest, AServerFromBeforePartialSuccessFailsAsAWholeWithTheOriginalError) {
  const OldServer old(local(), {.without_kind = "zone_map"});

  const grpc::Status status = end_of(channel_to(old), watch_of({"service", "zone_map"}, true));

  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("zone_map"));
}

TEST_F(CompatibilityTest, AServerWithoutOneKindConfirmsAllOthers) {
  const OldServer old(local(), {.knows_partial_success = true, .without_kind = "zone_map"});
  const v1::WatchRequest request = watch_of({"zone_map", "service", "agent"}, true);
  Watching watching(channel_to(old), request);

  const std::optional<v1::Event> init = watching.next();
  ASSERT_TRUE(init.has_value());
  const auto confirmed = events::confirmed_by(*init, asked_by(request)).value();
  v1::Resource written;
  ASSERT_TRUE(call(local(), &Stub::Upsert, write_of("web"), &written).ok());
  const std::optional<v1::Event> put = watching.next();

  EXPECT_THAT(names_of(confirmed), ElementsAre("service", "agent"));
  EXPECT_FALSE(events::contains(confirmed, asked_by(request)[0]));
  EXPECT_TRUE(events::contains(confirmed, asked_by(request)[1]));
  ASSERT_TRUE(put.has_value());
  EXPECT_EQ(put->revision(), written.metadata().revision());
  EXPECT_EQ(end_of(channel_to(old), watch_of({"zone_map", "service"})).error_code(),
            grpc::StatusCode::UNIMPLEMENTED)
      << "strict";
}

TEST_F(CompatibilityTest, ReadsOfAKindAServerDoesNotHaveAreNotImplementedAndOthersWork) {
  const OldServer old(local(), {.without_kind = "zone_map"});
  v1::GetRequest get;
  get.set_kind("zone_map");
  get.set_name("zones");
  v1::Resource got;
  v1::ListResponse listed;

  EXPECT_EQ(call(channel_to(old), &Stub::Get, get, &got).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(call(channel_to(old), &Stub::List, list_of("zone_map"), &listed).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(call(channel_to(old), &Stub::List, list_of("service"), &listed).ok());
  EXPECT_EQ(old.stats().lists, 2U);
}

TEST_F(CompatibilityTest, DiscoveryAndHealthThatAreNotThereAreNotImplemented) {
  const OldServer old(local(), {.has_service_config = false, .has_health = false});
  const auto discovery = v1::ServiceConfigDiscovery::NewStub(channel_to(old));
  const auto health = grpc::health::v1::Health::NewStub(channel_to(old));
  v1::GetServiceConfigResponse config;
  grpc::health::v1::HealthCheckResponse checked;

  EXPECT_EQ(discovery->GetServiceConfig(patient().get(), {}, &config).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(health->Check(patient().get(), {}, &checked).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(CompatibilityTest, APageSaysWhenItWasReadAndAnOldServersDoesNot) {
  const OldServer old(local());
  v1::Resource written;
  ASSERT_TRUE(call(local(), &Stub::Upsert, write_of("web"), &written).ok());
  v1::ListResponse today;
  v1::ListResponse before;

  ASSERT_TRUE(call(local(), &Stub::List, list_of("service"), &today).ok());
  ASSERT_TRUE(call(channel_to(old), &Stub::List, list_of("service"), &before).ok());

  EXPECT_GE(today.page_revision(), written.metadata().revision());
  EXPECT_EQ(before.page_revision(), 0);
  EXPECT_EQ(before.resources_size(), 1);
}

TEST_F(CompatibilityTest, AnOldServerThatStopsEndsItsWatches) {
  OldServer old(local());
  Watching watching(channel_to(old), watch_of({"service"}));
  ASSERT_TRUE(watching.next().has_value());

  old.stop();

  EXPECT_FALSE(watching.next().has_value());
  EXPECT_FALSE(watching.finish().ok());
}

}  // namespace
}  // namespace holdfast::test
