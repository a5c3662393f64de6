#include "identity/identity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace holdfast::identity {
namespace {

const Identity kAgent{
    .role = Role::Agent, .cluster = "prod", .name = "edge-07", .zone = "a", .user_roles = {}};
const Identity kAlice{.role = Role::User,
                      .cluster = "prod",
                      .name = "alice",
                      .zone = {},
                      .user_roles = {"operator", "viewer"}};

TEST(Identity, IsWrittenAsOneUri) {
  EXPECT_EQ(to_uri(kAgent), "holdfast://prod/agent/edge-07?zone=a");
  EXPECT_EQ(to_uri(kAlice), "holdfast://prod/user/alice?roles=operator,viewer");
}

TEST(Identity, WithoutZoneOrRolesHasNoQuery) {
  Identity agent = kAgent;
  agent.zone.clear();

  EXPECT_EQ(to_uri(agent), "holdfast://prod/agent/edge-07");
  EXPECT_EQ(parse_uri("holdfast://prod/agent/edge-07").value(), agent);
}

TEST(Identity, ReadsBackAsItWasWritten) {
  for (const Role role : {Role::Controller, Role::Proxy, Role::Agent, Role::Witness}) {
    Identity node = kAgent;
    node.role = role;
    EXPECT_EQ(parse_uri(to_uri(node)).value(), node) << to_string(role);
  }
  EXPECT_EQ(parse_uri(to_uri(kAlice)).value(), kAlice);
}

TEST(Identity, IsShownByRoleAndName) {
  EXPECT_EQ(to_string(kAgent), "agent/edge-07");
  EXPECT_EQ(to_string(kAlice), "user/alice");
  EXPECT_EQ(to_string(Identity{.role = Role::Local}), "local");
  EXPECT_EQ(to_string(Identity{}), "nobody");
}

TEST(Identity, AnythingElseIsRefused) {
  const std::string_view wrong[] = {
      "",
      "holdfast:",
      "holdfast://",
      "holdfast://prod",
      "holdfast://prod/agent",
      "holdfast://prod/agent/",
      "holdfast:///agent/edge-07",
      "holdfast://prod//edge-07",
      "holdfast://prod/local/edge-07",
      "holdfast://prod/nobody/x",
      "holdfast://prod/admin/x",
      "holdfast://prod/Agent/edge-07",
      "HOLDFAST://prod/agent/edge-07",
      "https://prod/agent/edge-07",
      " holdfast://prod/agent/edge-07",
      "holdfast://prod/agent/edge-07 ",
      "holdfast://prod/agent/edge-07/",
      "holdfast://prod/agent/edge-07/x",
      "holdfast://prod/agent/edge%2d07",
      "holdfast://prod/agent/../x",
      "holdfast://prod/agent/-x",
      "holdfast://user@prod/agent/x",
      "holdfast://prod:1/agent/x",
      "holdfast://prod/agent/edge-07?",
      "holdfast://prod/agent/edge-07#x",
      "holdfast://prod/agent/edge-07?zone=",
      "holdfast://prod/agent/edge-07?zone=a&zone=b",
      "holdfast://prod/agent/edge-07?zone=a?zone=b",
      "holdfast://prod/agent/edge-07?roles=admin",
      "holdfast://prod/user/alice?zone=a",
      "holdfast://prod/user/alice?roles=",
      "holdfast://prod/user/alice?roles=a,",
      "holdfast://prod/user/alice?roles=,a",
      "holdfast://prod/user/alice?roles=a,,b",
      "holdfast://prod/user/alice?roles=a,a",
      std::string_view("holdfast://prod/agent/ed\0ge", 27),
      "holdfast://pr\xc3\xb6"
      "d/agent/x",
  };
  for (const std::string_view uri : wrong) {
    EXPECT_EQ(parse_uri(uri).status().code(), absl::StatusCode::kInvalidArgument) << uri;
  }
}

TEST(Identity, MoreRolesThanTheLimitAreRefused) {
  Identity many = kAlice;
  many.user_roles.clear();
  for (size_t i = 0; i < kMaxUserRoles; ++i) many.user_roles.push_back(fmt::format("r{}", i));
  const std::string most = to_uri(many);

  EXPECT_EQ(parse_uri(most).value(), many);
  EXPECT_FALSE(parse_uri(most + ",one-more").ok());
}

TEST(Identity, TheLongestOfAllFits) {
  Identity longest = kAlice;
  longest.cluster.assign(253, 'c');
  longest.name.assign(253, 'n');
  longest.user_roles.clear();
  for (size_t i = 0; i < kMaxUserRoles; ++i) {
    longest.user_roles.push_back(fmt::format("{:0>253}", i));
  }

  EXPECT_EQ(parse_uri(to_uri(longest)).value(), longest);
}

TEST(Identity, AnErrorSaysNothingOfTheText) {
  const Status status = parse_uri("holdfast://secret-cluster/agent/se cret").status();

  EXPECT_EQ(status.message().find("se cret"), absl::string_view::npos);
  EXPECT_EQ(status.message().find("secret-cluster"), absl::string_view::npos);
}

TEST(Identity, TokensNameTheRoleOfANode) {
  EXPECT_EQ(from_node_role(v1::NODE_ROLE_CONTROLLER), Role::Controller);
  EXPECT_EQ(from_node_role(v1::NODE_ROLE_PROXY), Role::Proxy);
  EXPECT_EQ(from_node_role(v1::NODE_ROLE_AGENT), Role::Agent);
  EXPECT_EQ(from_node_role(v1::NODE_ROLE_WITNESS), Role::Witness);
  EXPECT_EQ(from_node_role(v1::NODE_ROLE_UNSPECIFIED), Role::Nobody);
}

}  // namespace
}  // namespace holdfast::identity
