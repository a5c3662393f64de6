#include "api/watch_access.h"

#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::api {
namespace {

using identity::Role;

v1::Role watches_services(std::vector<std::map<std::string, std::string>> label_sets) {
  v1::Role role;
  for (const auto& labels : label_sets) {
    v1::Rule& rule = *role.add_rules();
    rule.add_kinds("service");
    rule.add_verbs(v1::VERB_WATCH);
    rule.mutable_service_labels()->insert(labels.begin(), labels.end());
  }
  return role;
}

class WatchAccess : public testing::Test {
 protected:
  WatchAccess() : audit_(*AuditService::open({}, clock_)), gate_(clock_, *audit_, {}) {}

  Caller caller(Role role, identity::Roles roles = {}) {
    std::vector<std::string> names;
    for (const auto& [name, rules] : roles) names.push_back(name);
    return {.identity = {.role = role, .name = "x", .user_roles = names},
            .permissions = std::make_shared<const identity::Permissions>(std::move(roles))};
  }
  Result<events::WatchRequest> authorise(const Caller& who, std::vector<events::WatchKind> kinds,
                                         bool partial = false) {
    return authorise_watch(gate_, who,
                           {.kinds = std::move(kinds), .allow_partial_success = partial});
  }

  ManualClock clock_;
  std::unique_ptr<AuditService> audit_;
  Gate gate_;
};

TEST_F(WatchAccess, AKindThatMayNotBeWatchedFailsTheWholeWatchAndIsAudited) {
  const auto refused = authorise(caller(Role::Agent), {{.kind = "service"}, {.kind = "token"}});

  EXPECT_EQ(split_reason(refused.status()).code, "HF5001");
  EXPECT_EQ(audit_->stats().refusals, 1U);
}

TEST_F(WatchAccess, PartialSuccessLeavesItOut) {
  const auto allowed =
      authorise(caller(Role::Agent), {{.kind = "service"}, {.kind = "token"}}, true);

  ASSERT_TRUE(allowed.ok());
  ASSERT_EQ(allowed->kinds.size(), 1U);
  EXPECT_EQ(allowed->kinds.front().kind, "service");
}

TEST_F(WatchAccess, NothingLeftIsARefusal) {
  const auto refused = authorise(caller(Role::Agent), {{.kind = "token"}}, true);

  EXPECT_EQ(split_reason(refused.status()).code, "HF5001");
}

TEST_F(WatchAccess, SecretsAreForControllersOnly) {
  const std::vector<events::WatchKind> users = {{.kind = "user", .with_secrets = true}};

  EXPECT_TRUE(authorise(caller(Role::Controller), users).ok());
  EXPECT_EQ(split_reason(authorise(caller(Role::Local), users).status()).code, "HF5001");
}

TEST_F(WatchAccess, LabelsOfTheOnlyRuleAreAdded) {
  const Caller web = caller(Role::User, {{"web", watches_services({{{"team", "web"}}})}});

  const auto allowed = authorise(web, {{.kind = "service", .labels = {{"tier", "front"}}}});

  ASSERT_TRUE(allowed.ok());
  EXPECT_EQ(allowed->kinds.front().labels,
            (std::map<std::string, std::string>{{"team", "web"}, {"tier", "front"}}));
}

TEST_F(WatchAccess, LabelsOfOthersAreRefused) {
  const Caller web = caller(Role::User, {{"web", watches_services({{{"team", "web"}}})}});

  const auto refused = authorise(web, {{.kind = "service", .labels = {{"team", "db"}}}});

  EXPECT_EQ(split_reason(refused.status()).code, "HF5001");
}

TEST_F(WatchAccess, OfSeveralSetsOneHasToBeAskedFor) {
  const Caller both =
      caller(Role::User, {{"both", watches_services({{{"team", "web"}}, {{"team", "db"}}})}});

  EXPECT_FALSE(authorise(both, {{.kind = "service"}}).ok());
  EXPECT_TRUE(authorise(both, {{.kind = "service", .labels = {{"team", "db"}}}}).ok());
}

TEST_F(WatchAccess, AKindThereIsNotIsLeftToTheFanOut) {
  EXPECT_TRUE(authorise(caller(Role::Agent), {{.kind = "flux_capacitor"}}).ok());
}

}  // namespace
}  // namespace holdfast::api
