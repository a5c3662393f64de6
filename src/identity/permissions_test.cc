#include "identity/permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/reason.h"
#include "resource/registry.h"
#include "support/paths.h"
#include "support/permission_tables.h"

namespace holdfast::identity {
namespace {

using resource::Kind;

constexpr std::pair<char, v1::Verb> kLetters[] = {
    {'g', v1::VERB_GET},    {'l', v1::VERB_LIST},   {'w', v1::VERB_WATCH},  {'c', v1::VERB_CREATE},
    {'u', v1::VERB_UPDATE}, {'d', v1::VERB_DELETE}, {'x', v1::VERB_CONNECT}};

Identity user(std::vector<std::string> roles) {
  return {.role = Role::User, .cluster = "prod", .name = "alice", .user_roles = std::move(roles)};
}

// The columns of the document's tables.
const std::map<std::string, Identity>& columns() {
  static const std::map<std::string, Identity> all = {
      {"controller", {.role = Role::Controller, .cluster = "prod", .name = "c"}},
      {"proxy", {.role = Role::Proxy, .cluster = "prod", .name = "p"}},
      {"agent", {.role = Role::Agent, .cluster = "prod", .name = "a"}},
      {"witness", {.role = Role::Witness, .cluster = "prod", .name = "w"}},
      {"user", user({})},
      {"viewer", user({"viewer"})},
      {"operator", user({"operator"})},
      {"admin", user({"admin"})},
      {"local", {.role = Role::Local}},
      {"nobody", {.role = Role::Nobody}},
  };
  return all;
}

using Table = test::PermissionTable;
Table table_under(const std::string& heading) {
  return test::permission_table(test::in_tree("docs/permissions.md"), heading);
}

std::set<std::string> column_names(const std::map<std::string, std::string>& row) {
  std::set<std::string> names;
  for (const auto& [name, cell] : row) names.insert(name);
  return names;
}

std::set<std::string> all_columns() {
  std::set<std::string> names;
  for (const auto& [name, identity] : columns()) names.insert(name);
  return names;
}

TEST(PermissionsDocument, EveryCellOfResourcesIsWhatTheCodeDoes) {
  const Permissions permissions;
  const Table table = table_under("Resources");
  ASSERT_EQ(table.size(), resource::kKindCount);
  for (const Kind kind : resource::KindSet::all().kinds()) {
    const auto row = table.find(std::string(resource::info(kind).name));
    ASSERT_NE(row, table.end()) << resource::info(kind).name;
    EXPECT_EQ(column_names(row->second), all_columns());
    for (const auto& [column, cell] : row->second) {
      std::string granted;
      for (const auto& [letter, verb] : kLetters) {
        const Grant grant = permissions.on_resources(columns().at(column), verb, kind);
        if (grant.allowed) granted += letter;
        EXPECT_TRUE(grant.only_services.empty());
      }
      EXPECT_EQ(cell, granted.empty() ? "-" : granted) << row->first << ", " << column;
    }
  }
}

TEST(PermissionsDocument, EveryCellOfSecretsIsWhatTheCodeDoes) {
  const Permissions permissions;
  const Table table = table_under("Secrets");
  for (const Kind kind : resource::KindSet::all().kinds()) {
    const auto row = table.find(std::string(resource::info(kind).name));
    EXPECT_EQ(row != table.end(), !resource::info(kind).secret_paths.empty());
    for (const auto& [column, identity] : columns()) {
      const bool sees = permissions.sees_secrets(identity, kind);
      const std::string cell = row == table.end() ? "-" : row->second.at(column);
      EXPECT_EQ(cell, sees ? "yes" : "-") << resource::info(kind).name << ", " << column;
    }
  }
}

TEST(PermissionsDocument, EveryCellOfCallsIsWhatTheCodeDoes) {
  const Permissions permissions;
  const Table table = table_under("Calls");
  ASSERT_EQ(table.size(), static_cast<size_t>(kCallCount));
  for (int i = 0; i < kCallCount; ++i) {
    const Call call = static_cast<Call>(i);
    const auto row = table.find(std::string(to_string(call)));
    ASSERT_NE(row, table.end()) << to_string(call);
    EXPECT_EQ(column_names(row->second), all_columns());
    for (const auto& [column, cell] : row->second) {
      const bool may = permissions.may_call(columns().at(column), call);
      EXPECT_EQ(cell, may ? "yes" : "-") << row->first << ", " << column;
    }
  }
}

v1::Rule rule(std::vector<std::string> kinds, std::vector<v1::Verb> verbs, Labels labels = {}) {
  v1::Rule made;
  for (const std::string& kind : kinds) made.add_kinds(kind);
  for (const v1::Verb verb : verbs) made.add_verbs(verb);
  made.mutable_service_labels()->insert(labels.begin(), labels.end());
  return made;
}

v1::Role role_of(std::vector<v1::Rule> rules) {
  v1::Role role;
  for (const v1::Rule& each : rules) *role.add_rules() = each;
  return role;
}

TEST(Permissions, AStoredRoleGivesWhatItsRulesName) {
  const Permissions permissions({{"reader", role_of({rule({"agent", "proxy"}, {v1::VERB_GET})})}});
  const Identity reader = user({"reader"});

  EXPECT_TRUE(permissions.on_resources(reader, v1::VERB_GET, Kind::Agent).allowed);
  EXPECT_TRUE(permissions.on_resources(reader, v1::VERB_GET, Kind::Proxy).allowed);
  EXPECT_FALSE(permissions.on_resources(reader, v1::VERB_LIST, Kind::Agent).allowed);
  EXPECT_FALSE(permissions.on_resources(reader, v1::VERB_GET, Kind::Service).allowed);
}

TEST(Permissions, ARoleThatDoesNotExistGivesNothing) {
  const Permissions permissions;
  for (const Kind kind : resource::KindSet::all().kinds()) {
    EXPECT_FALSE(permissions.on_resources(user({"ghost"}), v1::VERB_GET, kind).allowed);
  }
}

TEST(Permissions, RolesOfNodesInACertificateGiveNothing) {
  Identity agent = columns().at("agent");
  agent.user_roles = {"admin"};

  EXPECT_FALSE(Permissions().on_resources(agent, v1::VERB_DELETE, Kind::Service).allowed);
  EXPECT_FALSE(Permissions().may_call(agent, Call::CreateToken));
}

TEST(Permissions, BuiltInRolesCannotBeRedefined) {
  const v1::Role all = role_of({rule({"token", "service"}, {v1::VERB_DELETE})});
  const Permissions permissions({{"viewer", all}, {"admin", v1::Role()}});

  EXPECT_FALSE(permissions.on_resources(user({"viewer"}), v1::VERB_DELETE, Kind::Service).allowed);
  EXPECT_TRUE(permissions.on_resources(user({"admin"}), v1::VERB_DELETE, Kind::Service).allowed);
}

TEST(Permissions, AStarLeavesOutWhatHoldsSecretsOrDecidesPermissions) {
  const Permissions permissions({{"all", role_of({rule({"*"}, {v1::VERB_UPDATE})})},
                                 {"named", role_of({rule({"user"}, {v1::VERB_UPDATE})})}});
  const resource::KindSet guarded = {Kind::Token, Kind::Role, Kind::User, Kind::CertAuthority};
  for (const Kind kind : resource::KindSet::all().kinds()) {
    EXPECT_EQ(permissions.on_resources(user({"all"}), v1::VERB_UPDATE, kind).allowed,
              !guarded.contains(kind))
        << resource::info(kind).name;
  }
  EXPECT_TRUE(permissions.on_resources(user({"named"}), v1::VERB_UPDATE, Kind::User).allowed);
}

TEST(Permissions, NoRoleWritesTheAuthorityOrMakesTokens) {
  const Permissions permissions(
      {{"forger", role_of({rule({"token", "cert_authority"},
                                {v1::VERB_CREATE, v1::VERB_UPDATE, v1::VERB_DELETE})})}});
  for (const v1::Verb verb : {v1::VERB_CREATE, v1::VERB_UPDATE}) {
    EXPECT_FALSE(permissions.on_resources(user({"forger"}), verb, Kind::Token).allowed);
    EXPECT_FALSE(permissions.on_resources(user({"forger"}), verb, Kind::CertAuthority).allowed);
  }
  EXPECT_TRUE(permissions.on_resources(user({"forger"}), v1::VERB_DELETE, Kind::Token).allowed);
}

TEST(Permissions, LabelsNarrowARuleToServices) {
  const Permissions permissions(
      {{"web", role_of({rule({"*", "user"}, {v1::VERB_GET}, {{"team", "web"}})})}});

  const Grant grant = permissions.on_resources(user({"web"}), v1::VERB_GET, Kind::Service);

  EXPECT_TRUE(grant.allowed);
  EXPECT_THAT(grant.only_services, testing::ElementsAre(Labels{{"team", "web"}}));
  for (const Kind kind : resource::KindSet::all().kinds()) {
    if (kind == Kind::Service) continue;
    EXPECT_FALSE(permissions.on_resources(user({"web"}), v1::VERB_GET, kind).allowed);
  }
}

TEST(Permissions, RolesAddUp) {
  const Permissions permissions(
      {{"web", role_of({rule({"service"}, {v1::VERB_GET}, {{"team", "web"}})})},
       {"db", role_of({rule({"service"}, {v1::VERB_GET}, {{"team", "db"}, {"tier", "1"}})})}});

  const auto both = permissions.on_resources(user({"web", "db"}), v1::VERB_GET, Kind::Service);
  const auto all = permissions.on_resources(user({"web", "viewer"}), v1::VERB_GET, Kind::Service);

  EXPECT_EQ(both.only_services.size(), 2u);
  EXPECT_TRUE(all.allowed);
  EXPECT_TRUE(all.only_services.empty());
}

TEST(Permissions, AGrantCoversServicesWithAllLabelsOfOneRule) {
  const Grant grant{.allowed = true,
                    .only_services = {{{"team", "web"}}, {{"team", "db"}, {"tier", "1"}}}};
  const auto labelled = [](const Labels& labels) {
    v1::Resource service = resource::make_resource(Kind::Service, "s");
    service.mutable_metadata()->mutable_labels()->insert(labels.begin(), labels.end());
    return service;
  };

  EXPECT_TRUE(covers(grant, labelled({{"team", "web"}, {"x", "y"}})));
  EXPECT_TRUE(covers(grant, labelled({{"team", "db"}, {"tier", "1"}})));
  EXPECT_FALSE(covers(grant, labelled({{"team", "db"}, {"tier", "2"}})));
  EXPECT_FALSE(covers(grant, labelled({{"team", "db"}})));
  EXPECT_FALSE(covers(grant, labelled({})));
  EXPECT_TRUE(covers({.allowed = true}, labelled({})));
  EXPECT_FALSE(covers({.allowed = false}, labelled({{"team", "web"}})));
}

TEST(Permissions, NobodyConnectsToAnythingButAService) {
  const Permissions permissions({{"all", role_of({rule({"*", "user"}, {v1::VERB_CONNECT})})}});
  for (const Kind kind : resource::KindSet::all().kinds()) {
    EXPECT_EQ(permissions.on_resources(user({"all"}), v1::VERB_CONNECT, kind).allowed,
              kind == Kind::Service);
  }
}

TEST(Permissions, AVerbThatIsNoneIsNeverAllowed) {
  const Permissions permissions({{"odd", role_of({rule({"*"}, {v1::VERB_UNSPECIFIED})})}});
  std::vector<Identity> all = {user({"odd"})};
  for (const auto& [name, identity] : columns()) all.push_back(identity);
  for (const Identity& identity : all) {
    for (const auto verb : {v1::VERB_UNSPECIFIED, static_cast<v1::Verb>(99)}) {
      EXPECT_FALSE(permissions.on_resources(identity, verb, Kind::Service).allowed);
    }
  }
}

TEST(Permissions, ARefusalNamesWhoAndWhat) {
  const Status agent = refused(columns().at("agent"), "delete service");
  const Status nobody = refused({}, "list service");

  EXPECT_EQ(agent.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(agent.message(), "HF5001: agent/a may not delete service");
  EXPECT_EQ(nobody.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(split_reason(nobody).code, "HF5002");
}

}  // namespace
}  // namespace holdfast::identity
