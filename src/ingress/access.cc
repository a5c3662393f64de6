#include "ingress/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/reason.h"

namespace holdfast::ingress {
namespace {

using identity::Identity;
using identity::Role;
using resource::Kind;

Status not_known(std::string_view what) {
  return coded(absl::StatusCode::kUnavailable, "HF2305",
               fmt::format("this proxy does not know its {} yet; try again, or another", what));
}

// The stored roles that this user has; a name that is not stored gives nothing.
Result<identity::Roles> roles_of(const Identity& caller, const Lookups& lookups) {
  identity::Roles roles;
  for (const std::string& name : caller.user_roles) {
    if (!identity::builtin_role(name).rules().empty()) continue;
    Result<v1::Role> role = lookups.role(name);
    if (absl::IsNotFound(role.status())) continue;
    if (!role.ok()) return not_known("roles");
    roles.emplace(name, *std::move(role));
  }
  return roles;
}

bool is_port(const v1::ServicePort& port, const std::string& wanted) {
  uint32_t number = 0;
  const char* end = wanted.data() + wanted.size();
  const auto [stop, error] = std::from_chars(wanted.data(), end, number);
  const bool is_number = error == std::errc() && stop == end;
  return port.name() == wanted || (is_number && port.port() == number);
}

}  // namespace

Result<Identity> current_caller(Identity caller, const Lookups& lookups) {
  if (caller.role != Role::User) return caller;
  const Result<v1::User> user = lookups.user(caller.name);
  const bool gone = absl::IsNotFound(user.status());
  if (!user.ok() && !gone) return not_known("users");
  if (gone || user->disabled()) {
    return coded(absl::StatusCode::kUnauthenticated, "HF5012", "this user was disabled or deleted");
  }
  std::erase_if(caller.user_roles, [&](const std::string& role) {
    return std::ranges::find(user->roles(), role) == user->roles().end();
  });
  return caller;
}

Result<identity::Grant> grant_of(const Identity& caller, v1::Verb verb, Kind kind,
                                 const Lookups& lookups) {
  TRY(identity::Roles roles, roles_of(caller, lookups));
  return identity::Permissions(std::move(roles)).on_resources(caller, verb, kind);
}

Result<v1::Service> check_connect(const Identity& caller, const std::string& service,
                                  const Lookups& lookups) {
  TRY(const identity::Grant grant, grant_of(caller, v1::VERB_CONNECT, Kind::Service, lookups));
  const Status denied =
      identity::refused(caller, fmt::format("connect to service {}", in_quotes(service)));
  if (!grant.allowed) return denied;
  const Result<v1::Resource> found = lookups.service(service);
  if (absl::IsNotFound(found.status())) {
    if (!grant.only_services.empty()) return denied;
    return coded(absl::StatusCode::kNotFound, "HF2201",
                 fmt::format("there is no service {}", in_quotes(service)));
  }
  if (!found.ok()) return not_known("services");
  if (!identity::covers(grant, *found)) return denied;
  return found->service();
}

Result<v1::ServicePort> find_port(const v1::Service& service, const std::string& port) {
  if (port.empty() && service.ports().empty()) return v1::ServicePort();
  for (const v1::ServicePort& each : service.ports()) {
    if (each.protocol() == v1::PROTOCOL_UDP) continue;
    if (port.empty() || is_port(each, port)) return each;
  }
  return coded(absl::StatusCode::kNotFound, "HF2304",
               port.empty() ? std::string("the service has no port that takes connections")
                            : fmt::format("the service has no port {}", in_quotes(port)));
}

}  // namespace holdfast::ingress
