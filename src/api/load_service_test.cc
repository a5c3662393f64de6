#include "api/load_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/check.h"
#include "base/reason.h"
#include "resource/registry.h"

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;
using identity::Role;
using resource::Kind;

store::Item service_item(const std::string& name, uint64_t places, const std::string& team = "") {
  v1::Resource service = resource::make_resource(Kind::Service, name);
  (*service.mutable_service()->mutable_zone_capacity())["a"] = places;
  service.mutable_service()->set_when_full(v1::WHEN_FULL_REJECT);
  if (!team.empty()) (*service.mutable_metadata()->mutable_labels())["team"] = team;
  store::Item item;
  item.key = resource::store_key(Kind::Service, name);
  item.value = service.SerializeAsString();
  item.revision = 1;
  return item;
}

class LoadServiceTest : public testing::Test {
 protected:
  LoadServiceTest() : audit_(*AuditService::open({}, clock_)), gate_(clock_, *audit_, {}) {
    service_.on_reset({service_item("web", 10), service_item("db", 0)});
  }

  static Caller as(Role role, const std::string& name, const std::string& zone = "a") {
    return {.identity = {.role = role, .name = name, .zone = zone},
            .permissions = std::make_shared<const identity::Permissions>()};
  }
  v1::LoadReport said(const std::string& service, uint64_t active) {
    v1::LoadReport report;
    report.set_boot(1);
    report.set_number(++number_);
    report.set_grant(granted_);
    v1::PoolReport& pool = *report.add_pools();
    pool.set_service(service);
    pool.set_zone("a");
    pool.set_active(active);
    pool.set_limit(active);
    return report;
  }
  template <typename T>
  T run(asio::awaitable<T> work) {
    std::optional<T> result;
    asio::co_spawn(loop_, std::move(work), [&](const std::exception_ptr& thrown, T got) {
      HF_CHECK(thrown == nullptr, "nothing is thrown");
      result = std::move(got);
    });
    loop_.restart();
    loop_.run();
    return *std::move(result);
  }
  Result<v1::LoadGrant> report(const Caller& who, const v1::LoadReport& what) {
    Result<v1::LoadGrant> grant = run(service_.report(who, what));
    if (grant.ok()) granted_ = grant->number();
    return grant;
  }
  Result<v1::GetLoadResponse> get(const Caller& who, bool with_holders = true) {
    v1::GetLoadRequest request;
    request.set_with_holders(with_holders);
    return run(service_.get_load(who, request));
  }
  static std::string code_of(const Status& status) {
    return std::string(split_reason(status).code);
  }
  void warm_up() {
    service_.on_tick();
    clock_.advance(6s);
  }

  asio::io_context loop_;
  ManualClock clock_;
  std::unique_ptr<AuditService> audit_;
  Gate gate_;
  bool deals_ = true;
  Status may_deal_;
  std::vector<v1::LoadReport> passed_;
  LoadService service_{
      {.gate = gate_,
       .clock = clock_,
       .deals = [this] { return deals_; },
       .may_deal = [this] { return may_deal_; },
       .pass_report = [this](v1::LoadReport report) -> asio::awaitable<Result<v1::LoadGrant>> {
         passed_.push_back(std::move(report));
         co_return v1::LoadGrant();
       },
       .pass_question = [](v1::GetLoadRequest) -> asio::awaitable<Result<v1::GetLoadResponse>> {
         v1::GetLoadResponse elsewhere;
         elsewhere.set_controller("another");
         co_return elsewhere;
       }},
      {.controller_name = "c1"}};
  uint64_t number_ = 0;
  uint64_t granted_ = 0;
  const Caller proxy_ = as(Role::Proxy, "p1");
};

TEST_F(LoadServiceTest, AHolderIsGrantedPlacesOfWhatIsStored) {
  warm_up();
  ASSERT_TRUE(report(proxy_, said("web", 0)).ok());
  clock_.advance(1s);

  const Result<v1::LoadGrant> grant = report(proxy_, said("web", 2));

  ASSERT_TRUE(grant.ok()) << grant.status();
  ASSERT_EQ(grant->pools_size(), 1);
  EXPECT_EQ(grant->pools(0).service(), "web");
  EXPECT_GE(grant->pools(0).limit(), 2U);
  EXPECT_LE(grant->pools(0).limit(), 10U);
  EXPECT_EQ(service_.stats().reports, 2U);
}

TEST_F(LoadServiceTest, AHolderSpeaksForItselfOnly) {
  v1::LoadReport lie = said("web", 1);
  lie.set_holder("proxy/another");
  lie.set_zone("b");
  ASSERT_TRUE(report(proxy_, lie).ok());

  const Result<v1::GetLoadResponse> load = get(as(Role::Local, ""));

  ASSERT_TRUE(load.ok()) << load.status();
  ASSERT_EQ(load->pools_size(), 1);
  EXPECT_EQ(load->pools(0).holders(0).holder(), "proxy/p1");
  EXPECT_EQ(load->pools(0).holders(0).zone(), "a");
  EXPECT_EQ(load->pools(0).when_full(), v1::WHEN_FULL_REJECT);
  EXPECT_EQ(load->controller(), "c1");
  EXPECT_TRUE(load->warming_up());
}

// As the active half of a pair that nobody confirms: the other may have taken over, or not.
TEST_F(LoadServiceTest, WhoIsNotSureToBeTheOneThatDealsDealsNothingAndForgetsNothing) {
  warm_up();
  ASSERT_TRUE(report(proxy_, said("web", 2)).ok());

  may_deal_ = coded(absl::StatusCode::kFailedPrecondition, "HF2404", "nobody confirms it");
  service_.on_tick();
  EXPECT_EQ(code_of(report(proxy_, said("web", 3)).status()), "HF2404");
  EXPECT_EQ(code_of(get(as(Role::Local, "")).status()), "HF2404");
  EXPECT_TRUE(passed_.empty());
  EXPECT_EQ(service_.stats().refused, 1U);

  may_deal_ = absl::OkStatus();
  const Result<v1::GetLoadResponse> load = get(as(Role::Local, ""));
  ASSERT_TRUE(load.ok()) << load.status();
  EXPECT_FALSE(load->warming_up());
  EXPECT_EQ(load->pools_size(), 1);
  EXPECT_TRUE(report(proxy_, said("web", 3)).ok());
}

TEST_F(LoadServiceTest, WhoReportsTooOftenIsRefusedAndOthersAreNot) {
  for (int i = 0; i < 24; ++i) ASSERT_TRUE(report(proxy_, said("web", 0)).ok()) << i;

  EXPECT_EQ(code_of(report(proxy_, said("web", 0)).status()), "HF2403");

  EXPECT_TRUE(report(as(Role::Proxy, "p2"), said("web", 0)).ok());
  EXPECT_EQ(service_.stats().over_rate, 1U);
  clock_.advance(1s);
  EXPECT_TRUE(report(proxy_, said("web", 0)).ok());
}

TEST_F(LoadServiceTest, AWrongReportIsRefused) {
  EXPECT_EQ(code_of(report(proxy_, said("not a name", 0)).status()), "HF2401");
  v1::LoadReport unnamed = said("web", 0);
  EXPECT_EQ(code_of(report(as(Role::Local, ""), unnamed).status()), "HF2401");
  unnamed.set_holder("proxy/p9");
  EXPECT_TRUE(report(as(Role::Local, ""), unnamed).ok());
}

TEST_F(LoadServiceTest, WhoDoesNotDealPassesOnOnce) {
  deals_ = false;

  ASSERT_TRUE(report(proxy_, said("web", 3)).ok());
  const Status looped = report(as(Role::Controller, "c2"),
                               [&] {
                                 v1::LoadReport passed = said("web", 3);
                                 passed.set_holder("proxy/p1");
                                 return passed;
                               }())
                            .status();

  ASSERT_EQ(passed_.size(), 1U);
  EXPECT_EQ(passed_[0].holder(), "proxy/p1");
  EXPECT_EQ(passed_[0].zone(), "a");
  EXPECT_EQ(code_of(looped), "HF2404");
  EXPECT_EQ(get(as(Role::Local, ""))->controller(), "another");
  EXPECT_EQ(code_of(get(as(Role::Controller, "c2")).status()), "HF2404");
}

TEST_F(LoadServiceTest, WhoTakesOverBeginsAnewAndRaisesNobodyAtFirst) {
  warm_up();
  ASSERT_TRUE(report(proxy_, said("web", 1)).ok());
  deals_ = false;
  service_.on_tick();
  EXPECT_EQ(service_.dealer(), nullptr);
  deals_ = true;

  const Result<v1::LoadGrant> grant = report(proxy_, said("web", 4));

  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_EQ(grant->pools_size(), 0) << "its fixed share holds until all have reported";
  EXPECT_TRUE(get(as(Role::Local, ""))->warming_up());
}

TEST_F(LoadServiceTest, AChangedCapacityCountsAtTheNextReport) {
  warm_up();
  store::Change change;
  change.item = service_item("web", 3);
  service_.on_change(change);
  ASSERT_TRUE(report(proxy_, said("web", 0)).ok());
  EXPECT_EQ(get(as(Role::Local, ""))->pools(0).capacity(), 3U);

  change.type = store::Change::Type::Delete;
  service_.on_change(change);
  ASSERT_TRUE(report(proxy_, said("web", 0)).ok());
  EXPECT_FALSE(get(as(Role::Local, ""))->pools(0).has_capacity());
}

TEST_F(LoadServiceTest, OnlyServicesThatOneMayListAreSeen) {
  service_.on_reset({service_item("web", 10, "web"), service_item("db", 0, "data")});
  ASSERT_TRUE(report(proxy_, said("web", 1)).ok());
  ASSERT_TRUE(report(as(Role::Agent, "e1"), said("db", 1)).ok());
  v1::Role role;
  v1::Rule& rule = *role.add_rules();
  rule.add_kinds("service");
  rule.add_verbs(v1::VERB_LIST);
  (*rule.mutable_service_labels())["team"] = "data";
  Caller alice = as(Role::User, "alice", "");
  alice.identity.user_roles = {"data-team"};
  EXPECT_EQ(code_of(get(alice).status()), "HF5001");
  alice.permissions =
      std::make_shared<const identity::Permissions>(identity::Roles{{"data-team", role}});

  const Result<v1::GetLoadResponse> seen = get(alice);

  ASSERT_TRUE(seen.ok()) << seen.status();
  ASSERT_EQ(seen->pools_size(), 1);
  EXPECT_EQ(seen->pools(0).service(), "db");
  EXPECT_EQ(get(as(Role::Local, ""))->pools_size(), 2);
}

}  // namespace
}  // namespace holdfast::api
