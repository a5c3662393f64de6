// Who may renew a certificate: a node that is online, and nobody whom rotation may have forgotten.
#include "api/identity_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <optional>

#include "api/presence_entry.h"
#include "base/reason.h"
#include "store/memory_store.h"
#include "support/temp_dir.h"

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;
using identity::Role;

class RenewTest : public testing::Test {
 protected:
  void SetUp() override {
    v1::InitRequest init;
    init.set_cluster("prod");
    ASSERT_TRUE(run(service_.init(local(), init)).ok());
    request_.set_request_pem(identity::make_request(identity::make_private_key().value()).value());
  }

  template <typename T>
  T run(asio::awaitable<T> task) {
    std::optional<T> out;
    asio::co_spawn(io_, std::move(task),
                   [&](const std::exception_ptr&, T made) { out.emplace(std::move(made)); });
    io_.restart();
    io_.run();
    return *std::move(out);
  }
  static Caller local() { return {.identity = {.role = Role::Local}, .source = "unix"}; }

  // The code of the refusal; empty if there is a certificate.
  std::string renew(Role role, const std::string& name) {
    const Caller caller{.identity = {.role = role, .cluster = "prod", .name = name},
                        .source = "127.0.0.1:1"};
    const Result<v1::Credentials> made = run(service_.renew(caller, request_));
    if (made.ok()) return "";
    EXPECT_EQ(made.status().code(), absl::StatusCode::kFailedPrecondition) << made.status();
    return std::string(split_reason(made.status()).code);
  }
  // Stores what an announcement leaves behind.
  void store(const v1::Resource& entry) {
    std::vector<store::Operation> operations(1);
    operations[0].key = resource::store_key(*resource::kind_of(entry), entry.metadata().name());
    operations[0].value = entry.SerializeAsString();
    ASSERT_TRUE(run(store_.commit(std::move(operations))).ok());
  }
  v1::Resource entry(resource::Kind kind, const std::string& name) {
    v1::AnnounceRequest request;
    *request.mutable_resource() = resource::make_resource(kind, name);
    return stored_entry(request, {.at = clock_.wall_now(), .ttl = 60s, .keep_offline = 24h})
        .value();
  }

  test::TempDir dir_;
  ManualClock clock_;
  asio::io_context io_;
  store::MemoryStore store_{io_.get_executor(), {}};
  std::unique_ptr<AuditService> audit_ =
      AuditService::open({.path = dir_.file("audit.log")}, clock_).value();
  Gate gate_{clock_, *audit_, {}};
  AuthorityService authority_{
      gate_, clock_, {.controller_name = "ctl"}, [](const ServerCertificate&) {}};
  IdentityService service_{{store_, gate_, *audit_, authority_, clock_}, {}};
  v1::RenewRequest request_;
};

TEST_F(RenewTest, ANodeThatNeverAnnouncedItselfIsToldToDoSoFirst) {
  EXPECT_EQ(renew(Role::Agent, "edge-07"), "HF5016");
  EXPECT_EQ(renew(Role::Proxy, "p-1"), "HF5016");
}

TEST_F(RenewTest, ANodeThatIsOnlineGetsACertificate) {
  store(entry(resource::Kind::Agent, "edge-07"));
  store(entry(resource::Kind::Proxy, "p-1"));

  EXPECT_EQ(renew(Role::Agent, "edge-07"), "");
  EXPECT_EQ(renew(Role::Proxy, "p-1"), "");
  EXPECT_EQ(renew(Role::Proxy, "edge-07"), "HF5016") << "another role's entry is another node's";
}

TEST_F(RenewTest, ANodeThatIsOfflineIsToldToAnnounceFirst) {
  v1::Resource offline = entry(resource::Kind::Agent, "edge-07");
  set_offline_since(offline, clock_.wall_now());
  store(offline);

  EXPECT_EQ(renew(Role::Agent, "edge-07"), "HF5016");
}

TEST_F(RenewTest, AnEntryThatSomeoneAppliedIsNoAnnouncement) {
  store(resource::make_resource(resource::Kind::Agent, "edge-07"));

  EXPECT_EQ(renew(Role::Agent, "edge-07"), "HF5016");
}

TEST_F(RenewTest, ControllersAndWitnessesAreNotAsked) {
  EXPECT_EQ(renew(Role::Controller, "ctl-2"), "");
  EXPECT_EQ(renew(Role::Witness, "w-1"), "");
}

}  // namespace
}  // namespace holdfast::api
