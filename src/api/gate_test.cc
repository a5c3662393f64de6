#include "api/gate.h"

#include <gtest/gtest.h>

#include "api/identity_fixture.h"
#include "base/reason.h"

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;
using identity::Call;
using identity::Role;
using resource::Kind;

class GateTest : public testing::Test {
 protected:
  GateTest()
      : authority_("prod", clock_.wall_now()),
        audit_(*AuditService::open({}, clock_)),
        gate_(clock_, *audit_, {.per_caller = {.per_second = 1, .burst = 5}}) {
    EXPECT_TRUE(gate_.set_trust("prod", authority_.ca_pem()).ok());
    gate_.set_users({{"alice", {"viewer"}}});
  }

  Presented with(identity::Identity who, std::chrono::seconds life = 1h) const {
    return {.chain_pem = authority_.certificate(std::move(who), life), .source = "10.0.0.7:4711"};
  }
  std::string code_of(const Status& status) { return std::string(split_reason(status).code); }
  uint64_t refusals() const { return audit_->stats().refusals; }

  ManualClock clock_;
  TestAuthority authority_;
  std::unique_ptr<AuditService> audit_;
  Gate gate_;
  const identity::Identity agent_{.role = Role::Agent, .name = "edge-7", .zone = "a"};
  const identity::Identity alice_{
      .role = Role::User, .name = "alice", .user_roles = {"viewer", "admin"}};
};

TEST_F(GateTest, ACertificateOfTheClusterSaysWhoCalls) {
  const Result<Caller> caller = gate_.admit(with(agent_), "get");

  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(identity::to_string(caller->identity), "agent/edge-7");
  EXPECT_EQ(caller->identity.zone, "a");
  EXPECT_EQ(refusals(), 0U);
}

TEST_F(GateTest, WithoutACertificateOneIsNobodyAndMayJoinOnly) {
  const Result<Caller> caller = gate_.admit({.source = "10.0.0.7:4711"}, "join");

  ASSERT_TRUE(caller.ok());
  EXPECT_TRUE(gate_.allow(*caller, Call::Join).ok());
  EXPECT_EQ(code_of(gate_.allow(*caller, Call::Status)), "HF5002");
  EXPECT_EQ(code_of(gate_.allow(*caller, v1::VERB_LIST, Kind::Service, "").status()), "HF5002");
  EXPECT_EQ(refusals(), 2U);
}

TEST_F(GateTest, AnExpiredCertificateAndOneOfAnotherAuthorityAreRefusedAndAudited) {
  const Presented expired = with(agent_, 10s);
  clock_.advance(11s);
  const TestAuthority other("prod", clock_.wall_now());

  EXPECT_EQ(code_of(gate_.admit(expired, "get").status()), "HF5003");
  EXPECT_EQ(
      code_of(
          gate_.admit({.chain_pem = other.certificate(agent_), .source = "x:1"}, "get").status()),
      "HF5004");
  EXPECT_EQ(code_of(gate_.admit({.chain_pem = "nonsense", .source = "y:1"}, "get").status()),
            "HF5004");
  EXPECT_EQ(refusals(), 3U);
}

TEST_F(GateTest, ARoleTakenFromAUserIsGoneAtOnce) {
  const Presented from = with(alice_);
  gate_.set_users({{"alice", {"viewer", "admin"}}});
  const Result<Caller> before = gate_.admit(from, "delete");
  const uint64_t version = gate_.version();
  gate_.set_users({{"alice", {"viewer"}}});
  const Result<Caller> after = gate_.admit(from, "delete");

  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_TRUE(gate_.allow(*before, v1::VERB_DELETE, Kind::Service, "web").ok());
  EXPECT_EQ(code_of(gate_.allow(*after, v1::VERB_DELETE, Kind::Service, "web").status()), "HF5001");
  EXPECT_NE(gate_.version(), version);
}

TEST_F(GateTest, ARoleGivenNeedsANewCertificate) {
  identity::Identity viewer = alice_;
  viewer.user_roles = {"viewer"};
  gate_.set_users({{"alice", {"viewer", "admin"}}});

  const Result<Caller> caller = gate_.admit(with(viewer), "delete");

  ASSERT_TRUE(caller.ok());
  EXPECT_FALSE(gate_.allow(*caller, v1::VERB_DELETE, Kind::Service, "web").ok());
}

TEST_F(GateTest, AUserWhoWasDisabledOrDeletedIsRefused) {
  gate_.set_users({});

  EXPECT_EQ(code_of(gate_.admit(with(alice_), "get").status()), "HF5012");
}

TEST_F(GateTest, UsersWaitUntilTheyAreKnown) {
  Gate fresh(clock_, *audit_, {});
  ASSERT_TRUE(fresh.set_trust("prod", authority_.ca_pem()).ok());

  EXPECT_TRUE(absl::IsUnavailable(fresh.admit(with(alice_), "get").status()));
  EXPECT_TRUE(fresh.admit(with(agent_), "get").ok());
}

TEST_F(GateTest, TooManyRequestsOfOneIdentityAreRefusedAndOthersGoOn) {
  const Presented from = with(agent_);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(gate_.admit(from, "get").ok());

  EXPECT_EQ(code_of(gate_.admit(from, "get").status()), "HF5011");
  EXPECT_TRUE(gate_.admit(with({.role = Role::Agent, .name = "edge-8"}), "get").ok());
  EXPECT_TRUE(gate_.admit({.source = "unix", .local = true}, "get").ok());
  EXPECT_EQ(gate_.refused_by_rate(), 1U);
  clock_.advance(1s);
  EXPECT_TRUE(gate_.admit(from, "get").ok());
}

TEST_F(GateTest, TheUnixSocketIsTheLocalAdminsHoweverOften) {
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(gate_.admit({.source = "unix", .local = true}, "announce").ok());
  }
}

}  // namespace
}  // namespace holdfast::api
