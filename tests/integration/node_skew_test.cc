// A node of today and controllers that know less: what they do not know costs the node that, and
// nothing else.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "app/controller.h"
#include "app/node.h"
#include "base/check.h"
#include "base/private_file.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "resource/registry.h"
#include "rpc/channel.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/old_server.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

namespace asio = boost::asio;

using namespace std::chrono_literals;
using testing::HasSubstr;

// Key and certificate of an authority that only this test has.
class Authority {
 public:
  node::IdentityPems pems(identity::Role role, const std::string& name) const {
    const std::string key = identity::make_private_key().value();
    const identity::CertificateSpec spec{
        .identity = {.role = role, .cluster = "prod", .name = name}, .validity = validity_};
    return {.private_key = key,
            .certificate = identity::issue(key_, spec, identity::make_request(key).value()).value(),
            .ca = key_.certificate_pem};
  }

 private:
  identity::Validity validity_{.not_before = SystemClock().wall_now() - 1h,
                               .not_after = SystemClock().wall_now() + 24h};
  identity::SigningKey key_ = identity::make_authority("prod", validity_).value();
};

// A loop of its own for a controller or a node.
template <typename Stop>
void stop_and_join(asio::io_context& loop, std::thread& thread, Stop stop) {
  asio::co_spawn(loop, stop(), asio::detached);
  thread.join();
}

class NodeSkew : public testing::Test {
 protected:
  NodeSkew() {
    auto started = app::Controller::start(
        controller_loop_, clock_, {.data_dir = dir_.file("ctl"), .store = app::StoreType::Memory});
    HF_CHECK(started.ok(), started.status().ToString());
    controller_ = *std::move(started);
    local_ = rpc::make_channel(controller_->addresses().front(), {});
    controller_thread_ = std::thread([this] { controller_loop_.run(); });
  }
  ~NodeSkew() override {
    if (node_) stop_and_join(node_loop_, node_thread_, [this] { return node_->stop(); });
    old_.reset();
    stop_and_join(controller_loop_, controller_thread_, [this] { return controller_->stop(); });
  }

  void upsert(const v1::Resource& resource) {
    grpc::ClientContext context;
    v1::WriteRequest request;
    *request.mutable_resource() = resource;
    v1::Resource written;
    const auto status = v1::Resources::NewStub(local_)->Upsert(&context, request, &written);
    HF_CHECK(status.ok(), status.error_message());
  }
  // A proxy whose only controller is this old server.
  void start(OldServerOptions options) {
    const node::IdentityPems server = authority_.pems(identity::Role::Controller, "ctl");
    options.tls = {.chain_pem = server.certificate, .private_key_pem = server.private_key};
    old_ = std::make_unique<OldServer>(local_, std::move(options));
    HF_CHECK(make_private_folder(dir_.file("node")).ok(), "there is room");
    app::NodeAppOptions node{.data_dir = dir_.file("node")};
    node.node.folder = dir_.file("node");
    node.node.servers = {old_->address()};
    node_ = std::make_unique<app::Node>(
        node_loop_.get_executor(), clock_, std::move(node),
        node::make_held(authority_.pems(identity::Role::Proxy, "p-1")).value());
    HF_CHECK(node_->listen().ok(), "its socket is free");
    asio::co_spawn(node_loop_, node_->start(), asio::detached);
    node_thread_ = std::thread([this] { node_loop_.run(); });
  }
  Reply ask(const std::string& what) const {
    return HttpClient("unix:" + dir_.file("node/node.sock")).ask(what);
  }
  std::string source(const std::string& kind) const {
    const std::string head = ask("GET /v1/" + kind).head;
    const size_t at = head.find("Holdfast-Source: ");
    return at == std::string::npos ? "" : head.substr(at + 17, head.find('\r', at) - at - 17);
  }
  bool is_cached(const std::string& kind) const {
    return eventually([&] { return source(kind) == "cache"; }, 20s);
  }

  bool shows(const std::string& metric) const {
    return eventually([&] { return ask("GET /metrics").body.contains(metric); }, 15s);
  }

  TempDir dir_;
  SystemClock clock_;
  Authority authority_;
  asio::io_context controller_loop_{1};
  asio::io_context node_loop_{1};
  std::unique_ptr<app::Controller> controller_;
  std::shared_ptr<grpc::Channel> local_;
  std::thread controller_thread_;
  std::unique_ptr<OldServer> old_;
  std::unique_ptr<app::Node> node_;
  std::thread node_thread_;
};

TEST_F(NodeSkew, AKindTheControllerDoesNotKnowLeavesAllOthersCached) {
  upsert(resource::make_resource(resource::Kind::Service, "web"));
  start({.knows_partial_success = true, .without_kind = "capacity_lease"});

  for (const resource::KindInfo& kind : resource::all_kinds()) {
    if (kind.name == "capacity_lease" || kind.name == "token") continue;
    EXPECT_TRUE(is_cached(std::string(kind.name))) << kind.name;
  }
  const Reply unknown = ask("GET /v1/capacity_lease");
  EXPECT_EQ(unknown.status, 501) << unknown.body;
  EXPECT_THAT(ask("GET /v1/service/web").body, HasSubstr("\"name\":\"web\""));
  EXPECT_EQ(ask("GET /readyz").status, 200) << ask("GET /readyz").body;
  EXPECT_EQ(ask("GET /readyz/cache-capacity_lease").status, 200);
  EXPECT_THAT(ask("GET /v1/caches").body, HasSubstr("\"code\":\"HF1202\""));
}

TEST_F(NodeSkew, AControllerWhoseInitSaysNothingHasConfirmedEverything) {
  start({.knows_partial_success = false, .has_service_config = false, .has_health = false});

  EXPECT_TRUE(is_cached("service"));
  EXPECT_TRUE(is_cached("user"));
  upsert(resource::make_resource(resource::Kind::Service, "web"));
  EXPECT_TRUE(eventually([&] { return ask("GET /v1/service/web").status == 200; }, 10s));
  EXPECT_EQ(source("service/web"), "cache");
}

// Not of skew, but the same two: settings reach the node through its cache.
TEST_F(NodeSkew, TheReconnectIntervalIsFollowedWithoutARestart) {
  start({.knows_partial_success = true});
  ASSERT_TRUE(is_cached("networking_config"));
  EXPECT_TRUE(shows("holdfast_link_reconnect_interval_seconds 0\n"));

  v1::Resource settings = resource::make_resource(resource::Kind::NetworkingConfig, "default");
  settings.mutable_networking_config()->mutable_reconnect_interval()->set_seconds(10);
  upsert(settings);

  EXPECT_TRUE(shows("holdfast_link_reconnect_interval_seconds 10\n"));
  EXPECT_TRUE(shows("holdfast_link_swaps_total 1\n")) << "within the interval";
  EXPECT_TRUE(is_cached("service"));
  EXPECT_TRUE(shows("holdfast_link_failed_dials_total 0\n"));
  settings.mutable_networking_config()->clear_reconnect_interval();
  upsert(settings);
  EXPECT_TRUE(shows("holdfast_link_reconnect_interval_seconds 0\n"));
}

}  // namespace
}  // namespace holdfast::test
