// Who a caller is, as its certificate says. Written into certificates as one URI:
//
//   holdfast://prod/agent/edge-07?zone=a
//   holdfast://prod/user/alice?roles=operator,viewer
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "holdfast/v1/resource.pb.h"

namespace holdfast::identity {

enum class Role {
  Controller,
  Proxy,
  Agent,
  Witness,
  User,
  Local,   // whoever may open the controller's unix socket; never in a certificate
  Nobody,  // no certificate; may join and log in, nothing else
};
std::string_view to_string(Role role);  // "controller"
// For NodeRole; Nobody for NODE_ROLE_UNSPECIFIED.
Role from_node_role(v1::NodeRole role);

struct Identity {
  Role role = Role::Nobody;
  std::string cluster{};
  std::string name{};
  std::string zone{};
  std::vector<std::string> user_roles{};  // names of roles; of users only
  bool operator==(const Identity&) const = default;
};

// For logs and the audit: "agent/edge-07", "user/alice", "local", "nobody".
std::string to_string(const Identity& identity);

// Names of roles that one user's certificate may carry, and bytes of a URI.
inline constexpr size_t kMaxUserRoles = 32;
inline constexpr size_t kMaxUriBytes = 16'384;

// kInvalidArgument unless a certificate may name it: a node or user, its names valid, a zone only
// of a node, roles only of a user and each once.
Status check_identity(const Identity& identity);
// Requires: check_identity() is OK.
std::string to_uri(const Identity& identity);
// kInvalidArgument for anything to_uri() does not make.
Result<Identity> parse_uri(std::string_view uri);

}  // namespace holdfast::identity
