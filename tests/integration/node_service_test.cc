// A node's service against a whole controller, in this process and under the sanitizers.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <thread>

#include "app/controller.h"
#include "base/private_file.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "node/node_service.h"
#include "rpc/channel.h"
#include "support/free_ports.h"
#include "support/temp_dir.h"

namespace holdfast::node {
namespace {

using namespace std::chrono_literals;

// A controller with an authority, on its own loop and thread.
class Cluster {
 public:
  Cluster() : ports_(test::free_ports(2)) {
    app::ControllerOptions options{.data_dir = dir_.file("data"), .store = app::StoreType::Memory};
    options.listen = {server()};
    options.identity.node_certificate_ttl = 5s;
    auto started = app::Controller::start(loop_, clock_, std::move(options));
    HF_CHECK(started.ok(), started.status().ToString());
    controller_ = *std::move(started);
    local_ = rpc::make_channel(controller_->addresses().front(), {});
    thread_ = std::thread([this] { loop_.run(); });
    v1::InitRequest request;
    request.set_cluster("prod");
    authority_ = call(local_, &v1::Identity::Stub::Init, request);
  }
  ~Cluster() {
    asio::co_spawn(loop_, controller_->stop(), asio::detached);
    thread_.join();
  }

  std::string server() const { return "127.0.0.1:" + std::to_string(ports_[0]); }
  std::string nobody() const { return "127.0.0.1:" + std::to_string(ports_[1]); }

  // Joins, and fills the folder.
  HeldIdentity join(const std::string& folder, const std::string& name) {
    v1::CreateTokenRequest wanted;
    wanted.set_role(v1::NODE_ROLE_AGENT);
    wanted.set_node_name(name);
    const auto token = call(local_, &v1::Identity::Stub::CreateToken, wanted);
    IdentityPems pems{.private_key = identity::make_private_key().value()};
    v1::JoinRequest request;
    request.set_token(token.secret());
    request.set_name(name);
    request.set_request_pem(identity::make_request(pems.private_key).value());
    const auto remote = rpc::make_channel(
        server(),
        {.tls = rpc::TlsOptions{.ca_pem = authority_.ca_pem(),
                                .server_name = std::string(identity::kControllerServerName)}});
    HF_CHECK(remote->WaitForConnected(std::chrono::system_clock::now() + 10s), "TLS is served");
    const auto made = call(remote, &v1::Identity::Stub::Join, request);
    pems.certificate = made.certificate_pem();
    pems.ca = made.ca_pem();
    HeldIdentity held = make_held(pems).value();
    HF_CHECK(make_private_folder(folder).ok() && save_identity(folder, held).ok(), "room on disk");
    return held;
  }
  bool has_entry(const std::string& name) {
    grpc::ClientContext context;
    v1::GetRequest request;
    request.set_kind("agent");
    request.set_name(name);
    v1::Resource found;
    return v1::Resources::NewStub(local_)->Get(&context, request, &found).ok();
  }
  void delete_entry(const std::string& name) {
    grpc::ClientContext context;
    v1::DeleteRequest request;
    request.set_kind("agent");
    request.set_name(name);
    v1::DeleteResponse done;
    const grpc::Status status = v1::Resources::NewStub(local_)->Delete(&context, request, &done);
    HF_CHECK(status.ok(), status.error_message());
  }

 private:
  template <typename Request, typename Response>
  static Response call(const std::shared_ptr<grpc::Channel>& channel,
                       grpc::Status (v1::Identity::Stub::*method)(grpc::ClientContext*,
                                                                  const Request&, Response*),
                       const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 10s);
    Response response;
    const auto stub = v1::Identity::NewStub(channel);
    const grpc::Status status = ((*stub).*method)(&context, request, &response);
    HF_CHECK(status.ok(), status.error_message());
    return response;
  }

  test::TempDir dir_;
  std::vector<uint16_t> ports_;
  SystemClock clock_;
  asio::io_context loop_{1};
  std::unique_ptr<app::Controller> controller_;
  std::shared_ptr<grpc::Channel> local_;
  v1::Authority authority_;
  std::thread thread_;
};

class NodeServiceTest : public testing::Test {
 protected:
  void TearDown() override {
    if (node_) stop();
  }
  NodeOptions options() {
    return {.folder = folder(), .servers = {cluster_.server()}, .version = "test"};
  }
  void start(NodeOptions options, HeldIdentity held) {
    node_ = std::make_unique<NodeService>(io_.get_executor(), clock_, std::move(options),
                                          std::move(held));
    node_->start();
  }
  void stop() {
    bool stopped = false;
    asio::co_spawn(io_, node_->stop(), [&](const std::exception_ptr&) { stopped = true; });
    EXPECT_TRUE(until([&] { return stopped; }));
    node_.reset();
  }
  bool until(const std::function<bool()>& condition) {
    const Time end = clock_.now() + 20s;
    while (!condition() && clock_.now() < end) {
      io_.restart();
      io_.run_for(5ms);
    }
    return condition();
  }
  std::string folder() const { return dir_.file("identity"); }

  test::TempDir dir_;
  SystemClock clock_;
  Cluster cluster_;
  asio::io_context io_;
  std::unique_ptr<NodeService> node_;
};

TEST_F(NodeServiceTest, AnnouncesRenewsAndSaysGoodbye) {
  start(options(), cluster_.join(folder(), "a"));

  EXPECT_TRUE(until([&] { return node_->stats().renewed >= 2; }));
  EXPECT_TRUE(cluster_.has_entry("a"));
  EXPECT_EQ(load_node(folder()).value().held.certificate_pem, node_->identity().certificate_pem);
  EXPECT_EQ(node_->stats().failed_announcements, 0U);

  stop();
  EXPECT_FALSE(cluster_.has_entry("a"));
}

// Chance decides which of the two is dialled first: until it was the one that is not there.
TEST_F(NodeServiceTest, AServerThatIsNotThereCostsNoAnnouncement) {
  NodeOptions both = options();
  both.servers = {cluster_.nobody(), cluster_.server()};
  const HeldIdentity held = cluster_.join(folder(), "a");
  uint64_t failed_dials = 0;
  for (int tries = 0; tries < 32 && failed_dials == 0; ++tries) {
    both.pick.seed = both.pick.seed * 6364136223846793005U + 1442695040888963407U;
    start(both, held);

    EXPECT_TRUE(until([&] { return node_->stats().announced >= 1; }));
    EXPECT_EQ(node_->stats().failed_announcements, 0U);
    failed_dials += node_->pick().stats().failed_dials;
    stop();
  }
  EXPECT_GE(failed_dials, 1U) << "no seed has tried the one that is not there";
}

TEST_F(NodeServiceTest, WhoseEntryWasDeletedAnnouncesItselfBeforeItRenews) {
  start(options(), cluster_.join(folder(), "a"));
  ASSERT_TRUE(until([&] { return node_->stats().renewed >= 1; }));
  ASSERT_TRUE(until([&] { return node_->stats().announced >= 2; })) << "with the new certificate";
  const uint64_t renewed = node_->stats().renewed;

  cluster_.delete_entry("a");

  EXPECT_TRUE(until([&] { return node_->stats().failed_renewals >= 1; })) << "HF5016";
  EXPECT_TRUE(until([&] { return node_->stats().renewed > renewed; }));
  EXPECT_TRUE(cluster_.has_entry("a"));
}

TEST_F(NodeServiceTest, ADiskThatTakesNothingLeavesTheOldIdentityInUse) {
  const HeldIdentity held = cluster_.join(folder(), "a");
  NodeOptions nowhere = options();
  nowhere.folder = dir_.file("not-there");
  start(nowhere, held);

  EXPECT_TRUE(until([&] { return node_->stats().failed_renewals >= 1; }));
  EXPECT_EQ(node_->stats().renewed, 0U);
  EXPECT_EQ(node_->identity().certificate_pem, held.certificate_pem);
}

TEST_F(NodeServiceTest, AnIdentityThatRanOutIsReplacedByJoiningAgain) {
  NodeOptions patient = options();
  patient.look_again = 20ms;
  HeldIdentity held = cluster_.join(folder(), "a");
  std::filesystem::rename(folder(), dir_.file("later"));
  held.validity.not_after = clock_.wall_now() - 1s;  // as far as the node knows
  start(patient, held);
  until([&, end = clock_.now() + 200ms] { return clock_.now() > end; });
  EXPECT_EQ(node_->stats().announced, 0U) << "it sends nothing";
  EXPECT_EQ(node_->pick().stats().dialled, 0U);

  std::filesystem::rename(dir_.file("later"), folder());

  EXPECT_TRUE(until([&] { return node_->stats().announced >= 1; }));
}

TEST_F(NodeServiceTest, AnIdentityThatRunsOutLeavesItsControllerAlone) {
  NodeOptions nowhere = options();
  nowhere.folder = dir_.file("not-there");  // so that no renewal gets through
  nowhere.look_again = 20ms;
  start(nowhere, cluster_.join(folder(), "a"));
  ASSERT_TRUE(until([&] { return node_->pick().picked() != nullptr; }));

  EXPECT_TRUE(until([&] { return node_->pick().picked() == nullptr; })) << "it lives for 5 s";

  const uint64_t dialled = node_->pick().stats().dialled;
  until([&, end = clock_.now() + 500ms] { return clock_.now() > end; });
  EXPECT_EQ(node_->pick().stats().dialled, dialled);
}

}  // namespace
}  // namespace holdfast::node
