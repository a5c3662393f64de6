#include "identity/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "resource/text_rules.h"

namespace holdfast::identity {
namespace {

using std::string_view;

constexpr string_view kScheme = "holdfast://";
constexpr std::array<std::pair<Role, string_view>, 7> kRoleNames = {{
    {Role::Controller, "controller"},
    {Role::Proxy, "proxy"},
    {Role::Agent, "agent"},
    {Role::Witness, "witness"},
    {Role::User, "user"},
    {Role::Local, "local"},
    {Role::Nobody, "nobody"},
}};

// The URI itself is never part of the message: it may come from anyone.
Status not_ours(string_view what) {
  return absl::InvalidArgumentError(fmt::format("not an identity of ours: {}", what));
}

bool is_name(string_view text) {
  return !resource::wrong_name(text);
}

// What stands before the first `end`, which goes too; all if there is none.
string_view take_until(string_view& rest, char end) {
  const size_t at = rest.find(end);
  const string_view taken = rest.substr(0, at);
  rest.remove_prefix(at == string_view::npos ? rest.size() : at + 1);
  return taken;
}

Status parse_query(string_view query, Identity& identity) {
  if (identity.role != Role::User) {
    if (!query.starts_with("zone=")) return not_ours("its query is not a zone");
    identity.zone = query.substr(5);
    return absl::OkStatus();
  }
  if (!query.starts_with("roles=")) return not_ours("its query is not a list of roles");
  string_view rest = query.substr(6);
  while (!rest.empty() && identity.user_roles.size() <= kMaxUserRoles) {
    identity.user_roles.emplace_back(take_until(rest, ','));
  }
  return absl::OkStatus();
}

}  // namespace

string_view to_string(Role role) {
  for (const auto& [known, name] : kRoleNames) {
    if (known == role) return name;
  }
  HF_CHECK(false, "every role has a name");
}

Role from_node_role(v1::NodeRole role) {
  switch (role) {
    case v1::NODE_ROLE_CONTROLLER:
      return Role::Controller;
    case v1::NODE_ROLE_PROXY:
      return Role::Proxy;
    case v1::NODE_ROLE_AGENT:
      return Role::Agent;
    case v1::NODE_ROLE_WITNESS:
      return Role::Witness;
    default:
      return Role::Nobody;
  }
}

std::string to_string(const Identity& identity) {
  const string_view role = to_string(identity.role);
  if (identity.role == Role::Local || identity.role == Role::Nobody) return std::string(role);
  return fmt::format("{}/{}", role, identity.name);
}

Status check_identity(const Identity& identity) {
  if (identity.role == Role::Local || identity.role == Role::Nobody) {
    return not_ours("no certificate has its role");
  }
  if (!is_name(identity.cluster)) return not_ours("its cluster is not a name");
  if (!is_name(identity.name)) return not_ours("its name is not one");
  if (!identity.zone.empty() && (identity.role == Role::User || !is_name(identity.zone))) {
    return not_ours("its zone is not a name, or it is a user's");
  }
  if (identity.user_roles.empty()) return absl::OkStatus();
  if (identity.role != Role::User) return not_ours("only users have roles");
  if (identity.user_roles.size() > kMaxUserRoles) return not_ours("it has too many roles");
  std::vector<string_view> sorted(identity.user_roles.begin(), identity.user_roles.end());
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) return not_ours("a role is named twice");
  if (!std::ranges::all_of(sorted, is_name)) return not_ours("a role of it is not a name");
  return absl::OkStatus();
}

std::string to_uri(const Identity& identity) {
  HF_CHECK(check_identity(identity).ok(), "only what a certificate may name has a URI");
  std::string uri =
      fmt::format("{}{}/{}/{}", kScheme, identity.cluster, to_string(identity.role), identity.name);
  if (!identity.zone.empty()) uri += fmt::format("?zone={}", identity.zone);
  if (!identity.user_roles.empty()) {
    uri += fmt::format("?roles={}", fmt::join(identity.user_roles, ","));
  }
  return uri;
}

Result<Identity> parse_uri(string_view uri) {
  if (uri.size() > kMaxUriBytes) return not_ours("it is too long");
  if (!uri.starts_with(kScheme)) return not_ours("it is of another scheme");
  string_view rest = uri.substr(kScheme.size());
  Identity identity;
  identity.cluster = take_until(rest, '/');
  const string_view role = take_until(rest, '/');
  const auto known = std::ranges::find(kRoleNames, role, &std::pair<Role, string_view>::second);
  if (known == kRoleNames.end()) return not_ours("its role is unknown");
  identity.role = known->first;
  identity.name = take_until(rest, '?');
  if (!rest.empty()) TRY_OK(parse_query(rest, identity));
  TRY_OK(check_identity(identity));
  // Whatever was read too kindly, such as "?" before nothing, shows here.
  if (to_uri(identity) != uri) return not_ours("it is written in another way");
  return identity;
}

}  // namespace holdfast::identity
